"""DynamicResources: pods whose resource claims are missing are kept out of the queue."""

from __future__ import annotations

from apps.scheduler.scheduler import Scheduler
from apps.scheduler.testing.builders import make_node, make_pod
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
