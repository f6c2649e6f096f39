"""DynamicResources: pods whose resource claims are missing are kept out of the queue."""

from __future__ import annotations

from apps.scheduler.framework.status import Status
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import DeviceClass, ResourceClaim, ResourceSlice, decode_as
from apps.scheduler.plugins.dynamicresources.plugin import DynamicResources
from apps.scheduler.plugins.registry import BUILT_IN
from apps.scheduler.queue.records import SubQueue
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
from apps.scheduler.testing.trial import scores
from tests.scheduler.conftest import NewScheduler
from tests.scheduler.cycle import add, attempt


def test_a_pod_with_a_resource_claim_is_not_tried(scheduler: Scheduler) -> None:
    add(scheduler, make_node("n"))
    add(scheduler, make_pod("p").spec(resourceClaims=[{"name": "gpu"}]))
    assert scheduler.schedule_one() is None


def test_the_status_says_what_is_missing(scheduler: Scheduler) -> None:
    framework = scheduler.profiles["default-scheduler"]
    pod = make_pod("p").spec(resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}])
    status = framework.run_pre_enqueue_plugins(pod.info())
    assert status.plugin == "DynamicResources"
    assert status.reasons == ('could not find ResourceClaim "default/gpu"',)


def test_a_pod_without_claims_is_placed(scheduler: Scheduler) -> None:
    assert attempt(scheduler, make_pod("p"), make_node("n")).node == "n"


def claim(name: str) -> ResourceClaim:
    request = {"name": "r", "exactly": {"deviceClassName": "any"}}
    meta = {"name": name, "namespace": "default", "uid": name}
    return decode_as(
        ResourceClaim, {"metadata": meta, "spec": {"devices": {"requests": [request]}}}
    )


class Counted(DynamicResources):
    """Counts how often PreEnqueue is asked."""

    asked = 0

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        type(self).asked += 1
        return super().pre_enqueue(pod)


def test_events_of_other_objects_do_not_ask_for_each_pod_that_waits_for_its_claim(
    new_scheduler: NewScheduler,
) -> None:
    """A backlog of pods whose claims are created one by one costs by claim, not by pair."""
    scheduler = new_scheduler(registry={**BUILT_IN, Counted.name: Counted})
    add(scheduler, decode_as(DeviceClass, {"metadata": {"name": "any"}}))
    for number in range(60):
        reference = {"name": "c", "resourceClaimName": f"c{number // 2}"}
        add(scheduler, make_pod(f"p{number}").spec(resourceClaims=[reference]))
    after_adding = Counted.asked
    contents = scheduler.queue.contents
    for number in range(30):
        add(scheduler, claim(f"c{number}"), make_node(f"n{number}"))
        places = [contents.place_of(f"default/p{each}") for each in range(60)]
        ready = 2 * (number + 1)
        assert places == [SubQueue.ACTIVE] * ready + [SubQueue.GATED] * (60 - ready)
    assert Counted.asked - after_adding <= 4 * 60


def with_alternatives(name: str, allocated: str = "") -> ResourceClaim:
    """A claim that prefers a device of the first class; ``allocated``: its device, on any node."""
    alternatives = [
        {"name": "a", "deviceClassName": "any"},
        {"name": "b", "deviceClassName": "any"},
    ]
    spec = {"devices": {"requests": [{"name": "r", "firstAvailable": alternatives}]}}
    result = {"request": "r/a", "driver": "d", "pool": "elsewhere", "device": allocated}
    status = {"allocation": {"devices": {"results": [result]}}} if allocated else {}
    meta = {"name": name, "namespace": "default", "uid": name}
    return decode_as(ResourceClaim, {"metadata": meta, "spec": spec, "status": status})


def slice_of(node: str) -> ResourceSlice:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": "d0"}]
    return decode_as(
        ResourceSlice,
        {
            "metadata": {"name": node},
            "spec": {"driver": "d", "nodeName": node, "pool": pool, "devices": devices},
        },
    )


def test_an_earlier_allocation_scores_only_beside_one_of_this_cycle(scheduler: Scheduler) -> None:
    add(scheduler, decode_as(DeviceClass, {"metadata": {"name": "any"}}))
    add(scheduler, *(make_node(name) for name in "mn"), *(slice_of(name) for name in "mn"))
    add(scheduler, with_alternatives("old", allocated="x"), with_alternatives("new"))

    def raw_scores(name: str, *claims: str) -> set[int]:
        references = [{"name": each, "resourceClaimName": each} for each in claims]
        decision = attempt(scheduler, make_pod(name).spec(resourceClaims=references))
        return {raw for raw, _, _ in scores(decision, DynamicResources.name).values()}

    assert raw_scores("p", "old") == {0}
    assert raw_scores("q", "old", "new") == {8 + 8}
