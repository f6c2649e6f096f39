"""Tables and long forms in a browser: what is in sight, on one line, and in one piece."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store
from apps.engine.loop.engines import Engines
from tests.browser.conftest import Seen
from tests.dashboard.conftest import pod

pytestmark = pytest.mark.browser

#: The length of the name of a pod of a Deployment with a long name.
LONG = "recommendations-service-767d5ng55c-kngtx"
#: Links in cells, of which the text is on several lines although it would fit on one.
WRAPPED = """() => [...document.querySelectorAll("main .data tbody a")]
  .filter(link => link.checkVisibility() && link.getClientRects().length > 1
    || link.getBoundingClientRect().height > 30)
  .map(link => link.textContent.trim())"""


@pytest.fixture
def lab(transactional_db: None) -> Cluster:
    """Pods with long names that are bound, and 30 alike that fit nowhere."""
    cluster = create_cluster("lab", user="admin", nodes=4, zones=2)
    bodies = [pod(LONG), pod("web-0"), *(pod(f"train-{number}", cpu="64") for number in range(30))]
    store.write(cluster, [Create(kinds.POD, body, "default") for body in bodies], actor=Actor("a"))
    Engines().run(cluster.pk)
    return cluster


@pytest.fixture
def page(seen: Seen, lab: Cluster) -> Page:
    seen.log_in("admin", "open sesame")
    seen.page.wait_for_url(f"{seen.address}/")
    return seen.page


def test_names_stand_on_one_line_and_reasons_begin_with_what_differs(
    seen: Seen, page: Page
) -> None:
    for path in ("pods", "decisions", "events", "queue", "changes"):
        seen.open(f"/clusters/lab/{path}")
        assert page.evaluate(WRAPPED) == [], path
        assert page.get_by_text("nodes are available").count() == 0, path
    # the pods that fit nowhere share a row, and unfold to links
    seen.open("/clusters/lab/queue")
    row = page.get_by_role("row").filter(has_text="30 pods of train")
    expect(row).to_have_count(1)
    end = row.get_by_role("link", name="train-7", exact=True)
    expect(end).to_be_hidden()
    row.get_by_text("30 pods of train").click()
    expect(end).to_be_visible()
    row.get_by_role("button", name="Activate 30 pods of train").click()
    expect(page.get_by_text("30 pods will be retried now.")).to_be_visible()


def test_what_can_be_done_with_a_list_is_above_it_and_on_one_line(seen: Seen, page: Page) -> None:
    seen.open("/clusters/lab/decisions")
    table = page.locator("#decisions table")
    for name in ("CSV", "Save as view"):
        link = page.locator("#decisions").get_by_role("link", name=name, exact=True)
        assert top(link) < top(table), name
    for path in ("pods", "nodes"):
        seen.open(f"/clusters/lab/{path}")
        page.locator("[data-choose] tbody input").first.check()
        buttons = page.locator(".bulk button:visible").all()
        assert len({round(top(each)) for each in buttons}) == 1, path
    # a short page ends with its footer at the foot of the window
    seen.open("/operations")
    foot = page.locator(".zone").bounding_box()
    assert foot is not None and foot["y"] + foot["height"] == pytest.approx(900, abs=2)


def test_every_text_filter_says_whether_it_takes_a_part_or_the_whole(
    seen: Seen, page: Page
) -> None:
    silent = """() => [...document.querySelectorAll("form.filters input:not([type=hidden])")]
      .filter(input => ["search", "text"].includes(input.type) && !input.placeholder.trim())
      .map(input => input.name)"""
    for path in ("pods", "nodes", "queue", "queue/history", "decisions", "events", "changes"):
        seen.open(f"/clusters/lab/{path}")
        assert page.evaluate(silent) == [], path
    seen.open("/audit")
    assert page.evaluate(silent) == []
    seen.open("/clusters/lab/decisions?pod=*commendations*")
    assert page.locator("#decisions tbody tr").count() == 1


def test_the_buttons_of_long_forms_stay_in_sight(seen: Seen, page: Page) -> None:
    seen.open("/clusters/lab/new-profile")
    for name in ("Save and activate", "Save as draft"):
        expect(page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    seen.open("/clusters/lab/pods?q=train")
    page.get_by_label("Select all on this page").check()
    page.get_by_role("button", name="Delete…").click()
    expect(page.get_by_role("heading", name=re.compile("Delete 30 pods"))).to_be_visible()
    expect(page.get_by_text("30 pods of train")).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 500})
    expect(page.get_by_role("button", name="Delete")).to_be_in_viewport(ratio=1)
    seen.open("/clusters/lab/lab?ask=simulate&pending=on")
    assert top(page.get_by_label("Question", exact=True)) < top(
        page.get_by_text("Answered from the state")
    )


def test_a_request_that_another_one_replaces_is_no_error(seen: Seen, page: Page) -> None:
    seen.open("/clusters/lab/pods")
    page.route("**/pods?q=*", _hold)
    field = page.get_by_role("searchbox", name="Name")
    field.press_sequentially("web", delay=250)
    page.unroute("**/pods?q=*")
    field.press_sequentially("-0", delay=250)
    expect(page.locator("#pods tbody tr")).to_have_count(1)
    page.go_back()
    page.wait_for_load_state()
    assert seen.problems == []


def test_a_failed_sign_in_asks_for_the_password_again(seen: Seen, lab: Cluster) -> None:
    seen.log_in("admin", "open barley")
    expect(seen.page.get_by_text("Name and password do not match.")).to_be_visible()
    expect(seen.page.get_by_label("Name")).to_have_value("admin")
    expect(seen.page.get_by_label("Password")).to_be_focused()


def test_the_end_of_the_slider_of_the_past_is_now(seen: Seen, page: Page, lab: Cluster) -> None:
    seen.open("/clusters/lab/past")
    slider, banner = page.get_by_role("slider"), page.locator("#past-banner")
    slider.press("ArrowLeft")
    expect(banner).not_to_contain_text("This is the present state.")
    assert "version=" in page.url
    store.write(lab, [Create(kinds.POD, pod("late"), "default")], actor=Actor("a"))
    lab.refresh_from_db()
    slider.press("End")
    expect(banner).to_contain_text(f"version {lab.resource_version:,}. This is the present state.")
    assert "version=" not in page.url


def test_on_a_phone_the_buttons_of_a_page_take_one_line(seen: Seen, page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    for path in ("queue", "new-profile", "pods/default/train-0"):
        seen.open(f"/clusters/lab/{path}")
        buttons = page.locator("main > .head > .actions > *:visible").all()
        assert len({round(top(each)) for each in buttons}) <= 1, path
    seen.open("/clusters/lab/queue")
    # a row is a paragraph here, too, and unfolds
    row = page.get_by_role("row").filter(has_text="30 pods of train")
    row.get_by_text("30 pods of train").click()
    expect(row.get_by_role("link", name="train-7", exact=True)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def _hold(route: Route) -> None:
    """Never answer."""


def top(element: Locator) -> float:
    box = element.bounding_box()
    assert box is not None
    return float(box["y"])
