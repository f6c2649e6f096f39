"""The workflow of an operator: create, watch, set conditions, drain, copy, pause."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from apps.administration.clusters.lifecycle import create_cluster
from apps.administration.operations import running
from apps.cluster import kinds
from apps.cluster.models import Cluster, Node
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.engine.loop.engines import Engines
from apps.engine.models import Operation
from tests.browser.conftest import Seen

pytestmark = pytest.mark.browser

ACTOR = Actor("admin")


@pytest.fixture
def lab(seen: Seen) -> Cluster:
    """Two nodes of 8 CPUs; a ReplicaSet with two pods of 3 CPUs."""
    cluster = create_cluster("lab", user="admin", nodes=2, zones=2, tie_break="first-name")
    resources = {"requests": {"cpu": "3"}}
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "x", "resources": resources}]},
    }
    body: dict[str, Any] = {
        "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }
    kind = kinds.by_name("ReplicaSet")
    store.create(cluster, kind, body, actor=ACTOR, namespace="default")
    Engines().run(cluster.pk)
    return cluster


def test_a_cluster_is_generated_paused_resumed_and_copied(seen: Seen) -> None:
    page = seen.page
    seen.log_in("admin", "open sesame")
    page.get_by_role("link", name="Create one").click()
    page.get_by_label("Name", exact=True).fill("first")
    page.get_by_label("Nodes", exact=True).fill("4")
    page.get_by_label("Node sizes").fill("4 16Gi\n64 256Gi 250")
    page.get_by_role("button", name="Create cluster").click()
    expect(page.get_by_text("Cluster first created.")).to_be_visible()
    page.get_by_role("link", name="schedweb").click()
    card = page.locator("#card-first")
    card.get_by_role("button", name="Pause").click()
    expect(card).to_contain_text("paused")
    page.get_by_role("button", name="Undo").click()
    expect(card).to_contain_text("running")

    card.get_by_role("link", name="Copy").click()
    expect(page.get_by_label("Name", exact=True)).to_have_value("first-copy")
    page.get_by_role("button", name="Create cluster").click()
    expect(page.get_by_text("waiting for a worker")).to_be_visible()
    running.run(Operation.objects.get().pk)
    expect(page.locator("#operation")).to_contain_text("objects copied from first")
    page.get_by_role("link", name="Cluster first-copy").click()
    expect(page.locator("#overview")).to_contain_text("136 cores")
    assert seen.problems == []


def test_the_page_of_clusters_shows_changes_of_other_users(seen: Seen) -> None:
    page = seen.page
    seen.log_in("admin", "open sesame")
    expect(page.locator("#live")).to_have_text("live")
    create_cluster("another", user="somebody", nodes=7)
    expect(page.locator("#card-another")).to_contain_text("7")
    assert seen.problems == []


def test_the_heat_map_has_keyboard_navigation_and_follows_the_nodes(
    seen: Seen, lab: Cluster
) -> None:
    page = seen.page
    seen.log_in("admin", "open sesame")
    seen.open("/clusters/lab")
    heat = page.locator("#heat")
    expect(heat).to_have_attribute("data-drawn", "2")
    page.locator("#heat canvas").focus()
    expect(heat.get_by_role("status")).to_have_text("node-0: cpu 37 %")
    page.keyboard.press("ArrowRight")
    expect(heat.get_by_role("status")).to_have_text("node-1: cpu 37 %")
    page.keyboard.press("Enter")
    page.wait_for_url("**/nodes/node-1")

    seen.open("/clusters/lab")
    expect(heat).to_have_attribute("data-drawn", "2")
    body = Node.objects.get(cluster=lab, name="node-0").body
    metadata = {"name": "node-9", "labels": body["metadata"]["labels"]}
    another = {"metadata": metadata, "status": body["status"]}
    store.create(lab, kinds.NODE, another, actor=ACTOR)
    expect(heat).to_have_attribute("data-drawn", "3")
    page.locator("#drawn select[name=resource]").select_option("memory")
    page.wait_for_url("**resource=memory*")
    assert seen.problems == []


def test_a_node_is_cordoned_tainted_and_set_not_ready_and_all_is_undone(
    seen: Seen, lab: Cluster
) -> None:
    page = seen.page
    seen.log_in("admin", "open sesame")
    seen.open("/clusters/lab/nodes/node-0")
    facts = page.locator("#node .facts")
    page.get_by_role("button", name="Cordon", exact=True).click()
    expect(facts).to_contain_text("cordoned")
    page.get_by_role("button", name="Undo").click()
    expect(facts).not_to_contain_text("cordoned")
    page.get_by_label("New taint").fill("dedicated=db:NoSchedule")
    page.get_by_role("button", name="Taint", exact=True).click()
    page.get_by_role("button", name="Remove dedicated=db:NoSchedule").click()
    expect(page.get_by_text("No taints.")).to_be_visible()
    page.get_by_role("button", name="Set NotReady").click()
    expect(facts).to_contain_text("not ready")
    page.get_by_role("button", name="Set Ready").click()
    expect(facts).not_to_contain_text("not ready")
    assert seen.problems == []


def test_selected_nodes_stay_selected_while_the_list_is_refreshed(seen: Seen, lab: Cluster) -> None:
    page = seen.page
    seen.log_in("admin", "open sesame")
    seen.open("/clusters/lab/nodes")
    expect(page.locator("#live")).to_have_text("live")
    page.get_by_label("Select node-1").check()
    with page.expect_response(lambda response: response.url.endswith("/nodes")):
        store.patch(lab, kinds.NODE, "", "node-0", _cordoned, actor=ACTOR)
    expect(page.locator("#nodes")).to_contain_text("cordoned")
    expect(page.get_by_label("Select node-1")).to_be_checked()
    expect(page.get_by_text("1 selected")).to_be_visible()
    page.get_by_role("button", name="Delete…").click()
    expect(page.get_by_role("heading", name="Delete 1 node?")).to_be_visible()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_text("Node node-1 deleted.")).to_be_visible()
    assert seen.problems == []


def test_a_drain_is_previewed_and_followed(seen: Seen, lab: Cluster) -> None:
    page = seen.page
    seen.log_in("admin", "open sesame")
    seen.open("/clusters/lab/nodes/node-0")
    page.get_by_role("link", name="Drain…").click()
    landing = page.locator("#landings tbody tr").first
    expect(landing).to_contain_text("ReplicaSet web")
    expect(landing.get_by_role("link", name="node-1")).to_be_visible()
    page.get_by_label("Timeout").fill("1")
    page.get_by_role("button", name="Drain node-0").click()
    expect(page.get_by_text("waiting for a worker")).to_be_visible()
    page.reload()
    # no kubelet runs here, so the pod does not end
    running.run(Operation.objects.get().pk)
    expect(page.locator("#operation")).to_contain_text("timed out with 1 pod remaining")
    seen.open("/clusters/lab/nodes/node-0")
    expect(page.locator("#node .facts")).to_contain_text("cordoned")
    assert seen.problems == []


def test_a_manual_clock_is_advanced_and_an_operation_is_cancelled(seen: Seen, lab: Cluster) -> None:
    page = seen.page
    seen.log_in("admin", "open sesame")
    seen.open("/clusters/lab")
    page.get_by_role("button", name="Set manually").click()
    before = Cluster.objects.get(pk=lab.pk).manual_time
    page.get_by_label("Advance the clock by").fill("5m")
    page.get_by_role("button", name="Advance").click()
    expect(page.get_by_text("Clock advanced by 300 s")).to_be_visible()
    after = Cluster.objects.get(pk=lab.pk).manual_time
    assert before is not None and after is not None and (after - before).total_seconds() == 300
    page.get_by_text("More", exact=True).click()
    page.get_by_role("button", name="Export as YAML").click()
    page.get_by_role("button", name="Cancel Export").click()
    expect(page.locator("#operation")).to_contain_text("cancelled before it started")
    assert seen.problems == []


def _cordoned(body: Any) -> Any:
    return {**body, "spec": {**(body.get("spec") or {}), "unschedulable": True}}
