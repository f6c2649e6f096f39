"""The state that any past decision saw can be rebuilt, and the recomputed decision is equal."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from apps.cluster.models import Cluster
from apps.engine.ledger.reading import read
from apps.engine.models import SchedulingDecision
from apps.engine.profiles import revisions
from apps.studies import rebuilding
from apps.studies.rebuilding.previewing import Effect, preview
from tests.conftest import empty_tables
from tests.studies.rebuilding.busy_run import busy_run

STATES = 500
ALONE = 25


@pytest.fixture(scope="module")
def busy(django_db_setup: None, django_db_blocker: Any) -> Iterator[Cluster]:
    """A busy run, created once for the tests of this module, which only read it."""
    with pytest.MonkeyPatch.context() as patch, django_db_blocker.unblock():
        from django.conf import settings

        patch.setattr(
            settings,
            "SCHEDWEB_PLUGINS",
            ("tests.engine.profiles.outside_plugins:Gatekeeper",),
        )
        cluster = busy_run(seed=5)
        cluster.refresh_from_db()
        yield cluster
        empty_tables()


def sample(cluster: Cluster, count: int) -> list[SchedulingDecision]:
    """A random sample of `count` decisions, in the order in which they were made."""
    rows = list(SchedulingDecision.objects.filter(cluster=cluster))
    drawn = random.Random(7).sample(rows, count)
    return sorted(drawn, key=lambda row: (row.cluster_version, row.sequence))


def test_the_run_is_as_busy_as_it_should_be(busy: Cluster, db: None) -> None:
    rows = list(SchedulingDecision.objects.filter(cluster=busy))
    assert len(rows) > STATES
    results = Counter(row.result for row in rows)
    assert results["scheduled"] > 300 and results["unschedulable"] > 100
    assert {row.scheduler_name for row in rows} == {"default-scheduler", "packing", "careful"}
    assert len({row.profile_revision for row in rows}) >= 3
    assert len({read(row).seen.loaded_at for row in rows}) >= 4
    assert sum(bool(row.nominated_node) for row in rows) >= 3
    assert sum(row.sequence > 0 for row in rows) > 300
    assert any(read(row).seen.expected for row in rows)
    plugins = {plugin for row in rows for plugin in row.unschedulable_plugins}
    assert plugins >= {
        "NodeResourcesFit",
        "TaintToleration",
        "NodeAffinity",
        "InterPodAffinity",
        "PodTopologySpread",
        "NodePorts",
        "VolumeBinding",
    }


def test_500_past_states_are_rebuilt_and_their_recomputed_decisions_are_equal(
    busy: Cluster, db: None
) -> None:
    state: rebuilding.PastState | None = None
    for row in sample(busy, STATES):
        if state is None or not state.can_advance_to(row):
            state = rebuilding.rebuild_state_before(row)
        again = rebuilding.recompute(row, state)
        assert rebuilding.compare(read(row).decision, again) == [], f"{row} ({row.pk})"


def test_a_state_is_the_same_when_it_is_rebuilt_for_one_decision_alone(
    busy: Cluster, db: None
) -> None:
    rows = sample(busy, STATES)
    random.Random(8).shuffle(rows)
    for row in rows[:ALONE]:
        again = rebuilding.recompute(row)
        assert rebuilding.compare(read(row).decision, again) == [], f"{row} ({row.pk})"


def test_a_preview_under_the_recorded_configuration_changes_nothing(
    busy: Cluster, db: None
) -> None:
    rows = sample(busy, 60)
    for revision in {row.profile_revision for row in rows}:
        own = [row for row in rows if row.profile_revision == revision]
        same = revisions.load_configuration(revisions.get_revision(busy, revision))
        for row, found in zip(own, preview(own, same), strict=True):
            assert found.effect is Effect.SAME, f"{row} ({row.pk}): {found}"
            assert found.total_after == found.total_before
            assert found.rejected_before or found.total_before == row.total_score


def test_a_preview_is_not_affected_by_its_own_decisions(busy: Cluster, db: None) -> None:
    """Decisions that differ leave no trace in the state of the next one."""
    packing = revisions.check(
        revisions.BUILT_IN + "  plugins: {multiPoint: {disabled: [{name: TaintToleration}]}}\n"
        "  pluginConfig:\n"
        "  - {name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}\n"
    )
    rows = sample(busy, 60)
    together = list(preview(rows, packing))
    assert {each.effect for each in together} >= {Effect.SAME, Effect.NO_PROFILE}
    assert any(each.effect.differs for each in together if each.node_after)
    some = slice(10, 40, 5)
    alone = [next(iter(preview([row], packing))) for row in rows[some]]
    assert alone == together[some]
