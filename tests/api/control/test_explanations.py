"""Explanations in the control-plane API, with the same sentences as the pages."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.controllers.generating import generate_node
from apps.engine.ledger.reading import read
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision

pytestmark = pytest.mark.django_db(transaction=True)
ACTOR = Actor("tests", "request-1")


@pytest.fixture
def cluster() -> Cluster:
    """Two nodes with 8 CPUs, one dedicated; `first` is bound, `huge` and `late` are pending."""
    made = create_cluster("lab", user="tests", nodes=2, zones=2, tie_break="first-name")
    node = generate_node("reserved", "zone-1")
    node["spec"] = {"taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]}
    store.create(made, kinds.NODE, node, actor=ACTOR)
    create(made, "first", "2")
    Engines().run(made.pk)
    create(made, "huge", "7")
    create(made, "second", "7")
    Engines().run(made.pk)
    create(made, "late", "8")
    Engines().run(made.pk)
    made.refresh_from_db()
    return made


def create(cluster: Cluster, name: str, cpu: str) -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    body = {"metadata": {"name": name}, "spec": {"containers": [container]}}
    store.create(cluster, kinds.POD, body, actor=ACTOR, namespace="default")


def decision_of(name: str) -> int:
    return SchedulingDecision.objects.filter(name=name).order_by("-id").first().pk  # type: ignore[union-attr]


def get(client: Client, path: str, status: int = 200) -> Any:
    response = client.get(f"/api/v1/clusters/{path}")
    assert response.status_code == status, response.content
    return response.json()


def test_the_selected_node_is_compared_with_the_runner_up(
    admin_client: Client, cluster: Cluster
) -> None:
    found = get(admin_client, f"lab/decisions/{decision_of('first')}/explanation")
    assert found["here"]["node"] == "node-0"
    assert found["here"]["other"] == "node-1"
    assert found["sentence"] == found["here"]["sentence"]
    shares = found["here"]["shares"]
    assert sum(share["weighted"] for share in shares) == found["here"]["total"]
    assert sum(share["difference"] for share in shares) == found["here"]["difference"]


def test_a_rejected_node_is_explained_from_the_state_of_the_decision(
    admin_client: Client, cluster: Cluster
) -> None:
    """`second` was decided after `huge` had its node, in one batch; `first` is deleted now."""
    store.delete(cluster, kinds.POD, "default", "first", actor=ACTOR)
    number = decision_of("second")
    found = get(admin_client, f"lab/decisions/{number}/explanation?node=node-1&against=reserved")
    taken, reserved = found["nodes"]
    assert taken["sentence"] == (
        "node-1 was rejected by NodeResourcesFit: "
        "needs cpu 7, free 1 of 8; requested by default/huge (7)."
    )
    assert taken["refusals"][0]["details"][0]["figures"]["free"] == "1"
    assert reserved["sentence"] == (
        "reserved was rejected by TaintToleration: "
        "the pod does not tolerate the taint dedicated=gpu:NoSchedule."
    )
    first = get(admin_client, f"lab/decisions/{number}/explanation?node=node-0")["nodes"][0]
    assert "requested by default/first (2)" in first["sentence"]


def test_a_pending_pod_is_explained_with_suggestions(
    admin_client: Client, cluster: Cluster
) -> None:
    found = get(admin_client, "lab/pods/default/second/explanation")
    assert found["why_pending"] == (
        "It needs 7 cpu, which 2 of 3 nodes do not have free. "
        "1 node has taints that it does not tolerate."
    )
    assert found["message"].startswith("0/3 nodes are available: ")
    assert [(each["sentence"], each["nodes"]) for each in found["unblocking"]["suggestions"]] == [
        ("Lower the request for cpu from 7 to 6", 1),
        ("Add a toleration for the taint dedicated=gpu:NoSchedule", 1),
        ("Evict the pod default/first from node-0", 1),
        ("Evict the pod default/huge from node-1", 1),
    ]
    assert found["place"]["sentence"] == "It is unschedulable and waits for an event that may help."
    assert (
        "A node whose taints the pod tolerates is added or is uncordoned or gets other taints"
        in [each["sentence"] for each in found["wake"]]
    )
    assert found["wake_by_time"].startswith("Without an event it is retried 300 s")
    assert found["decision"] == decision_of("second")


def test_a_pod_without_requests_that_waits_for_its_claim_is_explained(
    admin_client: Client, cluster: Cluster
) -> None:
    """No change of the pod is suggested: it fits on every node, and only its claim is unbound."""
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    kind = kinds.by_name("PersistentVolumeClaim")
    store.create(cluster, kind, claim, actor=ACTOR, namespace="default")
    container = {"name": "c", "image": "i"}
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    body = {
        "metadata": {"name": "stateful"},
        "spec": {"containers": [container], "volumes": [volume]},
    }
    store.create(cluster, kinds.POD, body, actor=ACTOR, namespace="default")
    Engines().run(cluster.pk)
    found = get(admin_client, "lab/pods/default/stateful/explanation")
    assert "unbound immediate PersistentVolumeClaims" in found["message"]
    assert found["unblocking"]["suggestions"] == []
    assert found["why_pending"] == (
        "Its PersistentVolumeClaim data has no volume: it names no StorageClass, and the cluster "
        "has no default one."
    )


def test_a_queued_pod_has_the_pods_ahead_of_it(admin_client: Client, cluster: Cluster) -> None:
    for name in ("a", "b", "c"):
        create(cluster, name, "1")
    found = get(admin_client, "lab/pods/default/c/explanation")
    assert found["why_pending"] == "It waits in activeQ for its first attempt."
    assert found["place"]["position"] == 3
    assert found["place"]["sentence"] == "It is number 3 in activeQ: 2 pods are ahead of it."
    assert found["place"]["groups"] == [{"priority": 0, "namespace": "default", "pods": 2}]


def test_a_paused_cluster_is_the_cause_of_a_pending_pod(
    admin_client: Client, cluster: Cluster
) -> None:
    Cluster.objects.update(paused=True)
    create(cluster, "a", "1")
    found = get(admin_client, "lab/pods/default/a/explanation")
    paused = "The cluster is paused: no pod is scheduled until it is resumed."
    assert found["why_pending"] == f"{paused} It waits in activeQ for its first attempt."
    assert found["place"]["sentence"] == (
        "It is first in activeQ: the next pod to be scheduled once the cluster is resumed."
    )
    assert found["prospect"]["sentence"].endswith(paused)
    page = admin_client.get("/clusters/lab/pods/default/a").content.decode()
    assert paused in page and 'action="/clusters/lab/resume"' in page
    # a pod that needs something else is told both
    found = get(admin_client, "lab/pods/default/second/explanation")
    assert found["why_pending"].startswith(f"{paused} It needs 7 cpu")


def test_the_explanation_of_a_bound_pod_is_empty(admin_client: Client, cluster: Cluster) -> None:
    found = get(admin_client, "lab/pods/default/first/explanation")
    assert (found["why_pending"], found["place"], found["unblocking"]) == ("", None, None)


def test_an_unknown_object_is_404(admin_client: Client, cluster: Cluster) -> None:
    number = decision_of("first")
    assert get(admin_client, "lab/decisions/1/explanation", 404)["message"]
    assert get(admin_client, "lab/decisions/none/explanation", 404)["message"]
    assert get(admin_client, "lab/pods/default/nobody/explanation", 404)["message"]
    asked = get(admin_client, f"lab/decisions/{number}/explanation?node=atlantis")
    assert asked["nodes"][0]["outcome"] == "unknown"
    refused = get(admin_client, f"lab/decisions/{number}/explanation?against=node-0", 400)
    assert "against" in refused["message"]


def test_unauthenticated_requests_are_401(client: Client, cluster: Cluster) -> None:
    get(client, "lab/pods/default/second/explanation", 401)


def test_every_score_has_its_inputs_however_old_the_decision(
    admin_client: Client, cluster: Cluster
) -> None:
    """`first` is deleted, and its node is drained of everything: the inputs are those of then."""
    store.delete(cluster, kinds.POD, "default", "first", actor=ACTOR)
    for name in ("first", "huge"):
        number = decision_of(name)
        row = SchedulingDecision.objects.get(pk=number)
        decision = read(row).decision
        names = [decision.nodes[place] for place in decision.feasible]
        query = "&".join(f"node={each}" for each in names)
        nodes = get(admin_client, f"lab/decisions/{number}/inputs?{query}")["nodes"]
        assert [node["node"] for node in nodes] == names and names
        for node in nodes:
            assert sum(score["weighted"] for score in node["scores"]) == node["total"]
            for score in node["scores"]:
                recorded = decision.scores_of(node["node"])[score["plugin"]]
                assert (score["raw"], score["normalized"], score["weighted"]) == recorded
                if score["plugin"] != "DynamicResources":
                    assert score["gap"] == ""
                    assert score["inputs"][-1]["figures"]["score"] == score["raw"]


def test_inputs_of_one_score_are_sentences_with_figures(
    admin_client: Client, cluster: Cluster
) -> None:
    path = f"lab/decisions/{decision_of('huge')}/inputs"
    (node,) = get(admin_client, f"{path}?plugin=NodeResourcesFit")["nodes"]
    address = f"/api/v1/clusters/{path}/export?format=json&plugin=NodeResourcesFit"
    (row, *_) = json.loads(b"".join(admin_client.get(address).streaming_content))  # type: ignore[attr-defined]
    (score,) = node["scores"]
    assert score["sentence"].startswith(f"{node['node']} has {score['weighted']} points from")
    assert score["inputs"][0] == {
        "sentence": "cpu: 0 requested on the node + 7 of the pod = 7 of 8: free 100 × 1 / 8 = "
        "12.5, rounded down to 12",
        "figures": {
            "resource": "cpu",
            "requested": "0",
            "pod": "7",
            "used": "7",
            "allocatable": "8",
            "assumed": "0",
            "utilization": "87.5 %",
            "score": 12,
            "weight": 1,
        },
    }
    assert row["step"] == "input" and row["figures"] == score["inputs"][0]["figures"]


def test_inputs_that_nothing_has_are_errors(admin_client: Client, cluster: Cluster) -> None:
    path = f"lab/decisions/{decision_of('first')}/inputs"
    assert "nothing" in get(admin_client, f"{path}?node=nothing", 404)["message"]
    assert "Nothing" in get(admin_client, f"{path}?plugin=Nothing", 404)["message"]
    assert "nodes" in get(admin_client, f"{path}?nodes=node-1", 400)["message"]
    assert get(admin_client, f"lab/decisions/{decision_of('late')}/inputs") == {"nodes": []}
    for address in (path, f"{path}/export", path.replace("inputs", "order")):
        assert Client().get(f"/api/v1/clusters/{address}").status_code == 401


def test_the_visiting_order_takes_a_node_of_each_zone_in_turn(
    admin_client: Client, cluster: Cluster
) -> None:
    order = get(admin_client, f"lab/decisions/{decision_of('late')}/order")
    assert [each["zone"].rpartition("/")[2] for each in order["nodes"]] == [
        "zone-1",
        "zone-2",
        "zone-1",
    ]
    assert {each["outcome"] for each in order["nodes"]} == {"rejected"}
    assert (order["start"], order["evaluated"], order["stop"]) == (0, 3, 0)
    assert order["sentence"] == (
        "The search started at node-0, position 1 of 3, and evaluated all nodes."
    )
