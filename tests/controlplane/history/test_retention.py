"""What is too old or too much is forgotten, and nothing else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from apps.cluster import kinds
from apps.cluster.errors import Expired, Invalid
from apps.cluster.log.changelog import changes_after
from apps.cluster.log.forgetting import forget_changes
from apps.cluster.log.history import list_at
from apps.cluster.models import Change, Cluster
from apps.cluster.selectors import Matcher
from apps.cluster.writing import store
from apps.controlplane.clusters.lifecycle import create_cluster, delete_cluster
from apps.controlplane.clusters.settings import change_settings
from apps.controlplane.history import retention
from apps.controlplane.ledger.reading import read
from apps.controlplane.loop.engines import Engines
from apps.controlplane.models import (
    ConfigurationRevision,
    NodeTable,
    PastCluster,
    SchedulingDecision,
    VersionMark,
)
from apps.controlplane.partitions import daily
from tests.controlplane.driving import ACTOR, create_pods, node_of, pod

pytestmark = pytest.mark.django_db(transaction=True)

LEDGER = retention.LEDGER


@pytest.fixture
def cluster() -> Cluster:
    made = create_cluster("lab", user="tests", nodes=2)
    decide(made, "a", "b", "c")
    return made


def decide(cluster: Cluster, *names: str) -> None:
    create_pods(cluster, *map(pod, names))
    Engines().run(cluster.pk)


def kept(cluster: Cluster) -> list[str]:
    rows = SchedulingDecision.objects.filter(cluster=cluster).order_by("id")
    return list(rows.values_list("name", flat=True))


def recorded_days_ago(days: int, like: SchedulingDecision) -> int:
    """A copy of a decision, as if it had been recorded some days ago; in a day of its own."""
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


def seen_days_ago(cluster: Cluster, days: int) -> None:
    """Make all changes so far as old as this."""
    cluster.refresh_from_db()
    day = daily.today() - timedelta(days=days)
    VersionMark.objects.create(cluster=cluster, day=day, version=cluster.resource_version)


def forgotten(cluster: Cluster) -> int:
    return Cluster.objects.values_list("forgotten_version", flat=True).get(pk=cluster.pk)


def test_only_so_many_decisions_are_kept_the_newest(cluster: Cluster) -> None:
    change_settings(cluster, {"ledger_max_decisions": 2})
    other = create_cluster("other", user="tests", nodes=1)
    decide(other, "x", "y", "z")
    retention.run()
    assert kept(cluster) == ["b", "c"]
    assert kept(other) == ["x", "y", "z"]


def test_decisions_go_when_they_were_recorded_too_long_ago(cluster: Cluster) -> None:
    first = SchedulingDecision.objects.get(name="a")
    old, young = recorded_days_ago(8, first), recorded_days_ago(6, first)
    change_settings(cluster, {"ledger_max_days": 7})
    retention.run()
    ids = set(SchedulingDecision.objects.values_list("id", flat=True))
    assert young in ids and old not in ids
    assert len(ids) == 4
    assert daily.today() - timedelta(days=8) not in daily.list_days(LEDGER)
    change_settings(cluster, {"ledger_max_days": 1})
    retention.run()
    assert kept(cluster) == ["a", "b", "c"]


def test_the_clock_of_a_cluster_does_not_age_its_decisions(cluster: Cluster) -> None:
    change_settings(cluster, {"ledger_max_days": 1})
    far = SchedulingDecision.objects.get(name="a").at + timedelta(days=4000)
    Cluster.objects.filter(pk=cluster.pk).update(manual_time=far)
    retention.run()
    assert kept(cluster) == ["a", "b", "c"]


def test_a_day_that_is_old_enough_for_some_goes_for_them_alone(cluster: Cluster) -> None:
    other = create_cluster("other", user="tests", nodes=1)
    decide(other, "x")
    old = recorded_days_ago(8, SchedulingDecision.objects.get(name="x"))
    change_settings(cluster, {"ledger_max_days": 7})
    change_settings(other, {"ledger_max_days": 0})
    retention.run()
    assert SchedulingDecision.objects.filter(pk=old).exists()
    change_settings(other, {"ledger_max_days": 7})
    retention.run()
    assert not SchedulingDecision.objects.filter(pk=old).exists()


def test_node_tables_stay_while_a_decision_names_nodes_by_them(cluster: Cluster) -> None:
    engines = Engines()
    engines.run(cluster.pk)
    store.create(cluster, kinds.NODE, {"metadata": {"name": "more"}}, actor=ACTOR)
    create_pods(cluster, pod("d"))
    engines.run(cluster.pk)
    assert NodeTable.objects.count() == 2
    change_settings(cluster, {"ledger_max_decisions": 1})
    retention.run()
    assert kept(cluster) == ["d"]
    assert "more" in read(SchedulingDecision.objects.get()).decision.nodes
    assert NodeTable.objects.count() == 1


def test_a_warm_engine_makes_a_forgotten_node_table_again(cluster: Cluster) -> None:
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


def test_old_changes_are_forgotten_and_every_later_state_is_still_known(cluster: Cluster) -> None:
    change_settings(cluster, {"changelog_covers_ledger": False, "changelog_max_days": 7})
    store.delete(cluster, kinds.POD, "default", "a", actor=ACTOR, options={"gracePeriodSeconds": 0})
    seen_days_ago(cluster, 8)
    horizon = cluster.resource_version
    before = pods_at(cluster, horizon)
    decide(cluster, "d")
    cluster.refresh_from_db()
    later = cluster.resource_version
    assert pods_at(cluster, horizon) == before
    retention.run()
    assert forgotten(cluster) == horizon
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
    return list_at(cluster, kinds.POD, version, Matcher(kinds.POD))


def test_what_a_kept_decision_saw_is_not_forgotten(cluster: Cluster) -> None:
    seen_days_ago(cluster, 400)
    change_settings(cluster, {"changelog_max_days": 7})
    first = SchedulingDecision.objects.order_by("id").first()
    assert first is not None
    retention.run()
    assert forgotten(cluster) <= read(first).seen.loaded_at <= first.cluster_version
    change_settings(cluster, {"changelog_covers_ledger": False})
    retention.run()
    assert forgotten(cluster) == cluster.resource_version


def test_changes_are_forgotten_step_by_step(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.cluster.log.forgetting.STEP", 5)
    cluster.refresh_from_db()
    horizon = cluster.resource_version - 3
    steps = 0
    while forget_changes(cluster.pk, horizon):
        steps += 1
    assert (steps, forgotten(cluster)) == (-(-horizon // 5), horizon)
    assert not forget_changes(0, horizon)


def test_an_engine_that_would_miss_forgotten_changes_begins_anew(cluster: Cluster) -> None:
    engines = Engines()
    engines.run(cluster.pk)
    create_pods(cluster, pod("d"))
    cluster.refresh_from_db()
    while forget_changes(cluster.pk, cluster.resource_version):
        pass
    decide(cluster)
    engines.run(cluster.pk)
    assert node_of(cluster, "d")


def test_a_deleted_cluster_leaves_its_history_until_that_is_old(cluster: Cluster) -> None:
    delete_cluster(cluster, user="alice")
    past = PastCluster.objects.get()
    assert (past.id, past.name, past.user) == (cluster.pk, "lab", "alice")
    row = SchedulingDecision.objects.get(cluster_id=cluster.pk, name="a")
    assert len(read(row).decision.nodes) == 2
    assert ConfigurationRevision.objects.filter(cluster_id=cluster.pk).exists()
    retention.run()
    assert len(kept(cluster)) == 3
    with daily.as_retention() as cursor:
        cursor.execute(f"DELETE FROM {LEDGER}")
    retention.run()
    assert PastCluster.objects.exists(), "it is as young as its last decision was"
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


def test_a_limit_below_nothing_is_refused(cluster: Cluster) -> None:
    with pytest.raises(Invalid, match="ledger_max_days"):
        change_settings(cluster, {"ledger_max_days": -1})
