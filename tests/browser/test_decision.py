"""A decision, the timeline of a pod, revisions and changes, as read after an incident."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from playwright.sync_api import expect

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster, Pod
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from apps.engine.profiles import revisions
from tests.browser.conftest import Seen

pytestmark = pytest.mark.browser

ADMIN = Actor("admin", "request-9")
NODES = 120


def pod(name: str, *, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "example/main:1", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [container], **spec},
    }


@pytest.fixture
def lab(seen: Seen) -> Cluster:
    """Many nodes; one is smaller than the others, and one has less free resources."""
    cluster = create_cluster("lab", user="admin", nodes=NODES, zones=3, tie_break="first-name")
    store.create(cluster, kinds.POD, pod("first", cpu="6"), actor=ADMIN)
    Engines().run(cluster.pk)
    store.create(cluster, kinds.POD, pod("second"), actor=ADMIN)
    Engines().run(cluster.pk)
    seen.log_in("admin", "open sesame")
    return cluster


def decision_of(name: str) -> str:
    row = SchedulingDecision.objects.filter(name=name).latest("pk")
    return f"/clusters/lab/decisions/{row.pk}"


def test_the_table_of_all_nodes_is_sorted_and_filtered_in_the_browser(
    seen: Seen, lab: Cluster
) -> None:
    page = seen.page
    seen.open(decision_of("second"))
    expect(page.locator("#funnel")).to_contain_text(f"{NODES} feasible".replace(" ", ""))
    table = page.locator("#scores table")
    expect(table).to_have_attribute("aria-rowcount", str(NODES + 1))
    expect(table.locator("tbody tr[aria-rowindex='2']")).to_contain_text("chosen")
    assert table.locator("tbody tr").count() < 80

    for loads_in_sight in ("What the scores were computed from", "Visiting order"):
        page.get_by_role("heading", name=loads_in_sight).scroll_into_view_if_needed()
    expect(page.locator("section[hx-trigger=revealed]")).to_have_count(0)
    asked: list[str] = []
    page.on("request", lambda request: "static" in request.url or asked.append(request.url))
    page.get_by_role("link", name="Total").click()
    page.get_by_role("link", name="Total").click()
    expect(table.locator("tbody tr[aria-rowindex='2']")).to_contain_text("node-000")
    assert "sort=total" in page.url
    page.locator("#scores").get_by_label("Node", exact=True).fill("node-11")
    expect(table).to_have_attribute("aria-rowcount", "11")
    page.locator("#scores").locator("[name=value]").select_option("raw")
    assert "q=node-11" in page.url and "value=raw" in page.url
    assert asked == []
    assert seen.problems == []

    seen.open(decision_of("second"))
    overview = page.get_by_role("slider")
    overview.focus()
    page.keyboard.press("End")
    assert overview.get_attribute("aria-valuenow") == str(NODES)
    assert "node-000 (120 of 120)" in (overview.get_attribute("aria-valuetext") or "")
    last = table.locator(f"tr[aria-rowindex='{NODES + 1}']")
    expect(last).to_contain_text("node-000")
    inside = "row => row.getBoundingClientRect().bottom <= "
    inside += "row.closest('.rows').getBoundingClientRect().bottom + 1"
    assert last.evaluate(inside)
    page.keyboard.press("ArrowLeft")
    assert overview.get_attribute("aria-valuenow") == str(NODES - 1)
    assert seen.problems == []


def test_without_scripts_the_scores_come_page_by_page(seen: Seen, lab: Cluster) -> None:
    browser = seen.page.context.browser
    assert browser is not None
    window = browser.new_context(
        java_script_enabled=False, storage_state=seen.page.context.storage_state()
    )
    page = window.new_page()
    page.goto(f"{seen.address}{decision_of('second')}")
    rows = page.locator("#scores tbody tr")
    expect(rows).to_have_count(25)
    page.locator("#scores").get_by_role("link", name="Last").click()
    expect(rows.last).to_contain_text("node-000")
    page.locator("#scores").get_by_label("Node", exact=True).fill("node-11")
    page.locator("#scores").get_by_role("button", name="Apply").click()
    expect(rows).to_have_count(10)
    window.close()


def test_scores_beyond_32_bits_are_shown_as_the_scheduler_computed_them(
    seen: Seen, lab: Cluster
) -> None:
    weight = "  plugins: {score: {enabled: [{name: NodeResourcesFit, weight: 50000000}]}}\n"
    revisions.add_revision(lab, revisions.BUILT_IN + weight, user="admin", note="heavy")
    store.create(lab, kinds.POD, pod("third"), actor=ADMIN)
    Engines().run(lab.pk)
    total = SchedulingDecision.objects.get(name="third").total_score
    assert total is not None and total > 2**31
    seen.open(decision_of("third"))
    first = seen.page.locator("#scores tr[aria-rowindex='2']")
    expect(first.locator("td.num").nth(1)).to_have_text(f"{total:,}")
    seen.page.get_by_role("link", name="Total").click()
    seen.page.get_by_role("link", name="Total").click()
    expect(first).to_contain_text("node-000")
    assert seen.problems == []


def test_after_an_incident_the_history_of_a_deleted_pod_is_found(seen: Seen, lab: Cluster) -> None:
    uid = Pod.objects.get(cluster=lab, name="first").uid
    options: dict[str, Any] = {"gracePeriodSeconds": 0}
    store.delete(lab, kinds.POD, "default", "first", actor=ADMIN, options=options)
    page = seen.page
    seen.open("/clusters/lab/changes")
    expect(page.locator("#changes tbody tr").first).to_contain_text("deleted")
    page.locator("#changes tbody tr").first.get_by_role("link", name="first").click()
    assert page.url.endswith(f"/stories/{uid}")
    story = page.locator("#story")
    for words in ("created", "attempt 1", "bound", "deleted"):
        expect(story.get_by_text(words, exact=True)).to_be_visible()
    story.get_by_role("link", name="attempt 1").click()
    expect(page.locator(".lead")).to_contain_text("(since deleted)")
    page.get_by_role("link", name="request-9").click()
    expect(page.locator("#changes")).to_contain_text("first")
    assert seen.problems == []


def test_an_error_in_yaml_is_marked_and_pods_are_selected_and_deleted(
    seen: Seen, lab: Cluster
) -> None:
    page = seen.page
    seen.open("/clusters/lab/new/pods")
    area = page.get_by_label("YAML")
    area.fill(area.input_value().replace("cpu: 500m", "cpu: -1"))
    page.get_by_role("button", name="Create").click()
    expect(page.locator(".gutter .wrong")).to_have_text("▸ 14")
    page.get_by_role("button", name="Line 14").click()
    chosen = "area => area.value.slice(area.selectionStart, area.selectionEnd)"
    assert "cpu: -1" in area.evaluate(chosen)
    area.fill(area.input_value().replace("cpu: -1", "cpu: 100m"))
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_text("Pod web created.")).to_be_visible()

    seen.open("/clusters/lab/pods")
    delete = page.get_by_role("button", name="Delete…")
    expect(delete).to_be_disabled()
    page.get_by_label("Select all on this page").focus()
    page.keyboard.press("Space")
    expect(page.get_by_text("3 selected")).to_be_visible()
    delete.click()
    expect(page.get_by_role("heading", name="Delete 3 pods?")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("3 pods deleted.")).to_be_visible()
    assert [said for said in seen.problems if "422" not in said] == []


def test_the_card_of_a_decision_is_shown_and_saved_as_a_picture(seen: Seen, lab: Cluster) -> None:
    page = seen.page
    seen.open(decision_of("second"))
    page.get_by_role("link", name="Card").click()
    picture = page.locator("#card-picture")
    expect(picture).to_have_js_property("complete", value=True)
    width, height = (
        picture.evaluate(f"each => each.natural{side}") for side in ("Width", "Height")
    )
    with page.expect_download() as saved:
        page.get_by_role("button", name="PNG").click()
    png = saved.value.path().read_bytes()
    assert png.startswith(b"\x89PNG") and saved.value.suggested_filename.endswith(".png")
    assert struct.unpack(">II", png[16:24]) == (2 * width, 2 * height)
    page.emulate_media(media="print")
    expect(picture).to_be_visible()
    expect(page.locator("#card-markdown")).to_be_hidden()
    assert seen.problems == []
