"""A write of one object that exists: one statement, which says what the store's own way says."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection, transaction

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds, queries
from apps.cluster.errors import Conflict, NotFound
from apps.cluster.log.changelog import ObjectChange
from apps.cluster.models import Change, Cluster, Event, Node, Taint
from apps.cluster.writes import Actor, Delete, Update, Write
from apps.cluster.writing import store
from tests.engine.driving import traffic

pytestmark = pytest.mark.django_db(transaction=True)
ACTOR = Actor("tests", "request-9", "kubectl")
Body = dict[str, Any]
POD, EVENT, NAMESPACE = kinds.POD, kinds.EVENT, kinds.NAMESPACE
#: What differs between two clusters in which the same has happened.
_OWN = ("uid", "creationTimestamp", "managedFields")
NOW = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)


def build_cluster(name: str) -> Cluster:
    cluster = create_cluster(name, user="tests", nodes=2, paused=True)
    spec = {"containers": [{"name": "c", "image": "i"}]}
    for pod in ("a", "b", "held"):
        held = {"finalizers": ["example.com/hold"]} if pod == "held" else {}
        body = {"metadata": {"name": pod, **held}, "spec": spec}
        store.create(cluster, POD, body, actor=ACTOR, namespace="default")
    event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}}
    store.create(cluster, EVENT, event, actor=ACTOR, namespace="default")
    return cluster


@pytest.fixture
def cluster() -> Cluster:
    return build_cluster("lab")


def set_label(value: str) -> Callable[[Body], Body]:
    def change(body: Body) -> Body:
        labels = {**(body["metadata"].get("labels") or {}), "set": value}
        return {**body, "metadata": {**body["metadata"], "labels": labels}}

    return change


def set_status(body: Body) -> Body:
    return {**body, "status": {**(body.get("status") or {}), "message": 'a "quoted" text\n'}}


def set_finalizers(body: Body) -> Body:
    return {**body, "metadata": {**body["metadata"], "finalizers": []}}


def add_taint(body: Body) -> Body:
    taints = [{"key": "k", "effect": "NoSchedule"}]
    return {**body, "spec": {**(body.get("spec") or {}), "taints": taints}}


def writes(cluster: Cluster) -> list[list[Write]]:
    """Writes of every sort, one after the other."""
    first, second = Node.objects.filter(cluster=cluster).order_by("name").values_list("name")
    at_once = {"gracePeriodSeconds": 0}
    return [
        [Update(POD, "default", "a", set_label("x"))],
        [Update(POD, "default", "a", set_status, "status")],
        [Update(POD, "default", "a", set_label("y")), Update(POD, "default", "a", set_label("z"))],
        [Update(POD, "default", "b", set_status, "status"), Delete(POD, "default", "b", at_once)],
        [Delete(POD, "default", "held")],
        [Update(POD, "default", "held", set_finalizers)],
        [Update(EVENT, "default", "e", set_label("x"))],
        [Update(NAMESPACE, "", "default", set_label("x"))],
        [Update(kinds.NODE, "", first[0], set_label("x"))],
        [Update(kinds.NODE, "", first[0], add_taint)],
        [Delete(kinds.NODE, "", first[0])],
        [Delete(kinds.NODE, "", second[0])],
        [Delete(EVENT, "default", "e")],
    ]


def of_body(body: Body) -> Body:
    metadata = {key: value for key, value in body["metadata"].items() if key not in _OWN}
    # machine ids of nodes are random
    status = None if body["kind"] == "Node" else body.get("status")
    return {**body, "metadata": metadata, "status": status}


def result_of(cluster: Cluster) -> tuple[list[Any], ...]:
    """The rows and the log of a cluster, without what is its own."""
    log = [
        (c.version, c.type, c.kind, c.name, c.previous_version, c.user, c.request_id)
        for c in Change.objects.filter(cluster=cluster).order_by("version")
    ]
    bodies = [
        of_body(c.object)
        for c in Change.objects.filter(cluster=cluster, kind__in=("Pod", "Event", "Node"))
        .order_by("version")
        .reverse()[:20]
    ]
    rows = [
        (row.name, row.resource_version, row.labels, of_body(row.body))
        for kind in (POD, EVENT, NAMESPACE, kinds.NODE)
        for row in kind.objects(cluster).order_by("name")
    ]
    cluster.refresh_from_db()
    counters = [cluster.resource_version, cluster.admission_version, cluster.due_at is not None]
    return log, bodies, rows, counters


def test_rows_and_log_are_those_of_a_write_that_locks(cluster: Cluster) -> None:
    other = build_cluster("other")
    journals: list[list[ObjectChange]] = [[], []]
    for each in (cluster, other):
        each.manual_time = NOW
        each.save(update_fields=["manual_time"])
    for wanted in writes(cluster):
        store.write(cluster, wanted, actor=ACTOR, journal=journals[0])
        # inside a transaction, the store locks the row first
        with transaction.atomic():
            store.write(other, wanted, actor=ACTOR, journal=journals[1])
    one, locked = ([(c.version, c.type, c.at, of_body(c.body)) for c in j] for j in journals)
    assert one == locked
    assert result_of(cluster) == result_of(other)
    assert not Taint.objects.filter(node__cluster=cluster).exists()
    of_nodes = Change.objects.filter(cluster=cluster, kind="Node")
    assert set(of_nodes.values_list("namespace", flat=True)) == {""}


def test_a_write_is_one_round_trip_after_its_read(cluster: Cluster) -> None:
    store.patch(cluster, POD, "default", "a", set_label("w"), actor=ACTOR)
    with traffic() as found:
        store.patch(cluster, POD, "default", "a", set_label("x"), actor=ACTOR)
    # and the announcement, which the web front sends later
    assert found.round_trips - len(found.about("pg_notify")) == 2
    with traffic() as found:
        store.patch(cluster, POD, "default", "a", set_label("x"), actor=ACTOR)
    assert found.round_trips == 1


def test_a_write_in_between_is_not_lost(cluster: Cluster) -> None:
    seen: list[str] = []

    def change(body: Body) -> Body:
        seen.append(body["metadata"]["resourceVersion"])
        if len(seen) == 1:
            store.patch(cluster, POD, "default", "a", set_status, actor=ACTOR, subresource="status")
        return set_label("x")(body)

    before = Cluster.objects.get(pk=cluster.pk).resource_version
    stored = store.patch(cluster, POD, "default", "a", change, actor=ACTOR)
    assert len(seen) == 2 and seen[0] != seen[1]
    assert stored["metadata"]["labels"] == {"set": "x"}
    assert stored["status"]["message"]
    assert queries.get(cluster, POD, "default", "a") == stored
    log = Change.objects.filter(cluster=cluster, version__gt=before).order_by("version")
    assert list(log.values_list("version", "previous_version")) == [
        (before + 1, int(seen[0])),
        (before + 2, before + 1),
    ]


def test_writers_that_wait_for_each_other_lose_nothing(cluster: Cluster) -> None:
    """Each counts in an object of its own and in one that all of them write."""

    def count(key: str) -> Callable[[Body], Body]:
        def change(body: Body) -> Body:
            labels = dict(body["metadata"].get("labels") or {})
            labels[key] = str(int(labels.get(key, "0")) + 1)
            return {**body, "metadata": {**body["metadata"], "labels": labels}}

        return change

    def work(own: str) -> None:
        try:
            for _ in range(15):
                store.patch(cluster, POD, "default", own, count("own"), actor=ACTOR)
                store.patch(cluster, POD, "default", "held", count("shared"), actor=ACTOR)
        finally:
            connection.close()

    before = Cluster.objects.get(pk=cluster.pk).resource_version
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(work, ["a", "b"]))
    labels = {
        name: queries.get(cluster, POD, "default", name)["metadata"]["labels"]
        for name in ("a", "b", "held")
    }
    assert labels == {"a": {"own": "15"}, "b": {"own": "15"}, "held": {"shared": "30"}}
    log = Change.objects.filter(cluster=cluster, version__gt=before).order_by("version")
    assert [change.version for change in log] == list(range(before + 1, before + 61))
    for name in ("a", "b", "held"):
        last, *earlier = log.filter(name=name).order_by("-version")
        for change in earlier:
            assert last.previous_version == change.version
            last = change


def test_an_object_that_was_deleted_in_between_is_not_found(cluster: Cluster) -> None:
    def change(body: Body) -> Body:
        if POD.objects(cluster).filter(name="a").exists():
            store.delete(
                cluster, POD, "default", "a", actor=ACTOR, options={"gracePeriodSeconds": 0}
            )
        return set_label("x")(body)

    with pytest.raises(NotFound):
        store.patch(cluster, POD, "default", "a", change, actor=ACTOR)
    assert Change.objects.filter(cluster=cluster, name="a").last().type == "DELETED"  # type: ignore[union-attr]


def test_an_older_version_conflicts(cluster: Cluster) -> None:
    old = queries.get(cluster, POD, "default", "a")
    store.patch(cluster, POD, "default", "a", set_label("x"), actor=ACTOR)
    before = Cluster.objects.get(pk=cluster.pk).resource_version
    with pytest.raises(Conflict):
        store.update(cluster, POD, "default", "a", old, actor=ACTOR)
    assert Cluster.objects.get(pk=cluster.pk).resource_version == before


def test_an_event_lives_on_after_an_update(cluster: Cluster) -> None:
    written = Event.objects.get(cluster=cluster, name="e").written_at
    store.patch(cluster, EVENT, "default", "e", set_label("x"), actor=ACTOR)
    assert Event.objects.get(cluster=cluster, name="e").written_at > written


def test_a_cluster_with_quotas_counts_what_is_deleted(cluster: Cluster) -> None:
    quota = {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "5"}}}
    kind = kinds.by_name("ResourceQuota")
    stale = Cluster.objects.get(pk=cluster.pk)
    store.create(cluster, kind, quota, actor=ACTOR, namespace="default")
    # a process that has read the cluster before
    options = {"gracePeriodSeconds": 0}
    store.delete(stale, POD, "default", "a", actor=ACTOR, options=options)
    store.delete(stale, POD, "default", "b", actor=ACTOR, options=options)
    used = queries.get(cluster, kind, "default", "q")["status"]["used"]
    assert used == {"pods": "1"}


def test_a_write_makes_its_cluster_due_and_can_leave_it_at_rest(cluster: Cluster) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE cluster_cluster SET due_at = NULL, paused = false")
    update = Update(POD, "default", "a", set_label("x"))
    store.write(cluster, [update], actor=ACTOR, wake=False)
    assert Cluster.objects.get(pk=cluster.pk).due_at is None
    store.patch(cluster, POD, "default", "a", set_label("y"), actor=ACTOR)
    assert Cluster.objects.get(pk=cluster.pk).due_at is not None
