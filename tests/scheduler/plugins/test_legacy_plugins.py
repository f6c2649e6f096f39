"""Plugins of earlier releases: what the documents of their time say, and converted policies."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.scheduler.config.convert import convert
from apps.scheduler.config.loading import load
from apps.scheduler.config.types import API_VERSION, KIND
from apps.scheduler.decision import Decision
from apps.scheduler.objects import KubeObject, OwnerReference, decode
from apps.scheduler.plugins.helper.csi_migration import EBS
from apps.scheduler.plugins.legacy.node_prefer_avoid_pods import ANNOTATION, avoids
from apps.scheduler.plugins.legacy.selector_spread import NO_ZONE, spread
from apps.scheduler.plugins.registry import TABLE
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import PodBuilder, make_node, make_pod
from apps.scheduler.testing.clock import FakeClock
from apps.scheduler.testing.storage import (
    make_claim,
    make_csi_node,
    make_storage_class,
    make_volume,
)

ZONE = "topology.kubernetes.io/zone"


def under_policy(predicates: list[str], priorities: dict[str, int]) -> Scheduler:
    """A scheduler with the converted profile of a Policy."""
    policy = {
        "kind": "Policy",
        "apiVersion": "v1",
        "predicates": [{"name": name} for name in predicates],
        "priorities": [{"name": name, "weight": weight} for name, weight in priorities.items()],
    }
    conversion = convert(policy, TABLE)
    config = load(conversion.configuration_yaml, TABLE, legacy=conversion.legacy)
    return Scheduler(config, clock=FakeClock(1000.0), tie_break="first-name")


def scoring_by(plugin: str, **args: Any) -> Scheduler:
    """A scheduler whose profile scores by one legacy plugin."""
    profile = {
        "schedulerName": "default-scheduler",
        "plugins": {"score": {"enabled": [{"name": plugin}], "disabled": [{"name": "*"}]}},
        "pluginConfig": [{"name": plugin, "args": args}] if args else [],
    }
    body = {"apiVersion": API_VERSION, "kind": KIND, "profiles": [profile]}
    config = load(body, TABLE, legacy=True)
    return Scheduler(config, clock=FakeClock(1000.0), tie_break="first-name")


def tell(scheduler: Scheduler, *items: Any) -> None:
    for item in items:
        built = item if isinstance(item, KubeObject) else item.obj()
        scheduler.handle(type(built).__name__, None, built)


def attempt(scheduler: Scheduler, pod: PodBuilder) -> Decision:
    tell(scheduler, pod)
    decision = scheduler.schedule_one()
    assert decision is not None
    return decision


def scores(decision: Decision, plugin: str) -> dict[str, list[int]]:
    """node -> [raw, normalised, weighted] of a plugin."""
    nodes = [decision.nodes[row] for row in decision.feasible]
    return {node: list(decision.scores_of(node)[plugin]) for node in nodes}


# -- by resources --------------------------------------------------------------------------------


def test_cpu_and_memory_are_compared_as_the_documents_reckon() -> None:
    """Two machines of 4000m and 6000m and 10000 bytes; a pod of 3000m and 5000 bytes."""
    priorities = ("LeastRequestedPriority", "MostRequestedPriority", "BalancedResourceAllocation")
    scheduler = under_policy(["GeneralPredicates"], dict.fromkeys(priorities, 1))
    tell(scheduler, make_node("small").capacity(cpu="4", memory=10000))
    tell(scheduler, make_node("large").capacity(cpu="6", memory=10000))
    decision = attempt(scheduler, make_pod("p").req(cpu="3", memory=5000))
    raw = {
        plugin: [scores(decision, plugin)[node][0] for node in ("small", "large")]
        for plugin in decision.scores
    }
    assert raw == {
        "NodeResourcesLeastAllocated": [(25 + 50) // 2, 50],
        "NodeResourcesMostAllocated": [(75 + 50) // 2, 50],
        "NodeResourcesBalancedAllocationLegacy": [75, 100],
    }


def test_a_node_that_is_used_up_is_never_even() -> None:
    scheduler = under_policy(["HostName"], {"BalancedResourceAllocation": 1})
    tell(scheduler, make_node("n").capacity(cpu="1", memory="1Gi"))
    tell(scheduler, make_node("m").capacity(cpu="0", memory="1Gi"))
    decision = attempt(scheduler, make_pod("p").req(cpu="1", memory="1Gi"))
    found = scores(decision, "NodeResourcesBalancedAllocationLegacy")
    assert found == {"n": [0, 0, 0], "m": [0, 0, 0]}


def test_a_resource_that_a_node_does_not_have_counts_as_used_up() -> None:
    resources = [{"name": "intel.com/foo", "weight": 1}]
    scheduler = scoring_by("NodeResourcesLeastAllocated", resources=resources)
    tell(scheduler, make_node("n").capacity({"intel.com/foo": 4}), make_node("m"))
    decision = attempt(scheduler, make_pod("p"))
    assert scores(decision, "NodeResourcesLeastAllocated") == {"n": [100] * 3, "m": [0] * 3}


def test_requested_to_capacity_ratio_gives_5_and_7_as_documented() -> None:
    """Resource bin packing for extended resources, in the arithmetic of 0 to 10."""
    ratio = {
        "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}],
        "resources": [
            {"name": "intel.com/foo", "weight": 5},
            {"name": "cpu", "weight": 3},
            {"name": "memory", "weight": 1},
        ],
    }
    policy = {
        "kind": "Policy",
        "apiVersion": "v1",
        "predicates": [{"name": "GeneralPredicates"}],
        "priorities": [
            {
                "name": "RequestedToCapacityRatioPriority",
                "weight": 2,
                "argument": {"requestedToCapacityRatioArguments": ratio},
            }
        ],
    }
    conversion = convert(policy, TABLE)
    config = load(conversion.configuration_yaml, TABLE, legacy=True)
    scheduler = Scheduler(config, clock=FakeClock(1000.0), tie_break="first-name")
    tell(scheduler, make_node("node-1").capacity({"intel.com/foo": 4}, memory="1Gi", cpu="8"))
    tell(scheduler, make_node("node-2").capacity({"intel.com/foo": 8}, memory="1Gi", cpu="8"))
    used_1 = make_pod("a").req({"intel.com/foo": 1}, memory="256Mi", cpu="1")
    used_2 = make_pod("b").req({"intel.com/foo": 2}, memory="512Mi", cpu="6")
    tell(scheduler, used_1.on("node-1"), used_2.on("node-2"))
    pod = make_pod("p").req({"intel.com/foo": 2}, memory="256Mi", cpu="2")
    found = scores(attempt(scheduler, pod), "RequestedToCapacityRatio")
    assert found == {"node-1": [5, 50, 100], "node-2": [7, 70, 140]}


def test_without_a_shape_the_score_rises_with_the_use() -> None:
    scheduler = scoring_by("RequestedToCapacityRatio")
    tell(scheduler, make_node("n").capacity(cpu="10", memory="10Gi"))
    decision = attempt(scheduler, make_pod("p").req(cpu="3", memory="5Gi"))
    assert scores(decision, "RequestedToCapacityRatio") == {"n": [4, 40, 40]}


# -- SelectorSpread ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "zones", "expected"),
    [
        ([0, 0], [NO_ZONE, NO_ZONE], [100, 100]),
        ([2, 1, 0], [NO_ZONE] * 3, [0, 50, 100]),
        # Two zones with three nodes each and one with a single node.
        ([0, 1, 1, 0, 1, 0], [0, 1, 1, 2, 2, 2], [100, 0, 0, 66, 33, 66]),
        ([0, 0], [0, 0], [100, 100]),
        ([1, 1, 0], [0, NO_ZONE, NO_ZONE], [0, 0, 100]),
    ],
)
def test_pods_of_a_kind_are_spread_over_zones_and_nodes(
    counts: list[int], zones: list[int], expected: list[int]
) -> None:
    assert spread(np.array(counts), np.array(zones)).tolist() == expected


@given(nodes=st.lists(st.tuples(st.integers(0, 50), st.integers(-1, 3)), min_size=1, max_size=8))
def test_spreading_agrees_with_the_formula_node_by_node(nodes: list[tuple[int, int]]) -> None:
    in_zone: dict[int, int] = {}
    for count, zone in nodes:
        if zone != NO_ZONE:
            in_zone[zone] = in_zone.get(zone, 0) + count
    most, most_in_zone = max(count for count, _ in nodes), max(in_zone.values(), default=0)
    expected = []
    for count, zone in nodes:
        score = 100.0 * ((most - count) / most) if most else 100.0
        if zone != NO_ZONE:
            free = (most_in_zone - in_zone[zone]) / most_in_zone if most_in_zone else 1.0
            score = score * (1.0 - 2.0 / 3.0) + (2.0 / 3.0) * (100.0 * free)
        expected.append(int(score))
    counts, zones = (np.array(column) for column in zip(*nodes, strict=True))
    found = spread(counts, zones).tolist()
    assert found == expected
    assert all(0 <= score <= 100 for score in found)


def service(**selector: str) -> KubeObject:
    meta = {"name": "s", "namespace": "default"}
    return decode("Service", {"metadata": meta, "spec": {"selector": selector}})


def test_a_services_pods_go_where_the_fewest_of_them_run() -> None:
    scheduler = under_policy(["HostName"], {"SelectorSpreadPriority": 1})
    tell(scheduler, service(app="web"))
    for name, zone in (("a", "z1"), ("b", "z1"), ("c", "z2")):
        tell(scheduler, make_node(name).label(ZONE, zone))
    web = {"app": "web"}
    tell(scheduler, make_pod("r1").labels(web).on("a"), make_pod("r2").labels(web).on("c"))
    tell(scheduler, make_pod("r3").labels(web).on("c"), make_pod("r4").on("b"))
    tell(scheduler, make_pod("gone").labels(web).terminating().on("b"))
    decision = attempt(scheduler, make_pod("p").labels(web))
    found = scores(decision, "SelectorSpread")
    assert [found[node][:2] for node in "abc"] == [[1, 50], [0, 66], [2, 0]]
    alone = scores(attempt(scheduler, make_pod("q")), "SelectorSpread")
    assert [alone[node][1] for node in "abc"] == [100, 100, 100]


def test_a_pod_with_constraints_of_its_own_is_not_spread_by_selector() -> None:
    scheduler = under_policy(["HostName"], {"SelectorSpreadPriority": 1})
    tell(scheduler, make_node("a"), make_node("b"))
    decision = attempt(scheduler, make_pod("p").spread(ZONE, {"app": "web"}))
    assert decision.score_skipped == {"SelectorSpread"}


# -- NodePreferAvoidPods -------------------------------------------------------------------------

WEB = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "name": "web",
    "uid": "u1",
    "controller": True,
}


def avoiding(kind: str, uid: str) -> str:
    controller = {"kind": kind, "uid": uid}
    return json.dumps({"preferAvoidPods": [{"podSignature": {"podController": controller}}]})


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        (WEB, [0, 1_000_000]),
        ({**WEB, "uid": "u2"}, [1_000_000, 1_000_000]),
        ({**WEB, "kind": "StatefulSet"}, [1_000_000, 1_000_000]),
        ({**WEB, "controller": False}, [1_000_000, 1_000_000]),
    ],
)
def test_a_node_that_would_rather_not_is_as_good_as_vetoed(
    owner: dict[str, Any], expected: list[int]
) -> None:
    scheduler = under_policy(["HostName"], {"NodePreferAvoidPodsPriority": 10_000})
    asking = make_node("asking")
    asking.body["metadata"]["annotations"] = {ANNOTATION: avoiding("ReplicaSet", "u1")}
    tell(scheduler, asking, make_node("other"))
    pod = make_pod("p")
    pod.body["metadata"]["ownerReferences"] = [owner]
    found = scores(attempt(scheduler, pod), "NodePreferAvoidPods")
    assert [found[node][2] for node in ("asking", "other")] == expected


@pytest.mark.parametrize(
    "annotation", ["", "[", "[]", "{}", '{"preferAvoidPods": 1}', '{"preferAvoidPods": [{}]}']
)
def test_an_annotation_that_cannot_be_read_avoids_nobody(annotation: str) -> None:
    assert not avoids(annotation, OwnerReference(kind="ReplicaSet", uid="u1"))


# -- limits of in-tree disks ---------------------------------------------------------------------

EXCEEDS = "node(s) exceed max volume count"
SOURCES = {
    "MaxEBSVolumeCount": lambda name: {"awsElasticBlockStore": {"volumeID": name}},
    "MaxGCEPDVolumeCount": lambda name: {"gcePersistentDisk": {"pdName": name}},
    "MaxAzureDiskVolumeCount": lambda name: {"azureDisk": {"diskURI": name}},
    "MaxCinderVolumeCount": lambda name: {"cinder": {"volumeID": name}},
}


def with_disks(pod: PodBuilder, predicate: str, *names: str) -> PodBuilder:
    return pod.spec(volumes=[{"name": name, **SOURCES[predicate](name)} for name in names])


@pytest.mark.parametrize(
    ("predicate", "resource"),
    [
        ("MaxEBSVolumeCount", "attachable-volumes-aws-ebs"),
        ("MaxGCEPDVolumeCount", "attachable-volumes-gce-pd"),
        ("MaxAzureDiskVolumeCount", "attachable-volumes-azure-disk"),
        ("MaxCinderVolumeCount", "attachable-volumes-cinder"),
    ],
)
def test_a_node_attaches_as_many_disks_as_it_says(predicate: str, resource: str) -> None:
    scheduler = under_policy([predicate], {})
    tell(scheduler, make_node("n").capacity({resource: 2}))
    tell(scheduler, with_disks(make_pod("r"), predicate, "one").on("n"))
    assert attempt(scheduler, with_disks(make_pod("p"), predicate, "one", "two")).node == "n"
    full = attempt(scheduler, with_disks(make_pod("q"), predicate, "three"))
    assert full.filter_message == f"0/1 nodes are available: 1 {EXCEEDS}."
    other = next(name for name in SOURCES if name != predicate)
    assert attempt(scheduler, with_disks(make_pod("s"), other, "x", "y", "z")).node == "n"


@pytest.mark.parametrize(
    ("predicate", "machine", "limit"),
    [
        ("MaxEBSVolumeCount", "", 39),
        ("MaxEBSVolumeCount", "m5.large", 25),
        ("MaxEBSVolumeCount", "m4.large", 39),
        ("MaxGCEPDVolumeCount", "", 16),
        ("MaxAzureDiskVolumeCount", "", 16),
        ("MaxCinderVolumeCount", "", 256),
    ],
)
def test_machines_have_limits_of_their_own(predicate: str, machine: str, limit: int) -> None:
    scheduler = under_policy([predicate], {})
    node = make_node("n")
    if machine:
        node.label("node.kubernetes.io/instance-type", machine)
    tell(scheduler, node)
    disks = [f"d{number}" for number in range(limit)]
    assert attempt(scheduler, with_disks(make_pod("p"), predicate, *disks)).node == "n"
    assert EXCEEDS in attempt(scheduler, with_disks(make_pod("q"), predicate, "more")).message


def test_claims_count_for_the_disks_behind_them() -> None:
    scheduler = under_policy(["MaxEBSVolumeCount"], {})
    tell(scheduler, make_node("n").capacity({"attachable-volumes-aws-ebs": 1}))
    tell(scheduler, make_storage_class("ebs", EBS.name))
    tell(scheduler, make_volume("v").spec(awsElasticBlockStore={"volumeID": "d"}))
    tell(scheduler, make_claim("bound").bound_to("v"), make_claim("new").in_class("ebs"))
    tell(scheduler, make_pod("r").claims("bound").on("n"))
    same = with_disks(make_pod("p"), "MaxEBSVolumeCount", "d")
    assert attempt(scheduler, same).node == "n"
    assert EXCEEDS in attempt(scheduler, make_pod("q").claims("new")).message


def test_where_a_driver_serves_the_disks_it_counts_them() -> None:
    scheduler = under_policy(["MaxEBSVolumeCount"], {})
    tell(scheduler, make_node("n").capacity({"attachable-volumes-aws-ebs": 0}))
    tell(scheduler, make_csi_node("n", {}, EBS.name))
    assert attempt(scheduler, with_disks(make_pod("p"), "MaxEBSVolumeCount", "d")).node == "n"


def test_room_for_a_disk_is_made_by_evicting_one() -> None:
    scheduler = under_policy(["MaxEBSVolumeCount"], {})
    tell(scheduler, make_node("n").capacity({"attachable-volumes-aws-ebs": 1}))
    tell(scheduler, with_disks(make_pod("r"), "MaxEBSVolumeCount", "one").on("n"))
    pod = with_disks(make_pod("p"), "MaxEBSVolumeCount", "two").priority(10)
    decision = attempt(scheduler, pod)
    assert decision.nominating is not None
    assert decision.nominating.nominated_node == "n"
