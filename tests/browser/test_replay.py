"""A fork before a decision, and the report of a replay with its plots."""

from __future__ import annotations

import os
import re
from typing import Any

import pytest
from playwright.sync_api import expect

from apps.cluster.models import Cluster
from tests.browser.conftest import Seen
from tests.browser.furnishing import furnish

pytestmark = pytest.mark.browser


def shoot(seen: Seen, name: str) -> None:
    """Write screenshots where SCREENSHOTS says."""
    if not (folder := os.environ.get("SCREENSHOTS")):
        return
    for scheme in ("light", "dark"):
        for width in (1280, 390):
            seen.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            seen.page.set_viewport_size({"width": width, "height": 900})
            seen.page.wait_for_timeout(300)
            seen.page.screenshot(path=f"{folder}/{name}-{width}-{scheme}.png", full_page=True)
    seen.page.set_viewport_size({"width": 1280, "height": 900})
    seen.page.emulate_media(color_scheme="light")


def test_a_decision_is_forked_and_a_replay_shows_what_differs(seen: Seen) -> None:
    values: dict[str, Any] = furnish()
    seen.log_in("admin", "open sesame")
    page = seen.page

    seen.open(f"/clusters/lab/decisions/{values['preempting']}")
    page.get_by_role("link", name="Fork before it").click()
    expect(page.get_by_role("heading", name="Fork lab")).to_be_visible()
    shoot(seen, "fork")
    page.get_by_label("Name").fill("Lab 2")
    page.get_by_role("button", name="Create fork").click()
    expect(page.get_by_text("lower-case letters, digits").last).to_be_visible()
    shoot(seen, "fork-wrong")
    page.get_by_label("Name").fill("lab-2")
    page.get_by_role("button", name="Create fork").click()
    expect(page.get_by_text("Cluster lab-2 created. It is paused.")).to_be_visible()
    expect(page.get_by_text("Forked from")).to_be_visible()
    assert Cluster.objects.get(name="lab-2").paused
    shoot(seen, "forked")

    seen.open("/clusters/lab/replays")
    page.locator("#id_since").fill("100000")
    page.get_by_role("button", name="Replay").click()
    expect(page.get_by_text("100000").first).to_be_visible()
    shoot(seen, "replays")
    page.get_by_role("link", name="with the given configuration").first.click()
    expect(page.locator(".charts canvas")).to_have_count(7)
    expect(page.get_by_text("First cause")).to_be_visible()
    expect(page.get_by_role("region", name="Figures by priority")).to_be_visible()
    plot = page.get_by_role("slider", name="CPU requested of allocatable")
    plot.focus()
    page.keyboard.press("End")
    expect(plot).to_have_attribute("aria-valuetext", re.compile(r"recorded .* %, .*replayed .* %"))
    seen.page.set_viewport_size({"width": 390, "height": 900})
    is_wide = "document.documentElement.scrollWidth > innerWidth"
    assert not page.evaluate(is_wide), "the tables scroll, the page does not"
    seen.page.set_viewport_size({"width": 1280, "height": 900})
    shoot(seen, "replay")
    # the two mistakes are the only errors
    assert [each for each in seen.problems if "422" not in each] == []
