"""The step debugger: an attempt is stepped through, changed and committed; then its facts."""

from __future__ import annotations

import os

import pytest
from playwright.sync_api import expect

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster, Pod
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.engine.models import SchedulingDecision
from tests.browser.conftest import Seen

pytestmark = pytest.mark.browser

POD = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "containers": [
            {"name": "main", "image": "web", "resources": {"requests": {"cpu": "1"}}},
        ]
    },
}


@pytest.fixture
def cluster(seen: Seen) -> Cluster:
    cluster = create_cluster("lab", user="admin", nodes=3, tie_break="first-name")
    store.create(cluster, kinds.POD, POD, actor=Actor("admin", "request-9"))
    return cluster


def test_a_changed_verdict_moves_the_chosen_node_and_the_commit_is_on_the_list(
    seen: Seen, cluster: Cluster
) -> None:
    page = seen.page
    seen.log_in("admin", "open sesame")
    seen.open("/clusters/lab/debugger")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("The cluster is not paused")).to_have_count(0)

    # to the end, one extension point at a time
    step, nodes = page.locator("#step h2"), page.locator("#nodes tbody tr")
    expect(step).to_contain_text("step 1 of ")
    expect(nodes.first).to_contain_text("not yet")
    last = int(step.inner_text().rpartition(" ")[2])
    for number in range(2, last + 1):
        page.get_by_role("link", name="Next extension point").click()
        expect(step).to_contain_text(f"step {number} of {last}")
    expect(nodes.filter(has_text="selected")).to_contain_text("node-0")
    expect(page.get_by_role("heading", name="node-0 is selected")).to_be_visible()

    # the chosen node follows a verdict, back and forth
    page.get_by_role("button", name="Reject node-0").click()
    expect(page.get_by_role("heading", name="node-1 is selected")).to_be_visible()
    expect(nodes.filter(has_text="selected")).to_contain_text("node-1")
    expect(nodes.filter(has_text="changed")).to_contain_text("node-0")
    page.get_by_role("button", name="Accept node-0").click()
    expect(page.get_by_role("heading", name="node-0 is selected")).to_be_visible()
    page.get_by_role("button", name="Reject node-0").click()
    expect(page.get_by_role("heading", name="node-1 is selected")).to_be_visible()
    assert not SchedulingDecision.objects.exists()

    page.get_by_role("button", name="Commit").click()
    expect(page.get_by_text("The decision about default/web is recorded.")).to_be_visible()
    expect(page.locator(".lead")).to_contain_text("chose node-1")
    assert Pod.objects.get(name="web").node_name == "node-1"
    row = SchedulingDecision.objects.get()
    page.get_by_role("link", name="Decisions", exact=True).click()
    listed = page.locator("#decisions tbody tr")
    expect(listed).to_have_count(1)
    expect(listed).to_contain_text("node-1")

    # its facts are searched for after the page; the text areas get their line numbers
    seen.open(f"/clusters/lab/decisions/{row.pk}/facts")
    expect(page.locator("#facts")).to_contain_text("tried")
    expect(page.locator("#edit .editor .gutter").first).to_contain_text("1")
    if folder := os.environ.get("SCREENSHOTS"):
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            page.screenshot(path=f"{folder}/facts-{width}.png", full_page=True)
