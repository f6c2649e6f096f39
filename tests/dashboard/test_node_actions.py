"""Actions on nodes from the pages."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from django.test import Client

from apps.cluster import kinds
from apps.cluster.models import Cluster, Node, Pod
from apps.cluster.writing import store
from apps.engine.models import Operation
from tests.dashboard.conftest import ACTOR, add_pods, pod, shown

pytestmark = pytest.mark.django_db


def act(alice: Client, action: str, *nodes: str, **fields: str) -> str:
    data = {"action": action, "node": list(nodes), **fields}
    return alice.post("/clusters/lab/change-nodes", data, follow=True).content.decode()


def node(name: str) -> Node:
    return Node.objects.get(name=name)


def press_undo(alice: Client, page: str) -> str:
    """Send the form of the notice's Undo button; returns the text of the next notice."""
    form = re.search(r'action="([^"]*undo-nodes)">(.*?)</form>', page, re.S)
    assert form is not None
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form[2]))
    page = alice.post(form[1], fields, follow=True).content.decode()
    notices = re.findall(r'<p class="notice.*?</p>', page, re.S)
    return " ".join(re.sub(r"<[^>]+>", "", " ".join(notices)).split())


def test_undo_changes_back_only_the_nodes_that_were_changed(alice: Client, lab: Cluster) -> None:
    act(alice, "cordon", "node-1")
    said = act(alice, "cordon", "node-0", "node-1")
    assert "Node node-0 cordoned." in said
    assert press_undo(alice, said) == "Undone on node-0: schedulable."
    assert (node("node-0").unschedulable, node("node-1").unschedulable) == (False, True)
    again = act(alice, "cordon", "node-1")
    assert "Nothing changed" in again and "Undo" not in again


def test_the_page_of_a_node_says_who_cordoned_it(alice: Client, lab: Cluster) -> None:
    act(alice, "cordon", "node-1")
    page = alice.get("/clusters/lab/nodes/node-1").content.decode()
    history = page[page.index('id="history"') :]
    newest = re.sub(r"(<[^>]+>|\s)+", " ", history[history.index("<tbody") :])
    assert re.search(r"updated spec.unschedulable not set → true alice", newest)


def test_undo_restores_earlier_values_and_keeps_later_ones(alice: Client, lab: Cluster) -> None:
    act(alice, "label", "node-0", text="tier=web")
    act(alice, "taint", "node-1", text="team=a:NoSchedule")
    act(alice, "taint", "node-0", text="team=b:NoSchedule")
    said = act(alice, "label", "node-0", "node-1", "node-2", text="tier=db")
    act(alice, "label", "node-2", text="tier=cache")
    undone = press_undo(alice, said)
    assert "Undone on node-0, node-1: label tier removed, label tier=web restored." in undone
    assert "Not restored: node-2: label tier was changed since, and stays as it is." in undone
    labels = [node(f"node-{number}").labels.get("tier") for number in range(3)]
    assert labels == ["web", None, "cache"]

    said = act(alice, "taint", "node-0", "node-1", text="team=c:NoSchedule")
    assert "taint team=a:NoSchedule restored, taint team=b:NoSchedule" in press_undo(alice, said)
    said = act(alice, "taint", "node-0", text="team:NoSchedule-")
    assert "taint team=b:NoSchedule restored" in press_undo(alice, said)
    values = [node(f"node-{n}").body["spec"]["taints"][0]["value"] for n in range(2)]
    assert values == ["b", "a"]


def test_an_edit_that_evicts_pods_is_confirmed_first(alice: Client, lab: Cluster) -> None:
    bare = Pod.objects.get(cluster=lab, name="web-1")
    address = f"/clusters/lab/edit/nodes/{bare.node_name}"
    body = yaml.safe_load(alice.get(address).context["form"].fields["manifest"].initial)
    body["spec"] = {"taints": [{"key": "broken", "effect": "NoExecute"}]}
    text = yaml.safe_dump(body)
    asked = alice.post(address, {"manifest": text}).content.decode()
    assert "Save and evict" in asked and ">web-1<" in asked
    assert not node(bare.node_name).body["spec"].get("taints")
    alice.post(address, {"manifest": text, "sure": "1"})
    assert node(bare.node_name).body["spec"]["taints"][0]["key"] == "broken"


@pytest.mark.parametrize(
    ("action", "text", "path", "wanted"),
    [
        ("taint", "dedicated=db:NoSchedule", ("spec", "taints"), None),
        ("label", "disk=ssd", ("metadata", "labels"), "ssd"),
    ],
)
def test_taints_and_labels_are_set_and_removed(
    alice: Client, lab: Cluster, action: str, text: str, path: tuple[str, str], wanted: Any
) -> None:
    before = node("node-0").body[path[0]].get(path[1]) or []
    assert "Undo" in act(alice, action, "node-0", text=text)
    after = node("node-0").body[path[0]][path[1]]
    assert len(after) == len(before) + 1
    if wanted:
        assert after["disk"] == wanted
    gone = "dedicated:NoSchedule-" if action == "taint" else "disk-"
    act(alice, action, "node-0", text=gone)
    assert (node("node-0").body[path[0]].get(path[1]) or []) == before


@pytest.mark.parametrize(
    ("action", "text", "problem"),
    [
        ("taint", "dedicated", "neither key=value:Effect"),
        ("taint", "dedicated=db:Never", "effects are NoSchedule"),
        ("label", "disk", "neither key=value nor key-"),
        ("paint", "", "unknown action"),
    ],
)
def test_an_invalid_action_shows_the_reason_and_changes_nothing(
    alice: Client, lab: Cluster, action: str, text: str, problem: str
) -> None:
    before = node("node-0").resource_version
    assert problem in act(alice, action, "node-0", text=text)
    assert node("node-0").resource_version == before


def test_an_invalid_label_shows_an_error(alice: Client, lab: Cluster) -> None:
    assert "label" in act(alice, "label", "node-0", text="a b=c")
    assert "a b" not in node("node-0").labels


def test_deleting_nodes_shows_the_consequences_first(alice: Client, lab: Cluster) -> None:
    bound = Pod.objects.filter(cluster=lab).exclude(node_name="").count()
    said = act(alice, "delete", "node-0", "node-1", "node-2")
    assert "Delete 3 nodes?" in said and f"{bound} pods bound to them" in said
    assert Node.objects.filter(cluster=lab).count() == 4
    act(alice, "delete", "node-0", "node-1", sure="1")
    assert set(Node.objects.filter(cluster=lab).values_list("name", flat=True)) == {
        "node-2",
        "gpu-1",
    }


@pytest.mark.parametrize("status", ["False", "Unknown"])
def test_a_node_is_set_not_ready_and_ready(alice: Client, lab: Cluster, status: str) -> None:
    address = "/clusters/lab/nodes/node-0/condition"
    said = alice.post(address, {"type": "Ready", "status": status}, follow=True).content.decode()
    assert not node("node-0").ready and "Undo" in said
    assert "evicted after 300 s. No controller recreates default/web-" in said
    alice.post(address, {"type": "Ready", "status": "True"})
    assert node("node-0").ready
    alice.post(address, {"type": "DiskPressure", "status": "True"})
    page = shown(alice, "/clusters/lab/nodes/node-0")
    assert "KubeletHasDiskPressure" in page and ">Clear<" in page
    pressure = next(
        c for c in node("node-0").body["status"]["conditions"] if c["type"] == "DiskPressure"
    )
    assert "lastProbeTime" not in pressure
    assert alice.post(address, {"type": "Mood", "status": "True"}).status_code == 422


def test_the_preview_of_a_drain_shows_its_effect_on_each_pod(alice: Client, lab: Cluster) -> None:
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "web",
        "uid": "u",
        "controller": True,
    }
    owned, daemon = pod("owned-1", nodeName="node-0"), pod("agent-1", nodeName="node-0")
    owned["metadata"]["ownerReferences"] = [owner]
    daemon["metadata"]["ownerReferences"] = [{**owner, "kind": "DaemonSet", "name": "agent"}]
    add_pods(lab, owned, daemon, pod("alone", nodeName="node-0"))
    page = alice.get("/clusters/lab/nodes/node-0/drain").content.decode()
    moving, _, others = page.partition("Would be lost")
    assert "owned-1" in moving and "alone" in others
    assert "belongs to the DaemonSet agent" in others


def test_a_drain_is_an_operation_and_a_second_one_is_rejected(alice: Client, lab: Cluster) -> None:
    for wrong in ("86401", "0", "-1", "soon", "9" * 5_000):
        long = alice.post("/clusters/lab/nodes/node-0/drain", {"timeout": wrong})
        assert long.status_code == 400
        assert "imeout: must be between 1 and 86,400 seconds" in long.content.decode()
    response = alice.post("/clusters/lab/nodes/node-0/drain", {"force": "on", "timeout": "5"})
    operation = Operation.objects.get()
    assert response.headers["Location"] == f"/operations/{operation.pk}"
    assert operation.arguments == {"node": "node-0", "force": True, "timeout": 5}
    refused = alice.post("/clusters/lab/nodes/node-1/drain", {})
    assert refused.status_code == 409
    assert "Drain node-0" in refused.content.decode()
    assert (
        "Another drain is running" in alice.get("/clusters/lab/nodes/node-1/drain").content.decode()
    )


def test_pausing_can_be_undone(alice: Client, lab: Cluster) -> None:
    said = alice.post("/clusters/lab/pause", {"next": "/"}, follow=True).content.decode()
    assert "Cluster lab paused" in said and 'action="/clusters/lab/resume"' in said
    store.patch(lab, kinds.NODE, "", "node-0", lambda body: body, actor=ACTOR)
    assert (
        alice.post("/clusters/lab/resume", {"next": "//evil"}).headers["Location"]
        == "/clusters/lab"
    )


def test_mock_usage_is_set_and_a_mistake_names_its_field(alice: Client, lab: Cluster) -> None:
    address = "/clusters/lab/nodes/node-0/usage"
    wrong = alice.post(address, {"memory": "much", "hard": "memory<1"}, follow=True)
    text = " ".join(wrong.content.decode().split())
    assert "Memory: &#x27;much&#x27; is no percentage, quantity or curve" in text
    assert "Hard eviction thresholds: &#x27;memory&lt;1&#x27; is not SIGNAL&lt;VALUE" in text
    assert "annotations" not in node("node-0").body["metadata"]
    fields = {"memory": "90%", "hard": "memory.available<20%", "disk": ""}
    page = alice.post(address, fields, follow=True).content.decode()
    assert 'value="90%"' in page and "Mock usage of node node-0 set." in page
    assert node("node-0").body["metadata"]["annotations"] == {
        "kubelet.schedweb.dev/usage-memory": "90%",
        "kubelet.schedweb.dev/eviction-hard": "memory.available<20%",
    }
    alice.post(address, {}, follow=True)
    assert not node("node-0").body["metadata"].get("annotations")


def test_a_taint_that_the_node_controller_sets_again_cannot_be_removed(
    alice: Client, lab: Cluster
) -> None:
    taints = [
        {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
        {"key": "team", "value": "ml", "effect": "NoSchedule"},
    ]

    def taint(body: Any) -> Any:
        return {**body, "spec": {**body["spec"], "unschedulable": True, "taints": taints}}

    store.patch(lab, kinds.NODE, "", "node-1", taint, actor=ACTOR)
    page = alice.get("/clusters/lab/nodes/node-1").content.decode()
    assert 'value="team:NoSchedule-"' in page and "by the node controller" in page
    assert 'value="node.kubernetes.io/unschedulable:NoSchedule-"' not in page
