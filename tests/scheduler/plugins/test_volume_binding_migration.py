"""VolumeBinding for volumes of in-tree plugins, which CSI drivers serve."""

from __future__ import annotations

from typing import Any

import pytest

from apps.scheduler.decision import Result
from apps.scheduler.plugins.helper.csi_migration import EBS, GCE_PD
from apps.scheduler.plugins.volumebinding.topology import migrated_affinity
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from apps.scheduler.testing.storage import (
    make_claim,
    make_csi_node,
    make_volume,
)
from apps.scheduler.testing.trial import refusals
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.cycle import add, attempt

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
OLD_ZONE, OLD_REGION = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)


def disk() -> Any:
    return make_volume("v").spec(gcePersistentDisk={"pdName": "d"})


def requirements(volume: Any) -> list[dict[str, list[str]]]:
    selector = migrated_affinity(volume.obj(), GCE_PD)
    terms = selector.node_selector_terms if selector is not None else ()
    return [{each.key: list(each.values) for each in term.match_expressions} for term in terms]


@pytest.mark.parametrize(
    ("volume", "expected"),
    [
        (disk(), []),
        (disk().label(ZONE, "b__a"), [{"topology.gke.io/zone": ["a", "b"]}]),
        (disk().label(OLD_ZONE, "a"), [{"topology.gke.io/zone": ["a"]}]),
        (disk().near(ZONE, "z").label(ZONE, "other"), [{"topology.gke.io/zone": ["z"]}]),
        (
            disk().near(OLD_REGION, "r").label(OLD_ZONE, "a"),
            [{"topology.kubernetes.io/region": ["r"], "topology.gke.io/zone": ["a"]}],
        ),
        (
            disk().near(HOSTNAME, "n").label(ZONE, "a"),
            [{HOSTNAME: ["n"], "topology.gke.io/zone": ["a"]}],
        ),
    ],
)
def test_zones_of_an_in_tree_volume_become_those_of_its_driver(
    volume: Any, expected: list[dict[str, list[str]]]
) -> None:
    assert requirements(volume) == expected


def test_a_node_that_serves_a_volume_by_its_driver_is_asked_in_the_drivers_terms(
    new_scheduler: NewScheduler,
) -> None:
    scheduler = new_scheduler()
    by_driver = make_node("a").label("topology.gke.io/zone", "z")
    add(scheduler, by_driver.obj(), make_node("b").obj(), make_node("c").obj())
    add(scheduler, *(make_csi_node(name, {}, "kubernetes.io/gce-pd") for name in ("a", "b")))
    volume = disk().label(ZONE, "z").claimed_by("c", "default/c").phase("Bound")
    add(scheduler, volume.obj())
    decision = attempt(scheduler, make_pod("p").claims("c"), make_claim("c").bound_to("v"))
    assert refusals(decision) == {"b": "node(s) didn't match PersistentVolume's node affinity"}


def test_a_volume_no_driver_could_serve_is_an_error(scheduler: Scheduler) -> None:
    add(scheduler, make_node("a"), make_csi_node("a", {}, EBS.name))
    volume = make_volume("v").spec(awsElasticBlockStore={"volumeID": "aws://zone/disk"})
    add(scheduler, volume.claimed_by("c", "default/c").phase("Bound").obj())
    decision = attempt(scheduler, make_pod("p").claims("c"), make_claim("c").bound_to("v"))
    assert decision.result is Result.ERROR
    assert "could not translate pv: failed to translate Kubernetes ID" in decision.message
