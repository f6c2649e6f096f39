"""Charts by pointer, keyboard and table; nodes selected in the heat map."""

from __future__ import annotations

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.models import Cluster, Node
from apps.cluster.node_changes import change_nodes, cordon
from apps.cluster.writes import Actor
from apps.engine.loop import clock
from apps.engine.loop.engines import Engines
from apps.engine.series import sampling
from tests.browser.conftest import Seen
from tests.engine.driving import create_pods, pod

pytestmark = pytest.mark.browser


@pytest.fixture
def lab(seen: Seen) -> Cluster:
    """Four nodes; in each of four minutes two more pods are bound."""
    cluster = create_cluster("lab", user="admin", nodes=4, tie_break="first-name")
    clock.set_manual(cluster)
    for minute in range(4):
        create_pods(cluster, *(pod(f"web-{minute}-{number}", cpu="2") for number in range(2)))
        Engines().run(cluster.pk)
        clock.advance(cluster, 60)
    sampling.sample_all()
    return cluster


#: Keeps the texts that are drawn on canvases.
_DRAWN = """
window.drawn = [];
const fill = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
  window.drawn.push(text);
  return fill.call(this, text, ...rest);
};
"""


def test_charts_are_read_by_pointer_keyboard_and_table(seen: Seen, lab: Cluster) -> None:
    page = seen.page
    seen.log_in("admin", "open sesame")
    seen.open("/clusters/lab/charts")
    page.get_by_role("link", name="15 min").click()
    place = page.locator("#charts")
    expect(place).to_have_attribute("data-drawn", re.compile("^10 "))
    pods = page.locator("#chart-pods")
    plot = pods.get_by_role("slider")
    plot.focus()
    expect(plot).to_have_attribute("aria-valuetext", re.compile("bound 8"))
    page.keyboard.press("PageUp")
    expect(plot).to_have_attribute("aria-valuetext", re.compile("bound 6"))
    expect(pods.locator(".tip")).to_contain_text("bound 6")
    written = re.compile(r"^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d \S+$")
    expect(pods.locator(".tip b")).to_have_text(written)
    page.keyboard.press("Home")
    expect(plot).to_have_attribute("aria-valuetext", re.compile("bound unknown"))

    page.keyboard.press("End")
    page.keyboard.press("+")
    page.wait_for_url("**until=*")
    expect(page.locator("#zoomed")).to_be_visible()
    expect(page.get_by_role("link", name="15 min")).not_to_have_attribute("aria-current", "true")
    page.go_back()
    expect(page.locator("#zoomed")).to_be_hidden()
    _drag_over(page, plot.bounding_box(), from_share=0.5, to_share=0.9)
    page.wait_for_url("**until=*")
    page.get_by_role("button", name="Reset zoom").click()
    expect(page.locator("#zoomed")).to_be_hidden()

    page.get_by_role("link", name="15 min").click()
    page.mouse.move(0, 0)
    page.locator("#chart-queue .plot").hover()
    expect(page.locator("#chart-queue .tip")).to_contain_text("activeQ")
    line = pods.get_by_role("button", name="gated")
    line.click()
    expect(line).to_have_attribute("aria-pressed", "false")
    pods.get_by_text("Table").click()
    expect(pods.locator("tbody tr").first).to_contain_text("8")
    assert not [v for v in Axe().run(page).response["violations"] if v["impact"] == "serious"]
    looks = page.locator("button.line", has_text="unschedulable").locator("svg")
    assert len({each.get_attribute("class") for each in looks.all()[:2]}) == 1

    page.get_by_role("link", name="6 h").click()
    expect(place).to_have_attribute("data-drawn", re.compile("^60 "))
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_url("**until=*")
    page.get_by_role("button", name="Earlier").click()
    page.get_by_role("button", name="Reset zoom").click()
    expect(page.get_by_role("link", name="6 h")).to_have_attribute("aria-current", "true")
    page.get_by_text("Another span").click()
    page.get_by_label("From", exact=True).fill("soon")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator("#charts-failed")).to_contain_text("'soon' is not a time")
    expect(page.get_by_label("From", exact=True)).to_have_value("soon")
    seen.problems.clear()
    page.get_by_label("From", exact=True).fill("2h")
    page.get_by_role("button", name="Show", exact=True).click()
    page.wait_for_url("**since=2h*")

    page.context.add_cookies(
        [{"name": "schedweb-zone", "value": "Asia%2FKolkata", "url": seen.address}]
    )
    page.add_init_script(_DRAWN)
    seen.open("/clusters/lab/charts?since=6h")
    expect(place).to_have_attribute("data-drawn", re.compile("^60 "))
    times = [text for text in page.evaluate("window.drawn") if re.fullmatch(r"\d\d:\d\d", text)]
    assert times and all(text.endswith(":00") for text in times), "hours of the viewer"

    page.locator("select[name=of]").select_option("profile/default-scheduler")
    page.wait_for_url("**of=profile*")
    expect(page.locator("#chart-binds h2")).to_have_text("Binds")
    expect(page.locator("#chart-waiting .nothing")).to_be_hidden()
    seen.open("/clusters/lab/charts?of=namespace/kube-system&since=15m")
    expect(page.locator("#chart-waiting")).to_contain_text("Nothing in this span")
    expect(page.locator("#chart-pods .nothing")).to_be_hidden()
    seen.open("/clusters/lab/charts?of=node/node-0&since=15m")
    plot = page.locator("#chart-use").get_by_role("slider")
    expect(plot).to_have_attribute("aria-valuetext", re.compile(r"cpu \d+ %"))
    assert seen.problems == []


def test_notes_scales_and_selected_spans_lead_to_what_happened(seen: Seen) -> None:
    lab = create_cluster("lab", user="admin", nodes=3, tie_break="first-name")
    create_pods(
        lab, *(pod(f"web-{number}", cpu="10m") for number in range(120)), pod("big", cpu="99")
    )
    Engines().run(lab.pk)
    change_nodes(lab, ["node-2"], cordon(True), actor=Actor("alice"))
    sampling.sample_all()
    page = seen.page
    seen.log_in("admin", "open sesame")
    seen.open("/clusters/lab/charts?since=15m")
    pods = page.locator("#chart-pods")

    # what happened is a list with links, and a note in every chart
    notes = page.locator("#charts-notes")
    expect(notes.get_by_role("listitem")).to_have_count(2)
    expect(notes).to_contain_text("alice: node-2 cordoned")
    plot = pods.get_by_role("slider")
    plot.focus()
    page.keyboard.press("End")
    expect(plot).to_have_attribute("aria-valuetext", re.compile("bound 120"))
    expect(plot).to_have_attribute("aria-valuetext", re.compile("alice: node-2 cordoned"))
    # the other charts show their values at the same time
    expect(page.locator("#chart-nodes .line", has_text="cordoned").locator(".figure")).to_have_text(
        "1"
    )

    # one pod of 121 is visible
    scale = pods.get_by_role("button", name="Logarithmic")
    expect(scale).to_have_attribute("aria-pressed", "true")
    scale.click()
    expect(scale).to_have_attribute("aria-pressed", "false")
    expect(page.locator("#chart-nodes").get_by_role("button", name="Logarithmic")).to_be_hidden()

    # a span is selected by keyboard, and the other pages are about it
    plot.focus()
    page.keyboard.press("End")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Shift+PageUp")
    expect(plot).to_have_attribute("aria-valuetext", re.compile("Selected .* Enter zooms in"))
    page.keyboard.press("Enter")
    page.wait_for_url("**until=*")
    page.locator("#charts-others").get_by_role("link", name="decisions").click()
    page.wait_for_url("**/decisions?since=*until=*")
    expect(page.locator("#period-decisions")).to_contain_text("From")
    seen.open("/clusters/lab/charts?since=15m")
    notes.get_by_role("link", name="node-2 cordoned").click()
    expect(page.locator(".lead")).to_contain_text("node-2")
    assert seen.problems == []


def test_nodes_are_selected_in_the_heat_map_and_cordoned(seen: Seen, lab: Cluster) -> None:
    page = seen.page
    seen.log_in("admin", "open sesame")
    seen.open("/clusters/lab")
    heat = page.locator("#heat")
    expect(heat).to_have_attribute("data-drawn", "4")
    heat.locator("canvas").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Shift+ArrowRight")
    expect(heat).to_contain_text("2 nodes selected")
    expect(heat.get_by_role("status")).to_have_text("node-1: cpu 50 %, selected")
    page.keyboard.press("Escape")
    expect(heat.get_by_role("button", name="Cordon these")).to_be_hidden()
    box = heat.locator("canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 2, box["y"] + 22)
    page.mouse.down()
    page.mouse.move(box["x"] + 150, box["y"] + 40, steps=4)
    page.mouse.up()
    expect(heat).to_contain_text("3 nodes selected")
    assert heat.locator("input[type=hidden]").count() < 5, "any number of nodes is one field"
    text = heat.get_by_role("textbox")
    text.fill("not a label")
    page.keyboard.press("Enter")
    expect(heat.get_by_role("button", name="Label")).to_be_focused()
    page.keyboard.press("Enter")
    expect(heat.get_by_role("alert")).to_contain_text("Label:")
    expect(heat).to_contain_text("3 nodes selected")
    expect(text).to_have_value("not a label")
    text.fill("pool=blue")
    heat.get_by_role("button", name="Label").click()
    expect(page.locator("#notices")).to_contain_text("3 nodes")
    assert Node.objects.filter(labels__pool="blue").count() == 3
    expect(heat).to_have_attribute("data-drawn", "4")
    heat.locator("canvas").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    heat.get_by_role("button", name="Cordon these").click()
    expect(page.locator("#notices")).to_contain_text("3 nodes cordoned")
    assert list(
        Node.objects.filter(unschedulable=True).order_by("name").values_list("name", flat=True)
    ) == ["node-0", "node-1", "node-2"]
    expect(heat).to_have_attribute("data-drawn", "4")
    heat.locator("canvas").focus()
    page.keyboard.press("Space")
    heat.get_by_role("button", name="Drain").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Drain")
    assert seen.problems == []


def _drag_over(page: Page, box: object, *, from_share: float, to_share: float) -> None:
    assert isinstance(box, dict)
    left, width, middle = box["x"] + 68, box["width"] - 68, box["y"] + 60
    page.mouse.move(left + width * from_share, middle)
    page.mouse.down()
    page.mouse.move(left + width * to_share, middle, steps=5)
    page.mouse.up()
