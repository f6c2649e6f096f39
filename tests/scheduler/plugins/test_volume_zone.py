"""VolumeZone: volumes of a zone are used in that zone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from apps.scheduler.plugins.volume_zone import zones_of
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from apps.scheduler.testing.storage import (
    make_claim,
    make_volume,
)
from tests.scheduler import volume_reference as reference
from tests.scheduler.cycle import add, attempt, explained
from tests.scheduler.plugins.volume_trials import changing_cluster, pods_come_and_go, seeds

ZONE, OLD_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("volume", "node", "fits"),
    [
        ({ZONE: "a"}, {ZONE: "a"}, True),
        ({ZONE: "a"}, {ZONE: "b"}, False),
        ({ZONE: "a"}, {}, True),
        ({ZONE: "a"}, {OLD_ZONE: "a"}, False),
        ({OLD_ZONE: "a"}, {ZONE: "a"}, True),
        ({OLD_ZONE: "a"}, {OLD_ZONE: "b", ZONE: "a"}, False),
        ({ZONE: "a__ b"}, {ZONE: "b"}, True),
        ({ZONE: "a__"}, {ZONE: "z"}, True),
        ({ZONE: "a", "topology.kubernetes.io/region": "r"}, {ZONE: "a"}, False),
    ],
)
def test_volumes_are_used_in_their_zones(
    scheduler: Scheduler, volume: dict[str, str], node: dict[str, str], fits: bool
) -> None:
    add(scheduler, make_node("n").labels(node))
    add(scheduler, make_volume("v").labels(volume), make_claim("c").bound_to("v"))
    decision = attempt(scheduler, make_pod("p").claims("c"))
    assert ("node(s) had no available volume zone" in decision.message) is not fits


@pytest.mark.parametrize(
    ("volume", "labels", "has"),
    [
        (ZONE, {ZONE: "z"}, f"{ZONE}=z"),
        (OLD_ZONE, {ZONE: "z"}, f"{ZONE}=z"),
        (ZONE, {OLD_ZONE: "z"}, f"no label {ZONE}"),
    ],
)
def test_the_zone_of_a_volume_and_of_the_node_are_explained(
    scheduler: Scheduler, volume: str, labels: dict[str, str], has: str
) -> None:
    add(scheduler, make_node("n").labels(labels))
    add(scheduler, make_volume("v").label(volume, "b__a"), make_claim("c").bound_to("v"))
    assert explained(scheduler, make_pod("p").claims("c")) == [
        f"VolumeZone: claim c is bound to volume v in {volume}=a, b: the node has {has}"
    ]


def test_zones_are_read_from_the_label() -> None:
    volume = make_volume("v").labels({ZONE: "a__b", OLD_ZONE: "__"})
    assert zones_of(volume.obj()) == {ZONE: frozenset({"a", "b"})}


def test_a_volume_that_is_not_there_has_no_zone(scheduler: Scheduler) -> None:
    add(scheduler, make_node("n"), make_claim("c").bound_to("ghost"))
    decision = attempt(scheduler, make_pod("p").claims("c"))
    assert decision.pre_filter.plugin == "VolumeZone"
    assert decision.pre_filter.reasons == ('persistentvolume "ghost" not found',)


@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_it_agrees_with_the_reference_while_the_cluster_changes(seed: int) -> None:
    for trial in changing_cluster(seed):
        for line, _, node in trial.infos():
            fits = reference.in_zone(trial.pod, node, trial.cluster.listers)
            assert bool(trial.reasons("VolumeZone", line)) is not fits


@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_it_agrees_with_the_reference_while_pods_come_and_go(seed: int) -> None:
    for trial in pods_come_and_go(seed):
        for line, _, node in trial.infos():
            fits = reference.in_zone(trial.pod, node, trial.cluster.listers)
            assert bool(trial.reasons("VolumeZone", line)) is not fits
