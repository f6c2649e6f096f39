"""Forms for nodes, pods and YAML: objects are created as entered, errors shown at their fields."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from apps.cluster import kinds, queries
from apps.cluster.models import Cluster, Node, Pod, PriorityClass, Taint
from apps.engine.models import ConfigurationRevision

pytestmark = pytest.mark.django_db

NODE = {"name": "fast-1", "cpu": "16", "memory": "64Gi", "pods": "20", "ready": "on"}
POD = {
    "name": "web",
    "copies": "1",
    "namespace": "default",
    "cpu": "500m",
    "memory": "1Gi",
    "scheduler_name": "default-scheduler",
}


def problem(page: str, field: str) -> str:
    """The error that the page shows at a field."""
    start = page.index(f'id="id_{field}_error"')
    return page[start : page.index("</div>", start)]


def test_a_node_is_created_as_the_form_says(alice: Client, empty: Cluster) -> None:
    typed = {
        **NODE,
        "zone": "zone-9",
        "extended": "example.com/gpu=2\n\nephemeral-storage = 10Gi",
        "labels": "disktype=ssd\nteam=",
        "taints": "dedicated=gpu:NoSchedule\nflaky:PreferNoSchedule",
    }
    response = alice.post("/clusters/bare/new-node", typed)
    assert response.headers["Location"] == "/clusters/bare/nodes/fast-1"
    node = queries.get(empty, kinds.NODE, "", "fast-1")
    assert node["status"]["allocatable"] == {
        "cpu": "16",
        "memory": "64Gi",
        "pods": "20",
        "example.com/gpu": "2",
        "ephemeral-storage": "10Gi",
    }
    labels = node["metadata"]["labels"]
    assert labels["topology.kubernetes.io/zone"] == "zone-9"
    assert (labels["disktype"], labels["team"]) == ("ssd", "")
    assert list(Taint.objects.values_list("key", "value", "effect"))[:2] == [
        ("dedicated", "gpu", "NoSchedule"),
        ("flaky", "", "PreferNoSchedule"),
    ]
    page = alice.get(response.headers["Location"]).content.decode()
    assert "example.com/gpu" in page and "dedicated=gpu:NoSchedule" in page


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("cpu", "much", "is not a quantity"),
        ("memory", "-1Gi", "is negative"),
        ("labels", "ok=1\nnonsense", "line 2"),
        ("labels", "a=1\na=2", "twice"),
        ("labels", "-bad=1", "name part must consist"),
        ("extended", "example.com/gpu", "resource=quantity"),
        ("extended", "example.com/gpu=x", "line 1"),
        ("taints", "dedicated=gpu:Never", "effects are"),
        ("taints", "a/b/c:NoSchedule", "valid label key"),
        ("name", "Not_A_Name", "RFC 1123"),
        ("name", "", "required"),
    ],
)
def test_an_error_in_a_node_is_shown_at_its_field(
    alice: Client, empty: Cluster, field: str, value: str, words: str
) -> None:
    response = alice.post("/clusters/bare/new-node", {**NODE, field: value})
    assert response.status_code == 422
    assert words in problem(response.content.decode(), field)


def test_pods_are_created_as_the_form_says(alice: Client, empty: Cluster) -> None:
    typed = {
        **POD,
        "copies": "3",
        "extended": "example.com/gpu=1",
        "labels": "app=web",
        "node_selector": "disktype=ssd",
        "tolerations": "dedicated=gpu:NoSchedule\nflaky\nkey=value\n*",
        "gates": "example.com/quota",
        "priority_class": "system-node-critical",
    }
    response = alice.post("/clusters/bare/new-pod", typed, follow=True)
    assert "3 pods created" in response.content.decode()
    names = Pod.objects.order_by("name").values_list("name", flat=True)
    assert list(names) == ["web-1", "web-2", "web-3"]
    pod = queries.get(empty, kinds.POD, "default", "web-2")
    spec = pod["spec"]
    assert spec["containers"][0]["resources"] == {
        "requests": {"cpu": "500m", "memory": "1Gi", "example.com/gpu": "1"},
        "limits": {"example.com/gpu": "1"},
    }
    assert spec["nodeSelector"] == {"disktype": "ssd"}
    assert spec["schedulingGates"] == [{"name": "example.com/quota"}]
    assert spec["priority"] == 2_000_001_000
    assert spec["tolerations"][:4] == [
        {"key": "dedicated", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"},
        {"key": "flaky", "operator": "Exists"},
        {"key": "key", "operator": "Equal", "value": "value"},
        {"operator": "Exists"},
    ]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("name", "Bad_Name", "RFC 1123"),
        ("cpu", "much", "is not a quantity"),
        ("copies", "0", "greater than or equal to 1"),
        ("namespace", "nowhere", "valid choice"),
        ("extended", "gpu=1", "fully qualified"),
        ("gates", "not a gate!", "name part must consist"),
        ("tolerations", "a=b:Sometimes", "effects are"),
        ("labels", "-a=b", "name part must consist"),
    ],
)
def test_an_error_in_a_pod_is_shown_at_its_field(
    alice: Client, empty: Cluster, field: str, value: str, words: str
) -> None:
    response = alice.post("/clusters/bare/new-pod", {**POD, field: value})
    assert response.status_code == 422
    assert words in problem(response.content.decode(), field)
    assert not Pod.objects.exists()


def test_a_pod_name_in_use_is_an_error_of_the_name(alice: Client, empty: Cluster) -> None:
    alice.post("/clusters/bare/new-pod", POD)
    response = alice.post("/clusters/bare/new-pod", POD)
    assert "already exists" in problem(response.content.decode(), "name")


def test_yaml_of_any_kind_is_imported(alice: Client, empty: Cluster) -> None:
    high = (
        "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 9\n"
    )
    response = alice.post("/clusters/bare/import", {"manifest": high})
    address = "/clusters/bare/objects/priorityclasses.scheduling.k8s.io/high"
    assert response.headers["Location"] == address
    page = alice.get(address).content.decode()
    assert "value: 9" in page and "alice" in page


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        ("{", "not YAML"),
        ("kind: Pod", "Line 1: apiVersion is required"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {containers: []}", "containers"),
    ],
)
def test_an_error_in_yaml_is_shown_and_nothing_is_created(
    alice: Client, empty: Cluster, manifest: str, words: str
) -> None:
    good = "apiVersion: v1\nkind: Namespace\nmetadata: {name: fine}\n"
    response = alice.post("/clusters/bare/import", {"manifest": f"{manifest}\n---\n{good}"})
    assert response.status_code == 422
    assert words.lower() in problem(response.content.decode(), "manifest").lower()
    assert alice.get("/clusters/bare/objects/namespaces/fine").status_code == 404


def test_an_object_is_edited_unless_it_was_updated_in_the_meantime(
    alice: Client, empty: Cluster
) -> None:
    address = "/clusters/bare/edit/priorityclasses.scheduling.k8s.io/system-node-critical"
    page = alice.get(address)
    text = page.context["form"]["manifest"].value()
    changed = text.replace("description: ", "description: Really, ")
    assert alice.post(address, {"manifest": changed}).status_code == 302
    late = alice.post(address, {"manifest": text})
    assert late.status_code == 409
    assert "description" in late.content.decode().partition('id="conflict"')[2]
    stored = PriorityClass.objects.get(name="system-node-critical").body
    assert stored["description"].startswith("Really, ")


def edit_node(alice: Client, *changes: tuple[str, str]) -> Any:
    """Edit node fast-1, replacing texts of its YAML."""
    address = "/clusters/bare/edit/nodes/fast-1"
    text = alice.get(address).context["form"]["manifest"].value()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return alice.post(address, {"manifest": text})


def test_an_edited_node_is_stored_with_its_capacity(alice: Client, empty: Cluster) -> None:
    alice.post("/clusters/bare/new-node", NODE)
    cpu = queries.get(empty, kinds.NODE, "", "fast-1")["status"]["allocatable"]["cpu"]
    changes = ((f"cpu: {cpu!r}", "cpu: '7'"), ("  labels:", "  labels:\n    tier: gold"))
    assert edit_node(alice, *changes).status_code == 302
    node = queries.get(empty, kinds.NODE, "", "fast-1")
    assert node["metadata"]["labels"]["tier"] == "gold"
    assert node["status"]["capacity"]["cpu"] == node["status"]["allocatable"]["cpu"] == "7"
    assert Node.objects.get(name="fast-1").allocatable["cpu"] == 7000


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("name: fast-1", "name: fast-2", "metadata.name: cannot be changed, it remains fast-1"),
        ("kind: Node", "kind: Pod", "kind: cannot be changed, it remains Node"),
        ("spec: ", "spek: ", "spek: unknown field"),
        ("creationTimestamp: '2", "creationTimestamp: '3", "metadata.creationTimestamp: cannot"),
    ],
)
def test_an_edit_that_cannot_be_stored_whole_is_refused_at_its_line(
    alice: Client, empty: Cluster, old: str, new: str, words: str
) -> None:
    alice.post("/clusters/bare/new-node", NODE)
    before = queries.get(empty, kinds.NODE, "", "fast-1")
    response = edit_node(alice, (old, new), ("  labels:", "  labels:\n    tier: gold"))
    assert response.status_code == 422
    shown = problem(response.content.decode(), "manifest")
    assert words in shown and "Line " in shown
    assert queries.get(empty, kinds.NODE, "", "fast-1") == before


def test_the_status_of_a_pod_is_not_edited(alice: Client, empty: Cluster) -> None:
    alice.post("/clusters/bare/new-pod", POD)
    address = "/clusters/bare/edit/pods/default/web"
    text = alice.get(address).context["form"]["manifest"].value()
    response = alice.post(address, {"manifest": text.replace("phase: Pending", "phase: Failed")})
    assert response.status_code == 422
    assert "status.phase: the status of a Pod is written by" in problem(
        response.content.decode(), "manifest"
    )


def test_an_unknown_field_of_an_import_is_refused_at_its_line(
    alice: Client, empty: Cluster
) -> None:
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec:\n"
        "  containers: [{name: c, image: i}]\n  nodeSelectr: {a: b}\n"
    )
    response = alice.post("/clusters/bare/import", {"manifest": text})
    assert response.status_code == 422
    assert "Line 6: spec.nodeSelectr: unknown field" in problem(
        response.content.decode(), "manifest"
    )
    assert not Pod.objects.exists()


def test_an_object_is_deleted_after_its_consequences_were_shown(
    alice: Client, empty: Cluster
) -> None:
    alice.post("/clusters/bare/new-pod", POD)
    address = "/clusters/bare/delete/pods/default/web"
    assert "The deletion stays in the change log" in alice.get(address).content.decode()
    response = alice.post(address, follow=True)
    assert "Pod web deleted." in response.content.decode()
    assert not Pod.objects.exists()


def test_a_node_is_cordoned_and_uncordoned(alice: Client, empty: Cluster) -> None:
    alice.post("/clusters/bare/new-node", NODE)
    alice.post("/clusters/bare/nodes/fast-1/cordon", {"unschedulable": "true"})
    assert "cordoned" in alice.get("/clusters/bare/nodes").content.decode()
    alice.post("/clusters/bare/nodes/fast-1/cordon", {"unschedulable": "false"})
    node = queries.get(empty, kinds.NODE, "", "fast-1")
    assert not node["spec"].get("unschedulable")


def test_a_new_revision_is_checked_and_becomes_active(alice: Client, empty: Cluster) -> None:
    text = ConfigurationRevision.objects.get(cluster=empty).configuration
    wrong = alice.post("/clusters/bare/new-profile", {"configuration": text.replace("100", "101")})
    assert wrong.status_code == 422
    assert "percentageOfNodesToScore" in problem(wrong.content.decode(), "configuration")
    right = alice.post(
        "/clusters/bare/new-profile",
        {"configuration": text.replace("100", "50"), "note": "half is enough"},
    )
    assert right.headers["Location"] == "/clusters/bare/profiles/2"
    page = alice.get("/clusters/bare/profiles").content.decode()
    assert "half is enough" in page
    alice.post("/clusters/bare/profiles/1/activate")
    assert ConfigurationRevision.objects.get(cluster=empty, active=True).revision == 1
