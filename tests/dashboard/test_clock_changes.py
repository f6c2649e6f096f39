"""Decisions around the moment at which clocks are set back, in the zone of the viewer."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.test import Client

from apps.administration.clusters.lifecycle import create_cluster
from apps.engine.loop import clock
from apps.engine.loop.engines import Engines
from tests.dashboard.conftest import add_pods, pod, shown

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/clusters/lab/decisions"


def test_the_hours_of_a_change_of_clocks_are_told_apart(alice: Client) -> None:
    """In New York, 01:00 to 02:00 occurs twice on 2027-11-07: as EDT, then as EST."""
    lab = create_cluster("lab", user="alice", nodes=1)
    clock.set_manual(lab)
    engines = Engines()
    for number, start in enumerate(("04:30", "05:30", "06:30", "07:30")):
        now = datetime.fromisoformat(f"2027-11-07T{start}Z")
        lab.refresh_from_db()
        clock.advance(lab, (now - lab.now()).total_seconds())
        add_pods(lab, *(pod(f"late-{number}-{each}") for each in range(number + 1)))
        engines.run(lab.pk)
    lab.refresh_from_db()
    alice.cookies.load({"schedweb-zone": "America/New_York"})
    query = "pod=late-*&group=hour&since=2027-11-07&sort=key"
    page = shown(alice, f"{PAGE}?{query}")
    hours = ("00:00", "01:00 EDT", "01:00 EST", "02:00")
    assert [page.find(f">2027-11-07 {hour}</a>") > 0 for hour in hours] == [True] * 4
    assert "Since<time" in page and ">2027-11-07 00:00:00 EDT<" in page
    listed = alice.get(f"{PAGE}?{query}").context["decisions"].groups.page.rows
    behind = [alice.get(row.address).context["decisions"].page.rows for row in listed]
    assert [len(rows) for rows in behind] == [1, 2, 3, 4]
    # as a period, the hour has both; a list shows which one
    both = alice.get(f"{PAGE}?pod=late-*&since=2027-11-07T01:00&until=2027-11-07T01:59:59")
    text = both.content.decode()
    assert len(both.context["decisions"].page.rows) == 5
    assert ">01:30:00 EDT<" in text and ">01:30:00 EST<" in text


def test_what_happens_at_the_time_of_a_stopped_clock_is_not_in_the_future(alice: Client) -> None:
    lab = create_cluster("lab", user="alice", nodes=1)
    clock.set_manual(lab)
    add_pods(lab, pod("web-0"))
    Engines().run(lab.pk)
    text = shown(alice, "/clusters/lab/changes?since=2099-01-01")
    assert ">0 s</time>ago" in text and "Show last 15 minutes" in text


def test_what_users_did_is_dated_by_the_clock_of_the_system(alice: Client) -> None:
    """A view that was saved just now is not a year old because the cluster's clock is ahead."""
    lab = create_cluster("lab", user="alice")
    alice.post("/clusters/lab/new-view?group=pod", {"name": "by pod"})
    clock.set_manual(lab)
    lab.refresh_from_db()
    clock.advance(lab, 400 * 86_400)
    for page in ("views", "profiles", "profiles/1"):
        text = shown(alice, f"/clusters/lab/{page}")
        assert "400 d" not in text, page
