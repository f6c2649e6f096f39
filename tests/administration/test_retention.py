"""Retention deletes what is too old or too much, and nothing else."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from apps.administration import retention
from apps.administration.clusters.lifecycle import create_cluster, delete_cluster
from apps.administration.clusters.settings import change_settings
from apps.cluster import kinds
from apps.cluster.errors import Expired, Invalid
from apps.cluster.log.changelog import changes_after
from apps.cluster.log.forgetting import forget_changes
from apps.cluster.log.history import stream_texts_at
from apps.cluster.models import Change, Cluster
from apps.cluster.partitions import daily
from apps.cluster.writing import store
from apps.engine.ledger.reading import read
from apps.engine.loop.engines import Engines
from apps.engine.models import (
    ConfigurationRevision,
    NodeTable,
    PastCluster,
    SchedulingDecision,
    VersionMark,
)
from tests.engine.driving import ACTOR, create_pods, node_of, pod

pytestmark = pytest.mark.django_db(transaction=True)

LEDGER = retention.LEDGER


@pytest.fixture
def cluster() -> Cluster:
    cluster = create_cluster("lab", user="tests", nodes=2)
    decide(cluster, "a", "b", "c")
    return cluster


def decide(cluster: Cluster, *names: str) -> None:
    create_pods(cluster, *map(pod, names))
    Engines().run(cluster.pk)


def decided_pods(cluster: Cluster) -> list[str]:
    rows = SchedulingDecision.objects.filter(cluster=cluster).order_by("id")
    return list(rows.values_list("name", flat=True))


def copy_into_the_past(days: int, like: SchedulingDecision) -> int:
    """Copy a decision into the partition of an earlier day; returns the id of the copy."""
    day = daily.today() - timedelta(days=days)
    names = [f.column for f in SchedulingDecision._meta.concrete_fields if f.column != "id"]
    columns = ", ".join(f'"{name}"' for name in names)
    with transaction.atomic(), connection.cursor() as cursor:
        if day not in daily.list_days(LEDGER):
            daily.add_day(cursor, LEDGER, day)
        row_id = daily.first_id(day) + 1
        cursor.execute(
            f"INSERT INTO {LEDGER} (id, {columns}) SELECT %s, {columns} FROM {LEDGER} "
            "WHERE id = %s",
            [row_id, like.pk],
        )
    return row_id


def age_changes(cluster: Cluster, days: int) -> None:
    """Make all changes so far this many days old."""
    cluster.refresh_from_db()
    day = daily.today() - timedelta(days=days)
    VersionMark.objects.create(cluster=cluster, day=day, version=cluster.resource_version)


def forgotten_version(cluster: Cluster) -> int:
    return Cluster.objects.values_list("forgotten_version", flat=True).get(pk=cluster.pk)


def test_the_newest_decisions_are_retained_up_to_the_limit(cluster: Cluster) -> None:
    change_settings(cluster, {"ledger_max_decisions": 2})
    other = create_cluster("other", user="tests", nodes=1)
    decide(other, "x", "y", "z")
    retention.run()
    assert decided_pods(cluster) == ["b", "c"]
    assert decided_pods(other) == ["x", "y", "z"]


def test_decisions_older_than_the_maximum_age_are_deleted(cluster: Cluster) -> None:
    first = SchedulingDecision.objects.get(name="a")
    old, young = copy_into_the_past(8, first), copy_into_the_past(6, first)
    change_settings(cluster, {"ledger_max_days": 7})
    retention.run()
    ids = set(SchedulingDecision.objects.values_list("id", flat=True))
    assert young in ids and old not in ids
    assert len(ids) == 4
    assert daily.today() - timedelta(days=8) not in daily.list_days(LEDGER)
    change_settings(cluster, {"ledger_max_days": 1})
    retention.run()
    assert decided_pods(cluster) == ["a", "b", "c"]


def test_the_clock_of_a_cluster_does_not_age_its_decisions(cluster: Cluster) -> None:
    change_settings(cluster, {"ledger_max_days": 1})
    far = SchedulingDecision.objects.get(name="a").at + timedelta(days=4000)
    Cluster.objects.filter(pk=cluster.pk).update(manual_time=far)
    retention.run()
    assert decided_pods(cluster) == ["a", "b", "c"]


def test_a_day_that_is_expired_for_some_clusters_is_deleted_for_them_alone(
    cluster: Cluster,
) -> None:
    other = create_cluster("other", user="tests", nodes=1)
    decide(other, "x")
    old = copy_into_the_past(8, SchedulingDecision.objects.get(name="x"))
    change_settings(cluster, {"ledger_max_days": 7})
    change_settings(other, {"ledger_max_days": 0})
    retention.run()
    assert SchedulingDecision.objects.filter(pk=old).exists()
    change_settings(other, {"ledger_max_days": 7})
    retention.run()
    assert not SchedulingDecision.objects.filter(pk=old).exists()


def test_node_tables_remain_while_a_decision_refers_to_them(cluster: Cluster) -> None:
    engines = Engines()
    engines.run(cluster.pk)
    store.create(cluster, kinds.NODE, {"metadata": {"name": "more"}}, actor=ACTOR)
    create_pods(cluster, pod("d"))
    engines.run(cluster.pk)
    assert NodeTable.objects.count() == 2
    change_settings(cluster, {"ledger_max_decisions": 1})
    retention.run()
    assert decided_pods(cluster) == ["d"]
    assert "more" in read(SchedulingDecision.objects.get()).decision.nodes
    assert NodeTable.objects.count() == 1


def test_a_warm_engine_creates_a_deleted_node_table_again(cluster: Cluster) -> None:
    engines = Engines()
    create_pods(cluster, pod("d"))
    engines.run(cluster.pk)
    with daily.as_retention() as cursor:
        cursor.execute(f"DELETE FROM {LEDGER}")
    retention.run()
    assert not NodeTable.objects.exists()
    create_pods(cluster, pod("e"))
    engines.run(cluster.pk)
    assert read(SchedulingDecision.objects.get()).decision.node == node_of(cluster, "e")


def test_old_changes_are_deleted_and_every_later_state_is_still_known(cluster: Cluster) -> None:
    change_settings(cluster, {"changelog_covers_ledger": False, "changelog_max_days": 7})
    store.delete(cluster, kinds.POD, "default", "a", actor=ACTOR, options={"gracePeriodSeconds": 0})
    age_changes(cluster, 8)
    horizon = cluster.resource_version
    before = pods_at(cluster, horizon)
    decide(cluster, "d")
    cluster.refresh_from_db()
    later = cluster.resource_version
    assert pods_at(cluster, horizon) == before
    retention.run()
    assert forgotten_version(cluster) == horizon
    cluster.refresh_from_db()
    assert pods_at(cluster, horizon) == before
    assert len(pods_at(cluster, later)) == len(before) + 1
    with pytest.raises(Expired):
        pods_at(cluster, horizon - 1)
    old = Change.objects.filter(cluster=cluster, version__lte=horizon)
    assert old.count() == old.values("uid").distinct().count()
    assert not old.filter(type="DELETED").exists()
    assert len(changes_after(cluster.pk, horizon)) == later - horizon


def pods_at(cluster: Cluster, version: int) -> list[dict[str, Any]]:
    return [json.loads(text) for _, _, text in stream_texts_at(cluster, kinds.POD, version)]


def test_changes_that_a_retained_decision_needs_are_not_deleted(cluster: Cluster) -> None:
    age_changes(cluster, 400)
    change_settings(cluster, {"changelog_max_days": 7})
    first = SchedulingDecision.objects.order_by("id").first()
    assert first is not None
    retention.run()
    assert forgotten_version(cluster) <= read(first).seen.loaded_at <= first.cluster_version
    change_settings(cluster, {"changelog_covers_ledger": False})
    retention.run()
    assert forgotten_version(cluster) == cluster.resource_version


def test_changes_are_deleted_step_by_step(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.cluster.log.forgetting.STEP", 5)
    cluster.refresh_from_db()
    horizon = cluster.resource_version - 3
    steps = 0
    while forget_changes(cluster.pk, horizon):
        steps += 1
    assert (steps, forgotten_version(cluster)) == (-(-horizon // 5), horizon)
    assert not forget_changes(0, horizon)


def test_an_engine_that_would_miss_deleted_changes_is_rebuilt(cluster: Cluster) -> None:
    engines = Engines()
    engines.run(cluster.pk)
    create_pods(cluster, pod("d"))
    cluster.refresh_from_db()
    while forget_changes(cluster.pk, cluster.resource_version):
        pass
    decide(cluster)
    engines.run(cluster.pk)
    assert node_of(cluster, "d")


def test_the_history_of_a_deleted_cluster_remains_until_it_expires(cluster: Cluster) -> None:
    delete_cluster(cluster, user="alice")
    past = PastCluster.objects.get()
    assert (past.id, past.name, past.user) == (cluster.pk, "lab", "alice")
    row = SchedulingDecision.objects.get(cluster_id=cluster.pk, name="a")
    assert len(read(row).decision.nodes) == 2
    assert ConfigurationRevision.objects.filter(cluster_id=cluster.pk).exists()
    retention.run()
    assert len(decided_pods(cluster)) == 3
    with daily.as_retention() as cursor:
        cursor.execute(f"DELETE FROM {LEDGER}")
    retention.run()
    assert PastCluster.objects.exists(), "it was deleted as recently as its last decision"
    PastCluster.objects.update(deleted_at=past.deleted_at - timedelta(days=91))
    retention.run()
    assert not PastCluster.objects.exists()
    assert not Change.objects.exists() and not ConfigurationRevision.objects.exists()


def test_a_cluster_can_be_deleted_with_its_history(cluster: Cluster) -> None:
    other = create_cluster("other", user="tests", nodes=1)
    decide(other, "x")
    delete_cluster(cluster, with_history=True)
    assert not PastCluster.objects.exists()
    assert set(SchedulingDecision.objects.values_list("name", flat=True)) == {"x"}
    assert not Change.objects.filter(cluster_id=cluster.pk).exists()


def test_a_negative_limit_is_rejected(cluster: Cluster) -> None:
    with pytest.raises(Invalid, match="ledger_max_days"):
        change_settings(cluster, {"ledger_max_days": -1})
