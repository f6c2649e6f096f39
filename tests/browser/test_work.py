"""A day's work: the tour, keys, actions on many nodes, files, signs of work, notifications."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from apps.administration.clusters.lifecycle import create_cluster
from apps.administration.operations import running
from apps.cluster import kinds
from apps.cluster.models import Cluster, Node
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.engine.models import Operation
from tests.browser.conftest import Seen
from tests.dashboard.conftest import create_lab

pytestmark = pytest.mark.browser

#: A request takes this long, which is longer than the time after which a sign is shown.
SLOW_MS = 1200


@pytest.fixture
def lab(seen: Seen) -> Cluster:
    return create_cluster("lab", user="admin", nodes=230, zones=2)


def slow(page: Page, pattern: str) -> None:
    """Delay the responses to these requests."""

    def wait(route: Route) -> None:
        page.wait_for_timeout(SLOW_MS)
        route.continue_()

    page.route(pattern, wait)


#: A browser that allows notifications when it is asked, with a page that can be put out of sight.
_NOTIFICATIONS = """
window.Notification = class extends EventTarget {
  static permission = "default";
  static async requestPermission() { return (Notification.permission = "granted"); }
  constructor(title) { super(); document.body.dataset.noticed = title; }
};
const isAway = () => document.body?.dataset.away === "yes";
Object.defineProperty(document, "hidden", { get: isAway });
"""


def test_a_first_visit_starts_with_a_tour_and_keys_move_between_pages(
    seen: Seen, lab: Cluster, chromium: Browser
) -> None:
    window = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = window.new_page()
    page.set_default_timeout(10_000)
    new = Seen(page, seen.address)
    new.log_in("admin", "open sesame")
    tour = page.get_by_role("region", name="Tour")
    expect(tour).to_contain_text("1 of 4")
    tour.get_by_role("button", name="Next").click()
    expect(tour.get_by_role("heading", name="Queue and pods")).to_be_visible()
    page.get_by_role("link", name="lab", exact=True).click()
    expect(tour).to_contain_text("2 of 4")
    expect(page.locator(".sections .pointed")).to_have_text("Queue")
    page.set_viewport_size({"width": 390, "height": 800})
    page.mouse.wheel(0, 10_000)
    last = page.get_by_role("button", name="Show full times")
    page.wait_for_function("scrollY + innerHeight >= document.documentElement.scrollHeight - 1")
    assert last.bounding_box()["y"] < tour.bounding_box()["y"], "the tour covers the end"
    page.set_viewport_size({"width": 1280, "height": 900})
    tour.get_by_role("button", name="Skip the tour").click()
    page.reload()
    expect(page.get_by_role("heading", name="lab", exact=True)).to_be_visible()
    expect(tour).to_have_count(0)

    # who does not use the tour meets it in one cluster, and then no more
    page.evaluate("localStorage.clear()")
    new.open("/")
    expect(tour).to_contain_text("1 of 4")
    new.open("/clusters/lab")
    expect(tour).to_contain_text("2 of 4")
    new.open("/clusters/lab/pods")
    expect(tour).to_contain_text("2 of 4")
    new.open("/clusters/lab")
    expect(tour).to_have_count(0)
    new.open("/")
    expect(tour).to_have_count(0)
    new.open("/clusters/lab")

    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("n")
    page.wait_for_url(f"{seen.address}/clusters/lab/nodes")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="node-001")).to_be_focused()
    page.keyboard.press("x")
    expect(page.get_by_label("Select node-001")).to_be_checked()
    page.keyboard.press("f")
    page.keyboard.type("g?p")
    expect(page.get_by_label("Name", exact=True)).to_have_value("g?p")
    # keys of one character can be switched off; the help remains in the menu
    new.open("/account#preferences")
    page.get_by_label("Keyboard shortcuts").select_option("off")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#notices")).to_contain_text("Preferences saved")
    for key in "/?gn":
        page.keyboard.press(key)
    expect(page.get_by_role("heading", name="Keyboard shortcuts")).to_be_hidden()
    expect(page.locator("#search")).not_to_be_focused()
    page.get_by_role("link", name="Help", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text("They are off in this browser.")
    page.keyboard.press("Escape")
    assert "/account" in page.url
    page.locator("details.account summary").click()
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("details.account summary")).to_be_visible()
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert sum(map(int, re.findall(r"\d+", background)[:3])) < 150
    window.close()


def test_all_nodes_that_match_are_labeled_and_a_mistake_keeps_the_selection(
    seen: Seen, lab: Cluster, tmp_path: Path
) -> None:
    page = seen.page
    seen.log_in("admin", "open sesame")
    page.wait_for_url(f"{seen.address}/")
    seen.open("/clusters/lab/nodes")
    page.get_by_label("Select node-003").check()
    page.get_by_label("Select node-005").check()
    text = page.get_by_label("A taint as key=value:Effect")
    text.fill("no label")
    page.get_by_role("button", name="Label", exact=True).click()
    problem = page.get_by_role("alert")
    expect(problem).to_contain_text("neither key=value nor key-")
    expect(text).to_have_value("no label")
    expect(text).to_be_focused()
    expect(page.get_by_text("2 selected")).to_be_visible()
    # an update of the live region keeps the selection, the text and the error
    store.patch(lab, kinds.NODE, "", "node-000", _cordon, actor=Actor("bob"))
    expect(page.locator("tr", has_text="node-000")).to_contain_text("cordoned")
    expect(problem).to_contain_text("neither key=value nor key-")
    expect(text).to_have_value("no label")
    expect(page.get_by_label("Select node-005")).to_be_checked()
    text.fill("disk=ssd")
    expect(problem).to_be_hidden()

    page.get_by_label("all 230 that match").check()
    expect(page.get_by_text("230 selected")).to_be_visible()
    page.get_by_role("button", name="Label", exact=True).click()
    expect(page.get_by_role("heading", name="Label 230 nodes: disk=ssd")).to_be_visible()
    operation = Operation.objects.get()
    # a tab that nobody sees does not take the notice away
    seen.open("/clusters/lab/pods")
    away = page.context.new_page()
    away.add_init_script("Object.defineProperty(document, 'hidden', { get: () => true })")
    away.goto(f"{seen.address}/clusters/lab/nodes")
    running.run(operation.pk)
    toast = page.locator("#toasts .toast")
    expect(toast).to_contain_text("Label 230 nodes: disk=ssd finished. 230 nodes labeled")
    assert away.locator("#toasts .toast").count() == 0
    away.close()
    toast.get_by_role("link").click()
    page.wait_for_url(f"{seen.address}/operations/{operation.pk}")
    assert Node.objects.filter(cluster=lab, labels__disk="ssd").count() == 230

    # the browser announces the end of what is shown by a page that is not in sight
    page.add_init_script(_NOTIFICATIONS)
    seen.open("/clusters/lab/nodes")
    page.get_by_label("all 230 that match").check()
    page.get_by_label("A taint as key=value:Effect").fill("disk=hdd")
    page.get_by_role("button", name="Label", exact=True).click()
    page.get_by_role("button", name="Allow notifications of the browser").click()
    page.evaluate("document.body.dataset.away = 'yes'")
    running.run(Operation.objects.latest("pk").pk)
    expect(page.locator("body")).to_have_attribute(
        "data-noticed", "Label 230 nodes: disk=hdd finished"
    )
    expect(page.get_by_text("You can leave this page")).to_be_hidden()

    packed = tmp_path / "nodes.yaml.gz"
    packed.write_bytes(gzip.compress(b"kind: Node"))
    seen.open("/clusters/lab/new/nodes")
    page.locator("[data-fills=id_manifest]").set_input_files(packed)
    expect(page.get_by_text("nodes.yaml.gz is not text")).to_be_visible()
    seen.open("/clusters/lab/import")
    page.locator("[data-fills=id_manifest]").set_input_files(packed)
    expect(page.locator("#id_manifest")).to_have_value("")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(
        page.get_by_text("nodes.yaml.gz: document 1, line 1: apiVersion is required")
    ).to_be_visible()
    large = tmp_path / "large.yaml"
    node = "---\napiVersion: v1\nkind: Node\nmetadata: {name: big-%d}\n# %s\n"
    large.write_text("".join(node % (number, "x" * 200) for number in range(5_000)))
    page.locator("[data-fills=id_manifest]").set_input_files(large)
    expect(page.get_by_text("large.yaml is too large to be shown")).to_be_visible()
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.get_by_role("heading", name=re.compile(r"Import \S+ characters"))).to_be_visible()
    running.run(Operation.objects.latest("pk").pk)
    assert Node.objects.filter(cluster=lab, name__startswith="big-").count() == 5_000

    file = tmp_path / "node.yaml"
    file.write_text("apiVersion: v1\nkind: Node\nmetadata: {name: new}\nspek: {}\n")
    seen.open("/clusters/lab/import")
    page.locator("[data-fills=id_manifest]").set_input_files(file)
    area = page.locator("#id_manifest")
    expect(area).to_have_value(re.compile("kind: Node"))
    slow(page, "**/import")
    page.get_by_role("button", name="Copy as").click()
    expect(page.locator("#working")).to_be_visible()
    expect(page.get_by_role("button", name="Import", exact=True)).to_be_disabled()
    expect(page.locator("pre", has_text="kubectl create -f -")).to_contain_text("spek: {}")
    expect(page.locator("#working")).to_be_hidden()
    page.unroute("**/import")
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator(".problem")).to_contain_text("Line 4: spek: unknown field")
    expect(area).to_have_value(re.compile("spek"))
    assert [said for said in seen.problems if "status of 422" not in said] == []


def _cordon(body: dict[str, object]) -> dict[str, object]:
    return {**body, "spec": {"unschedulable": True}}


def test_the_palette_offers_what_the_page_has_and_where_to_go(seen: Seen, lab: Cluster) -> None:
    page = seen.page
    seen.log_in("admin", "open sesame")
    seen.open("/clusters/lab")
    expect(page.locator("#live")).to_have_text("live")
    found = page.get_by_role("listbox", name="Search results")
    page.keyboard.press("Control+k")
    expect(found.get_by_role("group", name="Do here")).to_contain_text("New pod")
    expect(found.get_by_role("option", selected=True)).to_have_text("New pod")
    # a button of the page, then a page, then a name
    page.keyboard.type("pau")
    expect(found.get_by_role("option", name="Pause")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("event")
    expect(found.get_by_role("option", name="Events")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    page.wait_for_url("**/clusters/lab/events")
    page.keyboard.press("/")
    page.keyboard.type("node-1")
    expect(found.get_by_role("option", selected=True)).to_contain_text("node-1")
    page.keyboard.press("Enter")
    page.wait_for_url("**/clusters/lab/nodes/node-1*")
    assert seen.problems == []


PASTED = """\
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "9"}, capacity: {cpu: "4", pods: "9"}}
---
apiVersion: v1
kind: Pod
metadata: {name: big}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "8"}}}]}
"""


def test_the_object_of_a_row_is_shown_beside_the_list(seen: Seen) -> None:
    page = seen.page
    create_lab()
    seen.log_in("admin", "open sesame")
    seen.open("/clusters/lab/pods?sort=-cpu")
    expect(page.locator("#live")).to_have_text("live")
    page.keyboard.press("j")
    page.keyboard.press("v")
    beside = page.locator("#beside")
    expect(beside.locator(".headline")).to_contain_text("It needs 100 cpu")
    # what the page of the pod loads later is loaded here, too
    expect(beside).to_contain_text("What is in the way")
    page.keyboard.press("j")
    expect(beside.locator("h1")).not_to_contain_text("huge")
    page.keyboard.press("k")
    expect(beside.locator("h1")).to_contain_text("huge")
    page.reload()
    expect(beside.locator("h1")).to_contain_text("huge")
    page.keyboard.press("Escape")
    expect(beside).to_have_count(0)
    assert page.url.endswith("/pods?sort=-cpu")
    # a click on a row and Enter on its link do the same; "back" closes, Ctrl opens the page
    page.locator("#pods tbody tr", has_text="huge").locator("td").last.click()
    expect(beside.locator("h1")).to_contain_text("huge")
    page.go_back()
    expect(beside).to_have_count(0)
    link = page.locator("#pods tbody tr", has_text="huge").locator("th a")
    link.press("Enter")
    expect(beside).to_be_focused()
    page.keyboard.press("Escape")
    expect(link).to_be_focused()
    with page.context.expect_page() as opened:
        link.click(modifiers=["Control"])
    opened.value.wait_for_url("**/pods/default/huge")
    opened.value.close()
    assert seen.problems == []


def test_a_pod_is_asked_about_other_nodes_on_the_board(seen: Seen) -> None:
    page = seen.page
    create_lab()
    seen.log_in("admin", "open sesame")
    seen.open("/clusters/lab/placement")
    answer = page.locator("#answer")
    chip = page.locator('[data-pod="default/huge"]')
    # with the mouse
    chip.drag_to(page.locator('[data-node="node-1"]'))
    expect(answer).to_contain_text("default/huge cannot run on node-1.")
    expect(answer).to_contain_text("NodeResourcesFit: needs cpu 100, free")
    # with the keyboard: pick, choose, leave, pick, drop
    chip.press("Enter")
    expect(answer).to_contain_text("default/huge could run on 0 of")
    spots = page.locator("[data-node]")
    page.keyboard.press("ArrowRight")
    expect(spots.nth(1)).to_be_focused()
    page.keyboard.press("Escape")
    expect(chip).to_be_focused()
    chip.press("Enter")
    page.keyboard.press("Enter")
    first = spots.first.get_attribute("data-node")
    expect(answer).to_contain_text(f"default/huge cannot run on {first}.")
    # the address has the question
    page.reload()
    expect(answer).to_contain_text(f"default/huge cannot run on {first}.")
    assert seen.problems == []


def test_a_real_cluster_is_pasted_asked_and_kept(seen: Seen) -> None:
    page = seen.page
    create_lab()
    seen.log_in("admin", "open sesame")
    seen.open("/")
    page.get_by_role("link", name="Paste your real cluster").click()
    page.get_by_role("textbox", name="Objects").fill(PASTED)
    page.get_by_role("button", name="Look at it").click()
    stuck = page.locator("#stuck tbody tr", has_text="big")
    expect(stuck).to_contain_text("never", timeout=60_000)
    expect(stuck).to_contain_text("NodeResourcesFit alone keeps it from 1 node")
    expect(page.locator("#saves")).to_contain_text("kube-scheduler's defaults")
    # nothing was stored; the text can be kept
    page.get_by_role("button", name="Keep as a cluster").click()
    expect(page.get_by_role("heading", name="New cluster")).to_be_visible()
    expect(page.locator("[name=manifest]")).to_have_value(PASTED)
    # the form of a new cluster says that its name is missing: 422
    assert [said for said in seen.problems if "422" not in said] == []
