"""The workflow of a user: from the login to the explanation of a decision."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.log.announce import announcer
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.engine.loop.engines import Engines
from tests.browser.conftest import Seen

pytestmark = pytest.mark.browser


@pytest.fixture
def cluster(seen: Seen) -> Cluster:
    return create_cluster("lab", user="admin", nodes=3, zones=3, tie_break="first-name")


@pytest.fixture
def loop() -> Engines:
    return Engines()


def test_a_pod_is_followed_from_the_queue_to_its_decision(
    seen: Seen, cluster: Cluster, loop: Engines
) -> None:
    page = seen.page
    seen.log_in("admin", "open sesame")
    page.get_by_role("link", name="lab", exact=True).click()
    page.get_by_role("link", name="New pod").click()
    page.get_by_label("Name", exact=True).fill("web")
    page.get_by_label("CPU").fill("2")
    page.get_by_role("button", name="Create pod").click()
    expect(page.get_by_text("Pod web created.")).to_be_visible()
    expect(page.get_by_text("It waits in activeQ for its first attempt.")).to_be_visible()

    page.get_by_role("link", name="Queue", exact=True).click()
    queue = page.locator("#queue")
    expect(queue.get_by_role("row", name="1 activeQ web")).to_be_visible()
    expect(page.locator("#live")).to_have_text("live")

    loop.run(cluster.pk)
    expect(queue.get_by_text("No pods are pending")).to_be_visible()

    page.get_by_role("link", name="Decisions", exact=True).click()
    row = page.locator("#decisions tbody tr").first
    expect(row).to_contain_text("scheduled")
    row.get_by_role("link").first.click()
    page.get_by_role("link", name="Open the page").click()
    expect(page.locator(".lead")).to_contain_text("chose node-0")
    expect(page.locator(".scores tbody tr:not(.gap)").first).to_contain_text("chosen")
    expect(page.locator(".scores thead")).to_contain_text("NodeResourcesFit")

    explanation = page.locator("#explanation")
    expect(explanation).to_contain_text("tied with")
    explanation.get_by_label("Why not").fill("node-2")
    explanation.get_by_role("button", name="Explain").click()
    expect(explanation.locator(".answer")).to_contain_text("node-2 was feasible, at rank 1.")
    address = explanation.get_by_role("link", name="Link to this answer")
    seen.open(address.get_attribute("href") or "")
    expect(page.locator(".answer")).to_contain_text("node-2 was feasible, at rank 1.")
    assert seen.problems == []


def test_a_pending_pod_is_explained_and_shown_as_bound_when_it_fits(
    seen: Seen, cluster: Cluster, loop: Engines
) -> None:
    page = seen.page
    seen.log_in("admin", "open sesame")
    seen.open("/clusters/lab/new-pod")
    page.get_by_label("Name", exact=True).fill("huge")
    page.get_by_label("CPU").fill("40")
    page.get_by_role("button", name="Create pod").click()
    loop.run(cluster.pk)
    expect(page.locator("#pod-why .headline")).to_contain_text("Why it is pending: It needs 40 cpu")
    expect(page.locator("#pod-why")).to_contain_text("0/3 nodes are available: 3 Insufficient cpu")
    expect(page.locator("#story .attempt")).to_contain_text("3 Insufficient cpu")

    other = seen.page.context.new_page()
    other.goto(f"{seen.address}/clusters/lab/new-node")
    other.get_by_label("Name", exact=True).fill("giant")
    other.get_by_label("CPU").fill("64")
    other.get_by_role("button", name="Create node").click()
    expect(other.get_by_text("Node giant created.")).to_be_visible()
    other.close()

    page.bring_to_front()
    facts = page.locator("#pod .facts")
    for _ in range(100):
        loop.run(cluster.pk)
        if "bound" in facts.inner_text():
            break
        page.wait_for_timeout(100)
    expect(facts).to_contain_text("giant")
    expect(page.locator("#story .attempt")).to_have_count(2)
    expect(page.locator("#pod-why .headline")).to_have_text(
        "It runs on giant, chosen in attempt 2."
    )
    assert seen.problems == []


def test_open_details_and_focus_survive_a_refresh(seen: Seen, cluster: Cluster) -> None:
    page = seen.page
    seen.log_in("admin", "open sesame")
    seen.open("/clusters/lab/nodes/node-1")
    expect(page.locator("#live")).to_have_text("live")
    page.get_by_text("YAML", exact=True).click()
    page.locator("#yaml summary").focus()
    with page.expect_response(lambda response: response.url.endswith("/nodes/node-1")):
        cordon(cluster)
    expect(page.locator("#node .facts")).to_contain_text("cordoned")
    expect(page.locator("#yaml pre")).to_contain_text("unschedulable: true")
    assert page.evaluate("document.activeElement.tagName") == "SUMMARY"
    assert seen.problems == []


def test_a_hidden_tab_has_no_stream_and_catches_up_when_visible(
    seen: Seen, cluster: Cluster
) -> None:
    page = seen.page
    seen.log_in("admin", "open sesame")
    seen.open("/clusters/lab/nodes")
    expect(page.locator("#live")).to_have_text("live")
    show = "document.dispatchEvent(new Event('visibilitychange'))"
    page.evaluate(
        f"Object.defineProperty(document, 'hidden', {{value: true, configurable: true}}); {show}"
    )
    streams = []
    page.on("request", lambda request: streams.append(request.url))
    cordon(cluster)
    assert announcer.flush(5.0)
    page.wait_for_timeout(1500)
    assert streams == []
    assert "cordoned" not in page.locator("#nodes").inner_text()
    page.evaluate(f"delete document.hidden; {show}")
    expect(page.locator("#nodes")).to_contain_text("cordoned")
    assert "/live?after=" in streams[0]
    assert seen.problems == []


def test_the_content_and_every_control_are_reached_by_keyboard(
    seen: Seen, cluster: Cluster
) -> None:
    page = seen.page
    seen.log_in("admin", "open sesame")
    seen.open("/clusters/lab/nodes")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    page.keyboard.press("Enter")
    page.keyboard.press("/")
    page.keyboard.type("node-")
    expect(page.locator("#found").get_by_role("option")).to_have_count(3)
    page.keyboard.press("ArrowDown")
    expect(page.locator("#found").get_by_role("option", selected=True)).to_contain_text("node-1")
    page.keyboard.press("Enter")
    page.wait_for_url("**/clusters/lab/nodes/node-1")
    assert seen.problems == []


def test_focus_is_kept_in_menus_the_tour_and_after_an_action(seen: Seen, cluster: Cluster) -> None:
    page = seen.page
    seen.log_in("admin", "open sesame")
    account = page.locator("details.account summary")
    account.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Auto")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Auto")).to_be_hidden()
    expect(account).to_be_focused()

    page.keyboard.press("?")
    page.get_by_role("button", name="Start the tour").press("Enter")
    tour = page.get_by_role("region", name="Tour")
    expect(tour).to_be_focused()
    account.focus()
    page.keyboard.press("Escape")
    expect(tour).to_have_count(0)
    expect(page.get_by_role("main")).to_be_focused()

    seen.open("/clusters/lab/nodes/node-1")
    page.get_by_role("button", name="Cordon", exact=True).press("Enter")
    expect(page.get_by_role("button", name="Uncordon")).to_be_visible()
    # a screen reader reads what has the focus
    expect(page.locator("#notices")).to_be_focused()
    expect(page.locator("#notices")).to_contain_text("cordoned")
    assert seen.problems == []


def test_links_of_the_site_mark_the_page_that_is_open(seen: Seen, cluster: Cluster) -> None:
    seen.log_in("admin", "open sesame")
    for path, name in [("/operations", "Operations"), ("/scenarios", "Scenarios")]:
        seen.open(path)
        link = seen.page.locator(".tools > [aria-current=page]")
        expect(link).to_have_text(name)
    seen.open("/docs/walk")
    expect(seen.page.locator(".tools > [aria-current]")).to_have_text("Docs")


def test_a_filter_is_in_the_address_without_empty_fields(seen: Seen, cluster: Cluster) -> None:
    page = seen.page
    seen.log_in("admin", "open sesame")
    seen.open("/clusters/lab/nodes?sort=-name")
    page.get_by_label("Name", exact=True).fill("node-2")
    expect(page.locator("#nodes tbody tr")).to_have_count(1)
    assert page.url.endswith("/nodes?q=node-2&sort=-name")
    page.reload()
    expect(page.locator("#nodes tbody tr")).to_have_count(1)
    assert seen.problems == []


def cordon(cluster: Cluster) -> None:
    def change(body: Any) -> Any:
        return {**body, "spec": {**body.get("spec", {}), "unschedulable": True}}

    store.patch(cluster, kinds.NODE, "", "node-1", change, actor=Actor("tests"))
