"""Searching by time in the zone of the browser, undoing a taint, reading a deleted cluster."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Browser, expect

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.models import Pod
from apps.engine.loop.engines import Engines
from tests.browser.conftest import Seen, watch_page
from tests.dashboard.conftest import add_pods, pod

pytestmark = pytest.mark.browser


def test_times_are_picked_an_undo_says_what_is_lost_and_history_outlives_its_cluster(
    chromium: Browser, site: str
) -> None:
    User.objects.create_superuser("admin", password="open sesame")
    lab = create_cluster("lab", user="admin", nodes=2, zones=2, tie_break="first-name")
    add_pods(lab, pod("web-0"), pod("web-1"))
    engines = Engines()
    engines.run(lab.pk)
    window = chromium.new_context(viewport={"width": 1280, "height": 900}, timezone_id="Asia/Tokyo")
    seen = watch_page(window, site)
    page = seen.page
    seen.log_in("admin", "open sesame")
    expect(page.locator("#zone")).to_contain_text("Times are in Asia/Tokyo (UTC+09:00).")

    # presets, typed limits and the picker all select by the times that the page shows
    seen.open("/clusters/lab/decisions")
    time = page.locator("details.period")
    time.locator("summary").click()
    time.get_by_role("link", name="Last hour", exact=True).click()
    page.wait_for_url("**since=1h*")
    expect(time.locator("summary")).to_have_text("Time: Last hour")
    expect(page.locator("#period-decisions")).to_contain_text("(1 h ago)")
    expect(page.locator("#decisions")).to_contain_text("web-1")
    # a period that was typed is shown as a whole
    seen.open("/clusters/lab/decisions?since=2026-01-01T09:00&until=2026-01-31T10:00:30")
    expect(time.locator("summary")).to_contain_text("2026-01-31T10:00:30")
    assert time.locator("summary").evaluate("found => found.scrollWidth <= found.clientWidth")
    seen.open("/clusters/lab/decisions?since=1h")
    time.locator("summary").click()
    time.get_by_label("Pick the end").fill("2026-01-31T12:00:00")
    expect(page.locator("#decisions")).to_contain_text("From: '1h' is not before the end")
    time.get_by_label("From").fill("")
    expect(page.locator("#period-decisions")).to_contain_text("Until 2026-01-31 12:00:00 JST")
    limit = page.locator("#period-decisions time").first
    expect(limit).to_have_attribute("title", "2026-01-31 03:00:00 UTC")
    expect(page.locator("#decisions")).to_contain_text("No decisions in this period")
    # the picker begins at the time that is written
    page.keyboard.press("Escape")
    expect(time).not_to_have_attribute("open", "")
    time.locator("summary").click()
    expect(time.get_by_label("Pick the end")).to_have_value("2026-01-31T12:00")
    time.get_by_role("link", name="Last hour", exact=True).click()

    # grouping keeps the period, and so do the other pages about it
    page.locator("[name=group]").select_option("pod")
    page.wait_for_url("**group=pod*")
    expect(page.locator("#period-decisions")).to_contain_text("(1 h ago)")
    expect(time.locator("summary")).to_have_text("Time: Last hour")
    for label in ("events", "changes", "queue history"):
        page.locator(".others").get_by_role("link", name=label).click()
        expect(page.locator("main")).to_contain_text("web-1")
        expect(time.locator("summary")).to_have_text("Time: Last hour")
    seen.open("/clusters/lab/queue?at=2026-01-31T12:00")
    expect(page.get_by_label("Pick the time")).to_have_value("2026-01-31T12:00")
    seen.open("/clusters/lab/events?since=1h")
    page.locator(".others").get_by_role("link", name="charts").click()
    expect(page.locator(".spans [aria-current]")).to_have_text("1 h")

    # the pods that a taint evicts are listed first, and undo says which are lost
    name = Pod.objects.get(cluster=lab, name="web-0").node_name
    seen.open(f"/clusters/lab/nodes/{name}")
    page.get_by_label("New taint").fill("maintenance:NoExecute")
    page.get_by_role("button", name="Taint", exact=True).click()
    expect(page.locator("main")).to_contain_text("No controller recreates")
    page.get_by_role("button", name="Taint and evict").click()
    engines.run(lab.pk)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#notices")).to_contain_text("taint maintenance removed")
    expect(page.locator("#notices")).to_contain_text("Undo cannot restore evicted pods")
    page.get_by_role("link", name="create it again").first.click()
    expect(page.get_by_label("YAML")).to_have_value(re.compile("name: web-"))

    # from the state around a decision to the explanation of a node
    seen.open("/clusters/lab/decisions?pod=web-1")
    page.locator("#decisions tbody a").first.click()
    page.get_by_role("link", name="Open the page").click()
    page.get_by_role("link", name="State at the time").click()
    expect(page.locator("#past")).to_contain_text("Read-only")
    page.locator("#decision_state tbody a", has_text="node-1").first.click()
    expect(page.locator("#explanation")).to_contain_text("node-1 was")

    _slide_through_the_life(seen)

    # a deleted cluster keeps its pages
    seen.open("/clusters/lab/delete")
    page.get_by_label("Type lab to confirm").fill("lab")
    page.get_by_role("button", name="Delete cluster").click()
    page.get_by_role("link", name="Deleted clusters").click()
    page.get_by_role("link", name="lab", exact=True).click()
    expect(page.locator("#deleted")).to_contain_text("Its history is read-only.")
    page.get_by_role("link", name="web-1").first.click()
    expect(page.locator("#story")).to_contain_text("attempt 1")
    assert [text for text in seen.problems if "422" not in text] == []
    window.close()


def _slide_through_the_life(seen: Seen) -> None:
    """With the keyboard from now to the first version; the address keeps moment and filter."""
    page = seen.page
    seen.open("/clusters/lab")
    page.get_by_role("link", name="Past", exact=True).click()
    banner, state = page.locator("#past-banner"), page.locator("#past-state")
    expect(banner).to_contain_text("This is the present state.")
    expect(state).to_contain_text("node-1")
    slider = page.get_by_role("slider")
    slider.press("ArrowLeft")
    page.wait_for_url(f"**version={slider.input_value()}*")
    expect(banner).to_contain_text(f"version {slider.input_value()}.")
    page.get_by_label("Name").fill("node-1")
    expect(state.locator("tbody tr")).to_have_count(1)
    slider.press("Home")
    expect(banner).to_contain_text("version 1.")
    expect(state).to_contain_text("The cluster had no nodes.")
    page.reload()
    expect(banner).to_contain_text("version 1.")
    expect(page.get_by_label("Name")).to_have_value("node-1")
    page.get_by_role("link", name="Compare with now").click()
    expect(page.locator("#compared")).to_contain_text("created")
    page.get_by_role("searchbox", name="Time").fill("now")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(banner).to_contain_text("This is the present state.")
