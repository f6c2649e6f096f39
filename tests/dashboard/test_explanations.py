"""The explanations on pages, with the same sentences as the API."""

from __future__ import annotations

import html

import pytest
from django.test import Client

from apps.cluster.models import Cluster
from apps.engine.models import SchedulingDecision
from tests.dashboard.conftest import shown

pytestmark = pytest.mark.django_db


def decision_of(cluster: Cluster, name: str) -> int:
    found = SchedulingDecision.objects.filter(cluster=cluster, name=name)
    return found.values_list("pk", flat=True).latest("pk")


def text(client: Client, path: str, *, htmx: bool = False) -> str:
    headers = {"HX-Request": "true"} if htmx else {}
    response = client.get(path, headers=headers)
    assert response.status_code == 200, response.content
    return html.unescape(response.content.decode())


def test_a_decision_explains_its_node_in_a_sentence_and_a_table(
    alice: Client, lab: Cluster
) -> None:
    page = text(alice, f"/clusters/lab/decisions/{decision_of(lab, 'web-0')}/explanation")
    assert "node-0 tied with 2 other nodes at" in page
    assert "NodeResourcesFit" in page and "<tfoot>" in page


def test_a_rejected_node_is_explained_with_figures(alice: Client, lab: Cluster) -> None:
    number = decision_of(lab, "huge")
    page = text(alice, f"/clusters/lab/decisions/{number}/explanation?node=node-1", htmx=True)
    assert "node-1 was rejected by NodeResourcesFit: needs cpu 100, free 7.5 of 8" in page
    assert "<html" not in page
    both = text(alice, f"/clusters/lab/decisions/{number}/explanation?node=node-1&against=gpu-1")
    assert "the pod does not tolerate the taint dedicated=gpu:NoSchedule" in both
    assert "would also reject it" in both


def test_node_names_are_suggested(alice: Client, lab: Cluster) -> None:
    number = decision_of(lab, "web-0")
    offered = text(alice, f"/clusters/lab/decisions/{number}/nodes?against=de-1", htmx=True)
    assert offered.split() == ["<option", 'value="node-1"></option>']


def test_the_decision_page_loads_its_explanation(alice: Client, lab: Cluster) -> None:
    number = decision_of(lab, "web-0")
    page = text(alice, f"/clusters/lab/decisions/{number}")
    assert f'hx-get="/clusters/lab/decisions/{number}/explanation"' in page


def test_a_pending_pod_shows_what_it_waits_for(alice: Client, lab: Cluster) -> None:
    page = text(alice, "/clusters/lab/pods/default/huge")
    assert "Why it is pending:" in page
    assert 'hx-get="/clusters/lab/pods/default/huge/waiting"' in page
    waiting = text(alice, "/clusters/lab/pods/default/huge/waiting", htmx=True)
    assert "Lower the request for cpu from 100 to 7500m" in waiting
    assert "It is unschedulable and waits for an event that may help." in waiting
    assert "A node that could run the pod if it were empty is added" in waiting


def test_a_pod_of_another_scheduler_is_explained(alice: Client, lab: Cluster) -> None:
    page = text(alice, "/clusters/lab/pods/default/foreign")
    assert "It waits for scheduler another-scheduler, which no profile here has." in page


def test_a_gated_pod_names_its_gates(alice: Client, lab: Cluster) -> None:
    waiting = text(alice, "/clusters/lab/pods/default/held/waiting")
    assert "It waits for its scheduling gates to be removed: example.com/quota." in waiting
    assert "It is gated: it enters the queue when its scheduling gates are removed." in waiting


def test_an_unknown_decision_is_a_404_page(alice: Client, lab: Cluster) -> None:
    assert alice.get("/clusters/lab/decisions/1/explanation").status_code == 404


def test_the_inputs_of_scores_are_tables_with_formulas(alice: Client, lab: Cluster) -> None:
    row = SchedulingDecision.objects.filter(cluster=lab, result="scheduled").latest("pk")
    address = f"/clusters/lab/decisions/{row.pk}/inputs"
    page = shown(alice, address)
    assert f'<span class="size">{row.node}' in page
    assert (
        "LeastAllocated: (" in page and "raw scores of the feasible nodes are from 0 to 0" in page
    )
    for heading in ("Resource", "Allocatable", "Utilization", "Deviation"):
        assert f">{heading}</th>" in page
    assert "nothing was not scored in this decision." in shown(alice, f"{address}?node=nothing")
    failed = SchedulingDecision.objects.get(cluster=lab, name="huge")
    assert "No node was scored" in shown(alice, f"/clusters/lab/decisions/{failed.pk}/inputs")
    # the decision and the story of the pod load the same region when they are asked for it
    assert f'hx-get="{address}"' in shown(alice, f"/clusters/lab/decisions/{row.pk}")
    assert f'hx-get="{address}"' in shown(alice, f"/clusters/lab/stories/{row.pod_uid}")


def test_the_visiting_order_is_a_picture_with_a_lane_for_each_zone(
    alice: Client, lab: Cluster
) -> None:
    row = SchedulingDecision.objects.filter(cluster=lab, result="scheduled").latest("pk")
    page = shown(alice, f"/clusters/lab/decisions/{row.pk}/order")
    assert "and evaluated all nodes." in page and page.count('class="lane"') >= 2
    assert page.count("<title>") == 1 + row.nodes
