"""The page of a cluster at a past moment, and the differences from another moment."""

from __future__ import annotations

import pytest
from django.test import Client

from apps.cluster import kinds
from apps.cluster.models import Change, Cluster, Pod
from apps.cluster.writing import store
from apps.engine.loop import clock
from apps.engine.loop.engines import Engines
from tests.dashboard.conftest import ACTOR, add_pods, create_lab, pod, shown

pytestmark = pytest.mark.django_db(transaction=True)


def live(lab: Cluster) -> tuple[int, str]:
    """Move web-1 to another node; the version before that, and the node that it was on."""
    lab.refresh_from_db()
    before, node = lab.resource_version, Pod.objects.get(cluster=lab, name="web-1").node_name
    store.patch(
        lab,
        kinds.NODE,
        "",
        node,
        lambda body: {**body, "spec": {**body["spec"], "unschedulable": True}},
        actor=ACTOR,
    )
    options = {"gracePeriodSeconds": 0}
    store.delete(lab, kinds.POD, "default", "web-1", actor=ACTOR, options=options)
    add_pods(lab, pod("web-1"), pod("late"))
    Engines().run(lab.pk)
    return before, node


def test_the_page_shows_a_cluster_as_it_was_and_what_differs(alice: Client) -> None:
    lab = create_lab()
    before, node = live(lab)
    base = "/clusters/lab/past"
    for page in ("/clusters/lab", "/clusters/lab/charts"):
        assert f'href="{base}"' in alice.get(page).content.decode()

    then = alice.get(f"{base}?version={before}")
    text = then.content.decode()
    assert "Read-only: state at" in text and f"version {before}" in text
    assert text.count('method="post"') == alice.get(base).content.decode().count('method="post"')
    assert 'type="range"' in text and f'value="{before}"' in text
    rows = {row.node.name: row for row in then.context["past"].page.rows}
    assert rows[node].state == "ready" and rows[node].pods.requested >= 1
    now = {row.node.name: row.state for row in alice.get(base).context["past"].page.rows}
    assert now[node] == "cordoned"

    pods = alice.get(f"{base}?version={before}&show=pods&state=bound&q=web").context["past"]
    assert {each.name for each in pods.page.rows} == {"web-0", "web-1", "web-2"}
    assert [each.node for each in pods.page.rows if each.name == "web-1"] == [node]

    compared = alice.get(f"{base}?version={before}&with=now")
    differences = {each.name: each for each in compared.context["past"].page.rows}
    assert differences["late"].change == "created"
    assert differences["web-1"].change == "moved" and differences["web-1"].before.node == node
    words = shown(alice, f"{base}?version={before}&with=now")
    assert f"From version {before}" in words and "unschedulable: false → true" in words
    only = alice.get(f"{base}?version={before}&with=now&change=moved").context["past"].page.rows
    assert [each.name for each in only] == ["web-1"]

    later = alice.get(f"{base}?version={before}&show=pods&with=now").content.decode()
    assert f"version={before + 1}&amp;show=pods&amp;with=now" in later
    assert f"version={before}&amp;show=differences&amp;with=now" in later

    region = alice.get(f"{base}?version={before}", headers={"HX-Request": "true"}).content.decode()
    assert region.lstrip().startswith("<div") and "<html" not in region

    at = Change.objects.get(cluster=lab, version=before).at.isoformat()
    timed = alice.get(base, {"at": at, "version": "1"}).context["past"]
    assert timed.moment.version >= before and "web-1" in str(timed.overview.snapshot.pods)
    _name_mistakes(alice)


def _name_mistakes(alice: Client) -> None:
    """A moment that cannot be shown is named above the slider, which stays."""
    for query, code, message in (
        ("version=999999", 400, "Version: 999999 is in the future; the newest version is"),
        (
            "at=2999-01-01",
            400,
            "Time: &#x27;2999-01-01&#x27; is in the future",
        ),
        ("with=soon", 400, "Compare with: &#x27;soon&#x27; is not"),
        ("decision=9", 404, "not found"),
        ("state=asleep", 400, "is not one of ready, not-ready, cordoned"),
    ):
        answer = alice.get(f"/clusters/lab/past?{query}")
        text = answer.content.decode()
        assert answer.status_code == code, query
        assert message in text and 'type="range"' in text, query


def test_charts_of_a_fast_clock_begin_with_a_span_that_has_figures(alice: Client) -> None:
    lab = create_lab()
    assert alice.get("/clusters/lab/charts").context["page"].since == "15m"
    clock.set_speed(lab, 600)
    page = alice.get("/clusters/lab/charts")
    assert page.context["page"].since == "7d"
    assert "runs 600 times as fast" in page.content.decode()
