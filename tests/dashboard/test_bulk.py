"""Actions on all that a filter matches, and what a rejected action leaves in the list."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from apps.cluster import kinds
from apps.cluster.models import Cluster, Node, Pod
from apps.cluster.writing import store
from apps.controllers.generating import generate_node
from apps.engine.models import Operation
from tests.dashboard.conftest import ACTOR, add_pods, pod, shown

pytestmark = pytest.mark.django_db

NODES, PODS = "/clusters/lab/change-nodes", "/clusters/lab/change-pods"


@pytest.fixture
def wide(lab: Cluster) -> Cluster:
    """`lab` with 230 more nodes, more than one request changes."""
    bodies = [(kinds.NODE, generate_node(f"bulk-{number}", "zone-9")) for number in range(230)]
    store.create_many(lab, bodies, actor=ACTOR)
    return lab


def matching(action: str, query: str, **fields: str) -> dict[str, str]:
    return {"action": action, "matching": "1", "filter": query, **fields}


def test_the_list_offers_all_nodes_that_the_filter_matches(alice: Client, wide: Cluster) -> None:
    page = shown(alice, "/clusters/lab/nodes?zone=zone-9")
    assert "all 230 that match" in page and 'name="filter" value="zone=zone-9"' in page
    assert "that match<" not in shown(alice, "/clusters/lab/nodes?q=gpu")


def test_a_selection_of_any_size_is_one_field(alice: Client, wide: Cluster, settings: Any) -> None:
    """A request has at most 1,000 fields: a zone of 1,000 nodes could not be cordoned."""
    settings.DATA_UPLOAD_MAX_NUMBER_FIELDS = 20
    names = " ".join(f"bulk-{number}" for number in range(230))
    alice.post(NODES, {"action": "cordon", "names": names})
    assert Operation.objects.get().title == "Cordon 230 nodes"
    page = alice.post(NODES, {"action": "delete", "names": names}).content.decode()
    kept = re.search('name="names" value="([^"]*)"', page)
    assert kept and set(kept[1].split()) == set(names.split())
    assert page.count("<input") < 20


def test_a_taint_is_removed_from_selected_nodes(alice: Client, lab: Cluster) -> None:
    nodes = {"node": ["gpu-1", "node-0"]}
    alice.post(NODES, {"action": "taint", "text": "down=1:NoSchedule", **nodes})
    alice.post(NODES, {"action": "untaint", "text": "down:NoSchedule", **nodes})
    gpu = Node.objects.get(name="gpu-1")
    assert [taint["key"] for taint in gpu.body["spec"]["taints"]] == ["dedicated"]


@pytest.mark.parametrize(
    ("address", "page", "fields", "problem"),
    [
        (
            NODES,
            "/clusters/lab/nodes",
            {"node": ["node-0", "node-2"], "action": "taint", "text": "disk"},
            "neither key=value:Effect",
        ),
        (
            NODES,
            "/clusters/lab/nodes",
            {"node": ["node-0", "node-2"], "action": "label", "text": "a b=c"},
            "name part must consist",
        ),
        (
            PODS,
            "/clusters/lab/pods",
            {"pod": ["default/web-0", "default/huge"], "action": "label", "text": "x"},
            "neither key=value nor key-",
        ),
    ],
)
def test_a_mistake_keeps_selection_and_text(
    alice: Client, lab: Cluster, address: str, page: str, fields: dict[str, Any], problem: str
) -> None:
    response = alice.post(address, {**fields, "next": page}, follow=True)
    said = " ".join(response.content.decode().split())
    assert said.count(problem) == 1
    assert f'value="{fields["text"]}"' in said and 'aria-invalid="true"' in said
    assert said.count("checked") == 2
    assert problem not in shown(alice, page), "a mistake is shown once"


def test_a_mistake_on_the_page_of_a_node_keeps_the_text(alice: Client, lab: Cluster) -> None:
    page = "/clusters/lab/nodes/node-0"
    fields = {"node": "node-0", "action": "label", "text": "no label", "next": page}
    said = alice.post(NODES, fields, follow=True).content.decode()
    assert 'value="no label"' in said and said.count("neither key=value nor key-") == 1


def test_pods_are_labeled_and_evicted(alice: Client, lab: Cluster) -> None:
    names = {"pod": ["default/web-0", "default/web-1"]}
    alice.post(PODS, {"action": "label", "text": "tier=web", **names})
    labeled = Pod.objects.filter(cluster=lab, labels__tier="web")
    assert {each.name for each in labeled} == {"web-0", "web-1"}
    budget = {
        "metadata": {"name": "strict", "namespace": "default"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"tier": "web"}}},
    }
    store.create(lab, kinds.by_name("PodDisruptionBudget"), budget, actor=ACTOR)
    page = alice.post(PODS, {"action": "evict", **names}).content.decode()
    assert "Evict 2 pods?" in page
    done = alice.post(PODS, {"action": "evict", "sure": "1", **names}, follow=True)
    said = done.content.decode()
    assert "0 pods evicted." in said and "default/web-0: The disruption budget strict" in said
    assert labeled.count() == 2


def test_all_pods_that_match_are_an_operation(alice: Client, lab: Cluster) -> None:
    add_pods(lab, *(pod(f"bulk-{number}") for number in range(210)))
    page = alice.post(PODS, matching("delete", "q=bulk")).content.decode()
    assert "Delete 210 pods?" in page
    alice.post(PODS, matching("delete", "q=bulk", sure="1"))
    assert Operation.objects.get().title == "Delete 210 pods"


def test_many_nodes_are_drained_as_one_operation(alice: Client, lab: Cluster) -> None:
    names = {"node": ["node-0", "node-1", "node-2"]}
    said = alice.post(NODES, {"action": "drain", **names}).content.decode()
    assert "Drain 3 nodes?" in said and "Also evict the" in said
    alice.post(NODES, {"action": "drain", "sure": "1", "force": "on", **names})
    operation = Operation.objects.get()
    assert (operation.kind, operation.title) == ("drain", "Drain 3 nodes")
    again = alice.post(NODES, {"action": "drain", "sure": "1", **names})
    assert again.status_code == 409
