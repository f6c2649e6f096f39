"""One story of the layout: narrow windows, folded filters, and the columns that a user shows."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from apps.cluster.models import Cluster
from apps.cluster.roles import Role
from apps.people import accounts, members
from tests.browser.conftest import Seen
from tests.dashboard.conftest import create_lab

pytestmark = pytest.mark.browser

NARROW = {"width": 390, "height": 800}
#: The least height of buttons and fields for a finger, in CSS pixels.
TOUCH = 44


def test_the_layout_follows_the_window_and_the_user(seen: Seen) -> None:
    create_lab()
    seen.open("/login")
    seen.log_in("admin", "open sesame")
    page = seen.page
    _hide_columns(seen, page)
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    _fold_filters(seen, page)
    _read_difference(seen, page)
    _scroll_table(seen, page)
    _sort_list(seen, page)
    seen.open("/clusters/lab")
    attention = page.locator("#attention")
    expect(attention).to_contain_text("rejected by")
    attention.get_by_role("link", name="unschedulable").click()
    expect(page).to_have_url(re.compile("queue=unschedulable"))
    _read_as_viewer(seen, page)
    # a completion that is aborted by leaving the page is no error
    assert not [said for said in seen.problems if not said.startswith("htmx:")]


def _hide_columns(seen: Seen, page: Page) -> None:
    seen.open("/clusters/lab/nodes/gpu-1")
    taint = page.get_by_role("button", name="Taint", exact=True).bounding_box()
    assert taint and taint["height"] < TOUCH, "its word is broken"
    seen.open("/clusters/lab/decisions")
    took = page.get_by_role("columnheader", name="Took")
    expect(took).to_be_visible()
    # no pod was evicted, so the column of victims would be empty
    expect(page.get_by_role("columnheader", name="Victims")).to_be_hidden()
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("Took").uncheck()
    expect(took).to_be_hidden()
    page.reload()
    expect(page.get_by_role("columnheader", name="Score")).to_be_visible()
    expect(took).to_be_hidden()
    expect(page.get_by_label("Main reason", exact=True)).to_be_hidden()
    page.get_by_role("button", name="More filters").click()
    expect(page.get_by_label("Main reason", exact=True)).to_be_visible()


def _fold_filters(seen: Seen, page: Page) -> None:
    seen.open("/clusters/lab/decisions?result=unschedulable")
    expect(page.locator("td time").first).to_be_visible()
    current = page.locator(".sections [aria-current]")
    expect(current).to_be_in_viewport(ratio=1)
    button = page.get_by_role("button", name="Filters")
    expect(button).to_have_accessible_name("Filters 1")
    pod = page.get_by_label("Pod", exact=True)
    expect(pod).to_be_hidden()
    button.click()
    pod.fill("hu*")
    expect(button).to_have_accessible_name("Filters 2")
    expect(page).to_have_url(re.compile("pod=hu"))
    for target in (button, pod, page.locator("select[name=result]")):
        box = target.bounding_box()
        assert box and box["height"] >= TOUCH
    button.click()
    expect(pod).to_be_hidden()


def _read_difference(seen: Seen, page: Page) -> None:
    """One column: the old line is above the new one."""
    seen.open("/clusters/lab/changes?kind=Pod&verb=MODIFIED")
    page.locator("#changes td.num a").first.click()
    changed = page.locator(".diff tr.changed").first
    old, new = (changed.locator(f".text.{side}").bounding_box() for side in ("old", "new"))
    assert old and new and old["x"] == new["x"] and old["y"] < new["y"]


def _scroll_table(seen: Seen, page: Page) -> None:
    """The name of a row stays in sight while the table is scrolled."""
    seen.open("/clusters/lab/nodes")
    page.locator("#nodes .scroll").evaluate("table => { table.scrollLeft = 400; }")
    expect(page.get_by_role("link", name="gpu-1")).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("button", name="Cordon", exact=True)).to_be_hidden()
    page.get_by_label("Select gpu-1").check()
    expect(page.get_by_role("button", name="Cordon", exact=True)).to_be_visible()


def _sort_list(seen: Seen, page: Page) -> None:
    """A list is paragraphs on a phone: nothing is beyond the window, and it can be sorted."""
    seen.open("/clusters/lab/pods")
    rows = page.locator("#pods tbody tr")
    expect(rows.first.locator("[data-label=memory]")).to_be_in_viewport(ratio=1)
    page.locator("#pods thead").get_by_role("link", name="CPU").click()
    expect(page).to_have_url(re.compile("sort=-cpu"))
    expect(rows.first).to_contain_text("huge")


def _read_as_viewer(seen: Seen, page: Page) -> None:
    """Viewers see the rows of all lists, without what selects and changes them."""
    accounts.create_user("reader", "only reading", site_admin=False)
    lab = Cluster.objects.get(name="lab")
    members.add_member(lab, user="reader", role=Role.VIEWER, actor="admin")
    page.context.clear_cookies()
    page.set_viewport_size({"width": 1280, "height": 900})
    seen.log_in("reader", "only reading")
    for path, name in (("nodes", "gpu-1"), ("pods", "web-1")):
        seen.open(f"/clusters/lab/{path}")
        expect(page.get_by_role("rowheader", name=name)).to_be_visible()
        expect(page.get_by_label(f"Select {name}")).to_be_hidden()
        row = page.get_by_role("row", name=name)
        first, second = (row.locator(cell).first.bounding_box() for cell in ("th", "td:visible"))
        assert first and second and first["x"] + first["width"] <= second["x"] + 1
        expect(page.get_by_role("button", name="Delete…")).to_have_count(0)
    seen.open("/clusters/lab/nodes/gpu-1")
    expect(page.get_by_role("heading", name="Conditions")).to_be_visible()
    expect(page.get_by_role("button", name="Set NotReady")).to_have_count(0)
