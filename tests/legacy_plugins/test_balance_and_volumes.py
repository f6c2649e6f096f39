"""The balance of 1.23 to 1.35, and the scores by volumes of alpha gates, with their figures."""

from __future__ import annotations

import pytest

from apps.scheduler.config.loading import load
from apps.scheduler.config.types import API_VERSION, KIND
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from apps.scheduler.testing.storage import make_claim, make_storage_class, make_volume
from apps.scheduler.testing.trial import scores
from legacy_plugins.conversion import convert
from tests.legacy_plugins.policies import TABLE, scheduler_of, scoring_by
from tests.scheduler.cycle import add, attempt

GROUP = API_VERSION.partition("/")[0]


def of_release(version: str, **fields: object) -> Scheduler:
    """A scheduler with the converted default configuration of an API version."""
    body = {"apiVersion": f"{GROUP}/{version}", "kind": KIND, **fields}
    text = convert(body, TABLE).configuration
    configuration = load(text, TABLE, legacy=True)
    return scheduler_of(configuration)


#: CPU and memory in use → the balance in 1.24: 100 × (1 - |cpu - memory| / 2)
BALANCE_OF_1_24 = {"a": ("4", 5, 95), "b": ("5", 4, 95), "c": ("2", 4, 90), "d": ("6", 3, 85)}


@pytest.mark.parametrize(
    ("version", "plugin"),
    [
        ("v1beta2", "NodeResourcesBalancedAllocationV1beta3"),
        ("v1beta3", "NodeResourcesBalancedAllocationV1beta3"),
        ("v1", "NodeResourcesBalancedAllocation"),
    ],
)
def test_the_balance_of_1_24_tells_nodes_apart(version: str, plugin: str) -> None:
    """A tiny pod changes no balance: 1.36 gives 75 everywhere, 1.24 the balance itself."""
    scheduler = of_release(version)
    for name, (cpu, memory, _) in BALANCE_OF_1_24.items():
        add(scheduler, make_node(name).capacity(cpu="10", memory=10 * 2**30))
        add(scheduler, make_pod(f"on-{name}").req(cpu=cpu, memory=memory * 2**30).on(name))
    found = scores(attempt(scheduler, make_pod("p").req(memory="1")), plugin)
    raw = {name: score for name, (score, _, _) in found.items()}
    if version == "v1":
        assert set(raw.values()) <= {74, 75}
    else:
        # the byte of the pod tips 0.05 over to the side that is truncated
        expected = {name: balance for name, (_, _, balance) in BALANCE_OF_1_24.items()}
        assert all(expected[name] - raw[name] in (0, 1) for name in expected)


def test_best_effort_pods_are_balanced_too() -> None:
    scheduler = of_release("v1beta3")
    add(scheduler, make_node("n").capacity(cpu="10", memory="10Gi"))
    add(scheduler, make_node("m").capacity(cpu="10", memory="10Gi"))
    add(scheduler, make_pod("big").req(cpu="5").on("m"))
    found = scores(attempt(scheduler, make_pod("p")), "NodeResourcesBalancedAllocationV1beta3")
    assert found == {"n": (100, 100, 100), "m": (75, 75, 75)}


def test_volumes_are_balanced_with_cpu_and_memory() -> None:
    """The variance of 0.5, 0.5 and 0.2 is 0.02; 40 of 200 volumes would be used."""
    scheduler = scoring_by("NodeResourcesBalancedAllocationLegacy", balanceAttachedNodeVolumes=True)
    node = make_node("n").capacity({"attachable-volumes-gce-pd": 5}, cpu="2", memory="2Gi")
    add(scheduler, node)
    disk = [{"name": "d", "gcePersistentDisk": {"pdName": "disk"}}]
    pod = make_pod("p").req(cpu="1", memory="1Gi").spec(volumes=disk)
    plugin = "NodeResourcesBalancedAllocationLegacy"
    assert scores(attempt(scheduler, pod), plugin)["n"][0] == 98
    plain = make_pod("q").req(cpu="1", memory="1Gi")
    assert scores(attempt(scoring_with(node), plain), plugin)["n"][0] == 0


def scoring_with(node: object) -> Scheduler:
    """The same node and no pods: a pod that uses up half of CPU is even, one of all is not."""
    scheduler = scoring_by("NodeResourcesBalancedAllocationLegacy", balanceAttachedNodeVolumes=True)
    add(scheduler, make_node("n").capacity(cpu="1", memory="2Gi"))
    return scheduler


def test_volumes_are_scored_by_their_use() -> None:
    """VolumeCapacityPriority prefers the smallest volume: 10 of 10, 20 and 40 GiB."""
    scheduler = of_release("v1beta3", featureGates={"VolumeCapacityPriority": True})
    add(scheduler, make_storage_class("local"))
    for node, size in (("a", "40Gi"), ("b", "10Gi"), ("c", "20Gi")):
        add(scheduler, make_node(node).hostname())
        volume = make_volume(f"of-{node}").in_class("local").holds(size)
        add(scheduler, volume.near("kubernetes.io/hostname", node))
    add(scheduler, make_claim("data").in_class("local").asks("10Gi"))
    decision = attempt(scheduler, make_pod("p").claims("data"))
    found = scores(decision, "VolumeCapacityPriority")
    assert {name: raw for name, (raw, _, _) in found.items()} == {"a": 25, "b": 100, "c": 50}
