"""A failed node: its causal chain in both directions, and its film, by keyboard and as a link."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.models import Cluster, Pod
from apps.engine.loop import clock
from tests.browser.conftest import Seen
from tests.studies.history.test_causes import create_workload, pass_time, set_ready

pytestmark = pytest.mark.browser


@pytest.fixture
def incident(seen: Seen) -> tuple[Cluster, Pod]:
    """node-0 fails, and its pod, which is returned, is replaced on node-1."""
    cluster = create_cluster("lab", user="admin", nodes=2, tie_break="first-name")
    clock.set_manual(cluster)
    create_workload(cluster, 1)
    old = Pod.objects.get(cluster=cluster)
    clock.advance(cluster, 60)
    set_ready(cluster, "node-0", "False")
    pass_time(cluster, 40)
    return cluster, old


def test_a_failed_node_is_followed_in_both_directions(
    seen: Seen, incident: tuple[Cluster, Pod]
) -> None:
    cluster, old = incident
    new = Pod.objects.get(cluster=cluster)
    page = seen.page
    seen.log_in("admin", "open sesame")
    seen.open(f"/clusters/lab/pods/default/{new.name}")
    chain = page.locator("#chain")
    expect(chain.get_by_role("listitem")).to_have_count(8)
    # to the change, and from it to the pod that it ended and its replacement
    chain.get_by_role("link", name="node node-0 failed").click()
    ended = page.locator("#consequences")
    expect(ended.get_by_role("row")).to_have_count(2)
    expect(ended).to_contain_text(new.name)
    # the story of the deleted pod has the same chain
    ended.get_by_role("link", name=old.name).click()
    page.wait_for_url(f"**/stories/{old.uid}")
    expect(chain.get_by_role("listitem")).to_have_count(8)
    chain.get_by_role("link", name=f"pod default/{new.name} was scheduled to node-1").click()
    page.wait_for_url("**/decisions/*")
    # events lead to the chain as well, and the change to its film
    seen.open("/clusters/lab/events?reason=TaintManagerEviction")
    page.get_by_role("link", name="What led to it").first.click()
    expect(page.locator(".chain").get_by_role("listitem")).to_have_count(8)
    page.locator(".chain").get_by_role("link", name="node node-0 failed").click()
    page.get_by_role("link", name="Film", exact=True).last.click()
    expect(page.locator("#film")).to_have_attribute("data-drawn", re.compile(r"\d+"))
    expect(page.locator("#film-lines li:visible").last).to_contain_text("node-0 failed")
    assert seen.problems == []


def test_an_incident_is_a_film_and_a_link_to_a_moment(
    seen: Seen, incident: tuple[Cluster, Pod]
) -> None:
    page = seen.page
    seen.log_in("admin", "open sesame")
    seen.open("/clusters/lab/charts?since=15m")
    page.locator("#charts-others").get_by_role("link", name="a film").click()
    film = page.locator("#film")
    expect(film).to_have_attribute("data-drawn", re.compile(r"\d+"))
    lines = page.locator("#film-lines li:visible")
    expect(lines.filter(has_text="node-0 failed")).to_have_count(0)

    # by keyboard to the end: the whole story, and the nodes as they are then
    page.keyboard.press("End")
    expect(lines.filter(has_text="alice: node-0 failed")).to_have_count(1)
    expect(lines.filter(has_text="evicted by a taint from node-0")).to_have_count(1)
    expect(page.locator("#film-counts")).to_contain_text("1 not ready")
    page.keyboard.press("PageUp")
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile("since=.*until=.*speed=.*at="))

    # the link shows the same moment to somebody else
    moment = page.locator("#film-time").text_content()
    seen.page.goto(str(page.locator("#film-link").get_attribute("href")))
    expect(page.locator("#film-time")).to_have_text(str(moment))

    # it plays until it is paused
    page.locator("#film-speed").select_option("1800")
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("Home")
    page.keyboard.press(" ")
    expect(page.locator("#film-play")).to_have_text("Pause")
    expect(page.locator("#film-play")).to_have_text("Play")
    assert page.locator("#film-position").input_value() == page.locator(
        "#film-position"
    ).get_attribute("max")
    assert seen.problems == []
