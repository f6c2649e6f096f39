"""What rejects pods: the plugin that decides, not each one that rejects a node."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client

from apps.cluster import kinds
from apps.cluster.writing import store
from apps.controllers.generating import generate_node
from apps.engine.loop.engines import Engines
from tests.dashboard.conftest import ACTOR, add_pods, create_lab, pod, shown


@pytest.mark.django_db(transaction=True)
def test_a_cordoned_node_is_not_what_rejects_a_pod(alice: Client) -> None:
    """The plugin that rejects most nodes is counted, not each one that rejects a node."""
    lab = create_lab()
    cordoned = generate_node("cordoned", "zone-1")
    cordoned["spec"] = {"unschedulable": True}
    store.create(lab, kinds.NODE, cordoned, actor=ACTOR)
    add_pods(lab, *(pod(f"large-{number}", cpu="90") for number in range(3)))
    Engines().run(lab.pk)
    found = _groups(alice, group="plugin", result="unschedulable", pod="large-*")
    assert {each["keys"]["plugin"] for each in found} == {
        "NodeResourcesFit",
        "NodeUnschedulable",
        "TaintToleration",
    }
    for name, expected in (("plugin", "NodeResourcesFit"), ("reason", "Insufficient cpu")):
        query = {"group": f"main_{name}", "result": "unschedulable", "pod": "large-*"}
        (group,) = _groups(alice, **query)
        assert (group["keys"], group["pods"]) == ({f"main_{name}": expected}, 3)
    overview = shown(alice, "/clusters/lab")
    attention = overview[overview.index('id="attention"') :].partition("</section>")[0]
    assert "NodeResourcesFit" in attention
    assert "NodeUnschedulable" not in attention and "TaintToleration" not in attention


def _groups(client: Client, **query: Any) -> list[dict[str, Any]]:
    answer = client.get(f"/api/v1/clusters/lab/decisions/aggregate?{urlencode(query)}")
    found: list[dict[str, Any]] = answer.json()["groups"]
    return found
