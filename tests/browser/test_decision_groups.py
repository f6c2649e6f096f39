"""Which pods were rejected, by what, and how often: from a question to a view with an address."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writes import Create
from apps.cluster.writing import store
from apps.engine.loop.engines import Engines
from tests.browser.conftest import Seen
from tests.browser.test_decision import ADMIN, pod

pytestmark = pytest.mark.browser


@pytest.fixture
def lab(seen: Seen) -> Cluster:
    """Two nodes, pods that fit and pods that do not."""
    cluster = create_cluster("lab", user="admin", nodes=2, tie_break="first-name")
    pods = [pod("web-1"), pod("web-2"), pod("huge-1", cpu="64"), pod("huge-2", cpu="65")]
    store.write(cluster, [Create(kinds.POD, body, "default") for body in pods], actor=ADMIN)
    Engines().run(cluster.pk)
    seen.log_in("admin", "open sesame")
    return cluster


def test_a_question_becomes_a_saved_view(seen: Seen, lab: Cluster) -> None:
    page = seen.page
    seen.open("/clusters/lab/decisions")
    page.get_by_role("button", name="More filters").click()
    # a field completes what is typed, from the database
    reason = page.get_by_role("combobox", name="Main reason", exact=True)
    reason.press_sequentially("cpu")
    suggestion = page.locator("#suggested-main_reason option")
    expect(suggestion).to_have_attribute("value", "Insufficient cpu")
    reason.fill("Insufficient cpu")
    page.locator("[name=result]").select_option("unschedulable")
    page.locator("[name=group]").select_option("pod")
    table = page.locator("#decisions table")
    expect(table.locator("tbody tr")).to_have_count(2)
    expect(page).to_have_url(re.compile("group=pod&.*main_reason=Insufficient"))
    # sorted by name, descending
    heading = table.locator("thead th").first
    heading.get_by_role("link").click()
    expect(heading).to_have_attribute("aria-sort", "ascending")
    heading.get_by_role("link").click()
    expect(heading).to_have_attribute("aria-sort", "descending")
    expect(table.locator("tbody tr").first).to_contain_text("huge-2")
    # a row leads to the decisions behind it
    table.get_by_role("link", name="default/huge-2", exact=True).click()
    expect(page.locator("#decisions tbody tr")).to_have_count(1)
    page.go_back()
    page.get_by_role("link", name="Save as view").click()
    page.get_by_label("Name").fill("too big")
    page.get_by_role("button", name="Save view").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("too big")
    expect(page.locator("#decisions tbody tr")).to_have_count(2)
    expect(page.get_by_role("navigation", name="Views")).to_contain_text("too big")
    # from a decision to the formula of a plugin, with its figures
    page.get_by_role("link", name="Slowest attempts").click()
    page.get_by_role("link", name="web-1, attempt 1").click()
    page.get_by_role("link", name="Open the page").click()
    page.locator("#scores").get_by_role("link", name="NodeResourcesFit", exact=True).first.click()
    expect(page.locator("#figures")).to_contain_text("LeastAllocated: (")
    expect(page.locator("article")).to_contain_text("share = (capacity - used) * 100")
