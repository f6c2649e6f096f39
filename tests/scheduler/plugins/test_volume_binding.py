"""Claims find volumes, pods that follow find them taken, and writes are asked for."""

from __future__ import annotations

import pytest

from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.intents import MergePatch
from apps.scheduler.framework.status import error
from apps.scheduler.plugins.volumebinding.volumes import ClassVolumes
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import PodBuilder, make_node, make_pod
from apps.scheduler.testing.storage import (
    ClaimBuilder,
    make_claim,
    make_storage_class,
    make_volume,
)
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.cycle import add, attempt, explained

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
OLD_ZONE, OLD_REGION = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)
NOTHING_TO_BIND = "node(s) didn't find available persistent volumes to bind"


@pytest.fixture
def scheduler(new_scheduler: NewScheduler) -> Scheduler:
    """Two nodes, the first of which is preferred, and a class for volumes made by hand."""
    made = new_scheduler()
    nodes = (make_node("a").hostname().zone("z1"), make_node("b").hostname().zone("z2"))
    add(made, *(node.obj() for node in nodes))
    add(made, make_storage_class("local"), make_storage_class("fast", "fast.csi"))
    return made


def add_local_volume(scheduler: Scheduler, node: str, size: str = "1Gi") -> None:
    volume = make_volume(f"disk-of-{node}").in_class("local").near(HOSTNAME, node).holds(size)
    add(scheduler, volume.version(7).obj())


def attempt_with(scheduler: Scheduler, pod: PodBuilder, *claims: ClaimBuilder) -> Decision:
    """The pod with its claims arrives, and is tried."""
    add(scheduler, *(claim.version(3).obj() for claim in claims))
    names = [claim.body["metadata"]["name"] for claim in claims]
    return attempt(scheduler, pod.claims(*names))


def patches(decision: Decision) -> list[MergePatch]:
    return [intent for intent in decision.intents if isinstance(intent, MergePatch)]


def local_claim(name: str) -> ClaimBuilder:
    return make_claim(name).in_class("local")


def test_pods_get_different_volumes_before_anything_is_written(scheduler: Scheduler) -> None:
    add_local_volume(scheduler, "a")
    add_local_volume(scheduler, "b")
    nodes = {attempt_with(scheduler, make_pod(name), local_claim(name)).node for name in ("p", "q")}
    assert nodes == {"a", "b"}
    late = attempt_with(scheduler, make_pod("r"), local_claim("r"))
    assert late.result is Result.UNSCHEDULABLE
    assert late.filter_message == f"0/2 nodes are available: 2 {NOTHING_TO_BIND}."


def test_the_volume_is_asked_to_name_its_claim(scheduler: Scheduler) -> None:
    add_local_volume(scheduler, "b")
    decision = attempt_with(scheduler, make_pod("p"), local_claim("data"))
    assert decision.node == "b"
    reference = {
        "kind": "PersistentVolumeClaim",
        "apiVersion": "v1",
        "namespace": "default",
        "name": "data",
        "uid": "default/data",
        "resourceVersion": "3",
    }
    meta = {
        "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"},
        "resourceVersion": "7",
    }
    patch = {"metadata": meta, "spec": {"claimRef": reference}}
    assert patches(decision) == [MergePatch("PersistentVolume", "", "disk-of-b", patch)]
    assert decision.intents[-1] not in patches(decision), "the binding comes last"


def test_a_volume_that_names_the_claim_already_is_not_written(scheduler: Scheduler) -> None:
    volume = make_volume("v").in_class("local").near(HOSTNAME, "a")
    add(scheduler, volume.claimed_by("data", "default/data").phase("Bound").obj())
    add_local_volume(scheduler, "b")
    decision = attempt_with(scheduler, make_pod("p"), local_claim("data"))
    assert decision.node == "a"
    assert patches(decision) == []


def test_a_failed_binding_gives_the_volume_back(scheduler: Scheduler) -> None:
    add_local_volume(scheduler, "a")
    first = attempt_with(scheduler, make_pod("p"), local_claim("p"))
    scheduler.bind_failed(first, error("the volume has changed"))
    assert attempt_with(scheduler, make_pod("q"), local_claim("q")).node == "a"


def test_the_smallest_claim_gets_the_smallest_volume(scheduler: Scheduler) -> None:
    for name, size in (("small", "1Gi"), ("large", "9Gi")):
        add(scheduler, make_volume(name).in_class("local").holds(size).obj())
    claims = (local_claim("big").asks("2Gi"), local_claim("little").asks("1Gi"))
    decision = attempt_with(scheduler, make_pod("p"), *claims)
    found = {p.name: p.patch["spec"]["claimRef"]["name"] for p in patches(decision)}
    assert found == {"small": "little", "large": "big"}


def test_a_volume_to_be_made_is_asked_for_on_the_node(scheduler: Scheduler) -> None:
    decision = attempt_with(scheduler, make_pod("p"), make_claim("new").in_class("fast"))
    annotations = {"volume.kubernetes.io/selected-node": decision.node}
    patch = {"metadata": {"annotations": annotations, "resourceVersion": "3"}}
    assert patches(decision) == [MergePatch("PersistentVolumeClaim", "default", "new", patch)]


def test_a_pod_follows_the_claim_that_another_has_just_taken_somewhere(
    scheduler: Scheduler,
) -> None:
    claim = make_claim("shared").in_class("fast")
    first = attempt_with(scheduler, make_pod("p").node_selector({HOSTNAME: "b"}), claim)
    second = attempt(scheduler, make_pod("q").claims("shared"))
    assert (first.node, second.node) == ("b", "b")
    # Whoever comes first writes it: the second does not insist on the version it has seen.
    annotations = {"volume.kubernetes.io/selected-node": "b"}
    assert [p.patch for p in patches(second)] == [{"metadata": {"annotations": annotations}}]


def test_what_the_cluster_says_of_a_volume_ends_the_assumption(scheduler: Scheduler) -> None:
    add_local_volume(scheduler, "a")
    attempt_with(scheduler, make_pod("p"), local_claim("p"))
    old = scheduler.cache.listers.persistent_volumes.get("disk-of-a")
    add(scheduler, make_volume("disk-of-b").in_class("local").near(HOSTNAME, "b").obj())
    freed = make_volume("disk-of-a").in_class("local").near(HOSTNAME, "a").version(8).obj()
    scheduler.handle("PersistentVolume", old, freed)
    nodes = {attempt_with(scheduler, make_pod(name), local_claim(name)).node for name in ("q", "r")}
    assert nodes == {"a", "b"}


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (
            make_claim("c").spec(volumeName="v").phase("Lost"),
            'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"',
        ),
        (make_claim("c").terminating(), 'persistentvolumeclaim "c" is being deleted'),
        (make_claim("c"), "pod has unbound immediate PersistentVolumeClaims"),
        (make_claim("c").in_class("gone"), "pod has unbound immediate PersistentVolumeClaims"),
        (
            local_claim("c").spec(volumeName="mine"),
            "pod has unbound immediate PersistentVolumeClaims",
        ),
        (make_claim("other"), 'persistentvolumeclaim "c" not found'),
    ],
)
def test_a_pod_waits_for_a_claim_it_can_use(
    scheduler: Scheduler, claim: ClaimBuilder, message: str
) -> None:
    decision = attempt(scheduler, make_pod("p").claims("c"), claim)
    assert decision.pre_filter.reasons == (message,)


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        (
            [],
            "waiting for ephemeral volume controller to create "
            'the persistentvolumeclaim "p-scratch"',
        ),
        (
            [make_claim("p-scratch").in_class("fast").created_for("default/another")],
            "PVC default/p-scratch was not created for pod default/p (pod is not owner)",
        ),
        ([make_claim("p-scratch").in_class("fast").created_for("default/p")], ""),
    ],
)
def test_an_ephemeral_volume_waits_for_its_own_claim(
    scheduler: Scheduler, claims: list[ClaimBuilder], message: str
) -> None:
    scratch = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
    decision = attempt(scheduler, make_pod("p").spec(volumes=[scratch]), *claims)
    assert decision.pre_filter.message == message
    assert bool(decision.node) is not bool(message)


def test_a_claim_named_twice_needs_two_volumes(scheduler: Scheduler) -> None:
    add_local_volume(scheduler, "a")
    decision = attempt(scheduler, make_pod("p").claims("c", "c"), local_claim("c"))
    assert NOTHING_TO_BIND in decision.message


def test_a_volume_that_the_node_cannot_reach_is_explained(scheduler: Scheduler) -> None:
    volume = make_volume("v").near(HOSTNAME, "a").claimed_by("c", "default/c").phase("Bound")
    add(scheduler, volume, make_claim("c").bound_to("v"))
    assert explained(scheduler, make_pod("p").claims("c"), "b") == [
        "VolumeBinding: claim c is bound to volume v, which requires "
        "kubernetes.io/hostname In (a): the node has kubernetes.io/hostname=b"
    ]


def test_a_table_forgets_what_only_volumes_long_gone_were_like() -> None:
    table = ClassVolumes()
    kept = make_volume("kept").obj()
    table.put(kept)
    for number in range(200):
        table.put(make_volume("v").label("serial", str(number)).near(HOSTNAME, str(number)).obj())
        table.remove("v")
    assert table.is_worn
    renewed = table.rebuild()
    assert not renewed.is_worn
    assert [renewed.at(slot) for slot in renewed.open.nonzero()[0]] == [kept]
