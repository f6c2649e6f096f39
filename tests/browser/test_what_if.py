"""The panel *What if* of a decision: sliders that move the chosen node."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from tests.browser.conftest import Seen

pytestmark = pytest.mark.browser

ADMIN = Actor("admin", "request-9")
NODES = 60
#: the node of the first pod, which has less room than the others
PREFERRED = {
    "weight": 1,
    "preference": {
        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-00"]}]
    },
}


def pod(name: str, cpu: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "example/main:1", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"containers": [container], **spec},
    }


@pytest.fixture
def path(seen: Seen) -> str:
    """The decision for a pod that prefers a node with little room; no node has the other's disk."""
    cluster = create_cluster("lab", user="admin", nodes=NODES, tie_break="first-name")
    schedule(cluster, pod("first", "6"))
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [PREFERRED]}}
    schedule(cluster, pod("web", "1", affinity=affinity))
    schedule(cluster, pod("stuck", "1", nodeSelector={"disk": "ssd"}))
    seen.log_in("admin", "open sesame")
    return path_of("web")


def schedule(cluster: Cluster, body: dict[str, Any]) -> None:
    store.create(cluster, kinds.POD, body, actor=ADMIN)
    Engines().run(cluster.pk)


def path_of(name: str) -> str:
    return f"/clusters/lab/decisions/{SchedulingDecision.objects.filter(name=name).latest('pk').pk}"


def test_a_slider_moves_the_chosen_node_and_the_address_shows_the_same_without_scripts(
    seen: Seen, path: str
) -> None:
    page = seen.page
    seen.open(path)
    panel, scores = page.locator("#what-if"), page.locator("#scores tbody")
    expect(panel).to_have_attribute("data-ready", "")
    expect(panel.locator("summary")).to_contain_text("wins when ")
    panel.locator("summary").click()
    outcome = panel.locator("[data-outcome]")
    expect(outcome).to_contain_text("node-00 is chosen, with ")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    # by keyboard: the slider of NodeAffinity to 0
    slider = panel.get_by_role("slider", name="Weight of NodeAffinity")
    slider.focus()
    page.keyboard.press("Home")
    expect(outcome).to_contain_text("node-01 instead of node-00: ")
    expect(panel.get_by_label("NodeAffinity", exact=True)).to_have_value("0")
    for rows in (scores.locator("[aria-rowindex='2']"), panel.locator("tbody tr").first):
        expect(rows).to_contain_text("node-01")
        expect(rows).to_contain_text("chosen")
    expect(page.locator("#scores thead")).to_contain_text("× 0")
    expect(page.locator("#scores-changed")).to_be_visible()
    assert parse_qs(urlsplit(page.url).query) == {"weight.NodeAffinity": ["0"]}
    compare_with_server(seen)

    # a number typed for another plugin, and the first one switched on again
    panel.locator("[data-plugin=NodeAffinity]").get_by_label("on").check()
    expect(outcome).to_contain_text("node-00 is chosen")
    panel.get_by_label("NodeResourcesFit", exact=True).fill("40")
    expect(outcome).to_contain_text("node-01 instead of node-00: ")
    compare_with_server(seen)

    # a flip is tried by its link; the reset leads back to the recorded decision
    panel.get_by_role("link", name="Try NodeAffinity at ").first.click()
    expect(outcome).to_contain_text("node-01 instead of node-00: ")
    expect(panel.get_by_label("NodeResourcesFit", exact=True)).to_have_value("1")
    panel.get_by_role("link", name="Reset").click()
    expect(outcome).to_contain_text("node-00 is chosen")
    expect(page.locator("#scores-changed")).to_be_hidden()
    assert urlsplit(page.url).query == ""
    assert [address for address in asked if "/static/" not in address] == []

    # a filter that is off: the server decides again, and sliders weigh its scores
    seen.open(path_of("stuck"))
    panel.locator("summary").click()
    panel.get_by_role("checkbox", name="NodeAffinity").check()
    panel.get_by_role("button", name="Decide again").click()
    expect(outcome).to_contain_text("node-01 is chosen, with ")
    expect(panel).to_have_attribute("data-ready", "")
    panel.get_by_label("NodeResourcesFit", exact=True).fill("9")
    expect(page).to_have_url(re.compile(r"without=NodeAffinity&weight\.NodeResourcesFit=9#"))
    compare_with_server(seen)

    # an impossible weight is named, and the recorded decision is shown
    seen.open(f"{path}?weight.NodeAffinity=many")
    said = "weight.NodeAffinity: must be a whole number from 0 to 100"
    expect(panel.get_by_role("alert")).to_have_text(said)
    expect(outcome).to_contain_text("node-00 is chosen, with ")
    assert seen.problems == []


def compare_with_server(seen: Seen) -> None:
    """The server renders the sentence, the list and the values that the page shows."""
    window = seen.page.context.browser
    assert window is not None
    other = window.new_context(
        java_script_enabled=False, storage_state=seen.page.context.storage_state()
    )
    plain = other.new_page()
    plain.goto(seen.page.url)
    for place in ("#what-if [data-outcome]", "#what-if tbody", "#scores tbody tr.chosen"):
        assert texts(plain, place) == texts(seen.page, place), place
    fields = "#what-if [type=number]"
    values = "found => found.map(each => [each.name, each.value])"
    assert plain.eval_on_selector_all(fields, values) == seen.page.eval_on_selector_all(
        fields, values
    )
    other.close()


def texts(page: Any, place: str) -> list[str]:
    return str(page.locator(place).inner_text()).split()
