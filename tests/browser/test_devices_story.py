"""A pod waits for a GPU, the page says which device and why, one is freed, and the pod runs."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.engine.loop import clock
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from tests.browser.conftest import Seen

pytestmark = pytest.mark.browser
ACTOR = Actor("admin")
Body = dict[str, Any]


def request(cluster: Cluster, name: str, count: int) -> None:
    """A pod with a claim for this many GPUs."""
    exactly = {"deviceClassName": "gpu.example.com", "count": count}
    devices = {"requests": [{"name": "gpu", "exactly": exactly}]}
    claim = {"metadata": {"name": name}, "spec": {"devices": devices}}
    store.create(cluster, kinds.by_name("ResourceClaim"), claim, actor=ACTOR, namespace="default")
    container = {"name": "main", "image": "x", "resources": {"claims": [{"name": "gpu"}]}}
    reference = {"name": "gpu", "resourceClaimName": name}
    spec = {"containers": [container], "resourceClaims": [reference]}
    body = {"metadata": {"name": name}, "spec": spec}
    store.create(cluster, kinds.POD, body, actor=ACTOR, namespace="default")


def test_a_pod_waits_for_a_gpu_and_runs_when_one_is_freed(seen: Seen) -> None:
    page = seen.page
    seen.log_in("admin", "open sesame")
    seen.open("/new-cluster")
    page.get_by_label("Name", exact=True).fill("gpus")
    page.get_by_label("Nodes", exact=True).fill("1")
    page.get_by_label("8 × A100", exact=True).check()
    page.get_by_label("8 × A100 with MIG profiles").check()
    page.get_by_role("button", name="Create cluster").click()
    expect(page.get_by_text("two templates have the same driver")).to_be_visible()
    # the console reports the status of the refused form
    seen.problems.clear()
    page.get_by_label("8 × A100 with MIG profiles").uncheck()
    page.get_by_role("button", name="Create cluster").click()
    expect(page.get_by_text("Cluster gpus created.")).to_be_visible()
    cluster = Cluster.objects.get(name="gpus")
    clock.set_manual(cluster)
    engines = Engines()
    engines.run(cluster.pk)
    request(cluster, "train", 7)
    engines.run(cluster.pk)
    request(cluster, "infer", 2)
    engines.run(cluster.pk)

    seen.open("/clusters/gpus/pods/default/infer")
    why = page.locator("#pod-why")
    expect(why).to_contain_text("does not have the devices that its claims request")
    devices = page.locator("#devices")
    expect(devices).to_contain_text("1 of 8")
    row = devices.get_by_role("row", name="gpu-3")
    expect(row).to_contain_text("it is allocated to claim default/train (pod train)")
    expect(devices.get_by_role("row", name="gpu-7")).to_contain_text("usable")
    suggestion = page.get_by_text("Delete pod default/train, which releases gpu-0 of node-0")
    expect(suggestion).to_be_visible()

    seen.open("/clusters/gpus/nodes/node-0")
    held = page.locator("#node-devices").get_by_role("row", name="gpu-0")
    expect(held.get_by_role("link", name="train", exact=True)).to_be_visible()
    held.get_by_role("link", name="claim train").click()
    expect(page.locator("#object")).to_contain_text("Reserved by")
    expect(page.locator("#object").get_by_role("link", name="gpu-6 of node-0")).to_be_visible()

    seen.open("/clusters/gpus/pods/default/infer")
    expect(page.locator("#devices")).to_be_visible()
    store.delete(cluster, kinds.POD, "default", "train", actor=ACTOR)
    engines.run(cluster.pk)
    clock.advance(cluster, 60)
    engines.run(cluster.pk)
    expect(page.locator("#pod .facts").first).to_contain_text("node-0")
    expect(page.locator("#devices")).to_have_count(0)
    decision = SchedulingDecision.objects.get(cluster=cluster, name="infer", result="scheduled")
    seen.open(f"/clusters/gpus/decisions/{decision.pk}")
    expect(page.get_by_role("heading", name="Devices", exact=True)).to_be_visible()
    expect(page.get_by_role("row", name="infer gpu gpu-1")).to_be_visible()
    engines.close()
    assert seen.problems == []
