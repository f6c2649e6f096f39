"""The board of pods on nodes: what the filters answer, and that nothing moves."""

from __future__ import annotations

import pytest
from django.test import Client

from apps.cluster.models import Cluster, Pod
from tests.dashboard.conftest import add_pods, pod, shown

pytestmark = pytest.mark.django_db


def test_the_board_shows_pods_on_their_nodes_and_asks_the_filters(
    alice: Client, lab: Cluster
) -> None:
    running = Pod.objects.filter(cluster=lab).exclude(node_name="").first()
    assert running is not None
    page = shown(alice, "/clusters/lab/placement")
    spot = page.split(f'data-node="{running.node_name}"')[1].split("</section>")[0]
    key = f"{running.namespace}/{running.name}"
    assert f'data-pod="{key}"' in spot
    before = page.split('aria-label="Pods without a node"')[1].split("</section>")[0]
    assert 'data-pod="default/huge"' in before
    # the node where it runs would take it again, as if it were not there
    page = shown(alice, f"/clusters/lab/placement?pod={key}&node={running.node_name}")
    assert f"{key} could run on {running.node_name}, where it runs now." in page
    refused = shown(alice, "/clusters/lab/placement?pod=default/huge&node=node-0")
    assert "default/huge cannot run on node-0." in refused
    assert "NodeResourcesFit: needs cpu" in refused
    running.refresh_from_db()
    assert f"{running.namespace}/{running.name}" == key


def test_all_nodes_are_asked_at_once(alice: Client, lab: Cluster) -> None:
    add_pods(lab, pod("small", cpu="1"))
    query = "node=node-0&node=node-1"
    answer = alice.get(f"/clusters/lab/placement/default/small?{query}").json()
    assert [(each["node"], each["fits"]) for each in answer["nodes"]] == [
        ("node-0", True),
        ("node-1", True),
    ]
    huge = alice.get("/clusters/lab/placement/default/huge?node=node-1").json()
    (found,) = huge["nodes"]
    assert not found["fits"] and found["refusals"][0]["plugin"] == "NodeResourcesFit"
    for wrong, status in (
        ("none?node=node-0", 404),
        ("huge?node=none", 404),
        ("huge?" + "node=node-0&" * 25, 400),
    ):
        assert alice.get(f"/clusters/lab/placement/default/{wrong}").status_code == status, wrong
    assert alice.get("/clusters/lab/placement?nod=a").status_code == 400
