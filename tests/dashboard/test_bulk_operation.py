"""An action on more nodes than one request changes, run by a worker."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import QuerySet
from django.test import Client

from apps.administration.clusters.lifecycle import create_cluster
from apps.administration.operations import running
from apps.cluster import kinds
from apps.cluster.models import Node
from apps.cluster.writing import store
from apps.controllers.generating import generate_node
from apps.engine.models import Operation
from tests.dashboard.conftest import ACTOR, add_pods, pod, shown

pytestmark = pytest.mark.django_db(transaction=True)


def act(alice: Client, action: str, query: str, **fields: str) -> Any:
    data = {"action": action, "matching": "1", "filter": query, **fields}
    return alice.post("/clusters/wide/change-nodes", data)


def run_operation(response: Any) -> Operation:
    """Run the operation that a response leads to."""
    operation = Operation.objects.latest("pk")
    assert response.headers["Location"] == f"/operations/{operation.pk}"
    running.run(operation.pk)
    operation.refresh_from_db()
    return operation


def undo_annotations(alice: Client, bulk: QuerySet[Node]) -> None:
    """The page of an operation offers to undo it; what changed since then stays as it is."""
    done = Operation.objects.latest("pk")
    alice.post(
        "/clusters/wide/change-nodes",
        {"action": "annotate", "node": "bulk-3", "text": "team=platform"},
    )
    assert f'action="/operations/{done.pk}/undo"' in shown(alice, f"/operations/{done.pk}")
    undone = run_operation(alice.post(f"/operations/{done.pk}/undo"))
    assert undone.message == (
        "Undone on 229 nodes: annotation team removed. Not restored: bulk-3: annotation team was "
        "changed since, and stays as it is"
    )
    teams = [node.body["metadata"].get("annotations", {}).get("team") for node in bulk.all()]
    assert sorted(filter(None, teams)) == ["platform"]
    again = alice.post(f"/operations/{undone.pk}/undo")
    assert again.status_code == 400 and "cannot be undone" in again.content.decode()


def test_an_action_on_all_that_match_is_an_operation(alice: Client) -> None:
    cluster = create_cluster("wide", user="alice", nodes=3)
    bodies = [(kinds.NODE, generate_node(f"bulk-{number}", "zone-9")) for number in range(230)]
    store.create_many(cluster, bodies, actor=ACTOR)
    add_pods(cluster, pod("lost", nodeName="bulk-7"))
    for action, text in (("cordon", ""), ("label", "disk=ssd"), ("annotate", "team=ops")):
        operation = run_operation(act(alice, action, "zone=zone-9", text=text))
        assert operation.state == "succeeded", operation.cause
        assert operation.message.startswith(f"230 nodes {action}")
        assert (operation.done, operation.total) == (230, 230)
    bulk = Node.objects.filter(cluster=cluster, name__startswith="bulk")
    assert bulk.filter(unschedulable=True, labels__disk="ssd").count() == 230
    assert bulk.first().body["metadata"]["annotations"]["team"] == "ops"
    assert not Node.objects.filter(cluster=cluster, name__startswith="node", unschedulable=True)
    undo_annotations(alice, bulk)
    refused = run_operation(act(alice, "drain", "zone=zone-9", sure="1"))
    assert "no controller recreates 1 pod of 230 nodes (lost)" in refused.cause
    assert "nodes?state=cordoned" in alice.get(f"/operations/{refused.pk}").content.decode()
    page = act(alice, "delete", "zone=zone-9").content.decode()
    assert "Delete 230 nodes?" in page and "and 130 more" in page and bulk.count() == 230
    deleted = run_operation(act(alice, "delete", "zone=zone-9", sure="1"))
    assert deleted.message == "230 nodes deleted" and not bulk.exists()
