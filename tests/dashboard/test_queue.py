"""The page of the queue: order, filters, paging, countdowns by the cluster's clock, activation."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client

from apps.cluster.models import Cluster, Pod
from apps.engine.loop import clock
from apps.engine.models import QueueActivation, QueueEntry
from tests.dashboard.conftest import add_pods, pod, shown

pytestmark = pytest.mark.django_db
START = datetime(2030, 1, 1, tzinfo=UTC)


def names(client: Client, query: str = "") -> list[str]:
    """The pods of the page, in order."""
    page = shown(client, f"/clusters/lab/queue{query}")
    return re.findall(r'<th scope="row" class="name"><a [^>]*>([^<]*)<', page)


def test_pods_are_filtered_sorted_and_paged_by_the_address(alice: Client, lab: Cluster) -> None:
    add_pods(lab, *(pod(f"late-{number:02}") for number in range(30)))
    every = names(alice, "?group=none")
    assert every[:3] == ["late-00", "late-01", "late-02"]
    assert every[30:] == ["huge", "held"]
    assert names(alice, "?queue=gated") == ["held"]
    assert names(alice, "?group=none&pod=late-1") == [f"late-1{number}" for number in range(10)]
    assert names(alice, "?plugin=NodeResourcesFit") == ["huge"]
    assert names(alice, "?plugin=SchedulingGates") == ["held"]
    assert names(alice, "?group=none&sort=-name&size=25")[:2] == ["late-29", "late-28"]
    assert names(alice, "?group=none&size=25&page=2") == every[25:]
    assert names(alice, "?group=none&size=25&page=99") == every[25:]
    assert names(alice, "?pod=nothing") == []
    page = alice.get("/clusters/lab/queue").content.decode()
    assert "activeQ:30; backoffQ:0; unschedulablePods:2" in page


def test_pods_that_wait_for_the_same_share_a_row(alice: Client, lab: Cluster) -> None:
    add_pods(lab, *(pod(f"late-{number}") for number in range(60)), pod("alone"))
    page = shown(alice, "/clusters/lab/queue?size=25")
    assert "63 pods. Pods of one workload that wait for the same share a row." in page
    assert names(alice, "?size=25") == ["alone", "huge", "held"]
    assert "<summary>60 pods of late</summary>" in page
    # the places of the pods of a row, and in it the end of each name
    assert '<td class="num">1–60</td>' in page or '<td class="num">2–61</td>' in page
    assert 'aria-label="late-7">…-7</a>' in page and "and 10 more" in page
    # another priority is another row
    Pod.objects.filter(cluster=lab, name__in=["late-8", "late-9"]).update(priority=7)
    page = shown(alice, "/clusters/lab/queue")
    assert "<summary>58 pods of late</summary>" in page
    assert "<summary>2 pods of late</summary>" in page


def test_all_pods_of_a_row_are_activated_by_its_button(alice: Client, lab: Cluster) -> None:
    entry = QueueEntry.objects.get(cluster=lab, name="huge")
    add_pods(lab, pod("big-1"), pod("big-2"))
    for other in Pod.objects.filter(cluster=lab, name__startswith="big-"):
        entry.pk, entry.name, entry.pod_uid = None, other.name, other.uid
        entry.save()
    page = shown(alice, "/clusters/lab/queue?queue=unschedulable")
    assert 'value="default/big-1 default/big-2" aria-label="Activate 2 pods of big"' in page
    wanted = {"pod": "default/big-1 default/big-2"}
    answer = alice.post("/clusters/lab/queue/activate", wanted, follow=True)
    assert "2 pods will be retried now." in answer.content.decode()
    assert QueueActivation.objects.filter(cluster=lab).count() == 2


def test_a_countdown_uses_the_clock_of_the_cluster(alice: Client, lab: Cluster) -> None:
    Cluster.objects.filter(pk=lab.pk).update(manual_time=START)
    entry = QueueEntry.objects.get(cluster=lab, name="huge")
    entry.queue = "backoff"
    entry.backoff_expiry = START + timedelta(seconds=9)
    entry.save()
    page = alice.get("/clusters/lab/queue?queue=backoff").content.decode()
    # a clock that stopped is not counted on by the page
    assert "data-until" not in page and "data-ago" not in page
    assert ">9 s</time>" in page
    clock.advance(lab, 5)
    assert ">4 s</time>" in alice.get("/clusters/lab/queue?queue=backoff").content.decode()
    Cluster.objects.filter(pk=lab.pk).update(manual_time=None)
    assert "data-until" in alice.get("/clusters/lab/queue?queue=backoff").content.decode()


def test_a_pod_is_activated_by_a_button(alice: Client, lab: Cluster) -> None:
    before = "/clusters/lab/queue?queue=unschedulable"
    assert ">Activate</button>" in shown(alice, before)
    assert ">Activate</button>" not in shown(alice, "/clusters/lab/queue?queue=gated")
    wanted = {"pod": "default/huge", "next": before}
    answer = alice.post("/clusters/lab/queue/activate", wanted, follow=True)
    assert answer.redirect_chain == [(before, 302)]
    assert "Pod default/huge will be retried now." in answer.content.decode()
    wish = QueueActivation.objects.get(cluster=lab)
    assert wish.user == "alice" and wish.request_id


def test_the_history_shows_the_event_and_the_plugin_whose_hint_decided(
    alice: Client, lab: Cluster
) -> None:
    page = alice.get("/clusters/lab/queue/history?plugin=SchedulingGates").content.decode()
    assert "held" in page and "example.com/quota" in page and "huge" not in page
    moved = alice.get("/clusters/lab/queue/history?pod=huge").content.decode()
    assert "ScheduleAttemptFailure" in moved and "in flight" in moved
    nothing = alice.get("/clusters/lab/queue/history?event=NodeAdd").content.decode()
    assert "No moves match these filters" in nothing


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("default/held", "is gated by SchedulingGates"),
        ("default/web-0", "is already bound to node"),
        ("default/foreign", "another scheduler"),
        ("default/nobody", "does not exist in this cluster"),
    ],
)
def test_an_activation_that_is_not_possible_shows_the_reason(
    alice: Client, lab: Cluster, name: str, message: str
) -> None:
    elsewhere = "https://example.com/clusters/lab/queue"
    answer = alice.post(
        "/clusters/lab/queue/activate", {"pod": name, "next": elsewhere}, follow=True
    )
    assert answer.redirect_chain == [("/clusters/lab/queue", 302)]
    assert message in answer.content.decode()
    assert not QueueActivation.objects.exists()


def test_an_invalid_filter_of_the_history_shows_an_error(alice: Client, lab: Cluster) -> None:
    answer = alice.get("/clusters/lab/queue/history?since=tomorrow")
    assert answer.status_code == 422
    assert "since" in answer.content.decode()
