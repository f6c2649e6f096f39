"""The pages of every kind: columns, related objects, consequences of deleting an object."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from django.test import Client

from apps.cluster import kinds
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster, Node, Pod, PriorityClass
from apps.cluster.writes import Create, Update
from apps.cluster.writing import store
from apps.dashboard.forms.manifest import load_example
from tests.dashboard.conftest import ACTOR, add_pods, pod

pytestmark = pytest.mark.django_db

PDB = kinds.by_name("PodDisruptionBudget")
BUDGET = {
    "metadata": {"name": "web"},
    "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
}


def budget(cluster: Cluster) -> None:
    store.write(cluster, [Create(PDB, BUDGET, "default")], actor=ACTOR)


@pytest.mark.parametrize("kind", kinds.ALL, ids=lambda kind: kind.name)
def test_each_kind_has_an_example_that_is_accepted(
    alice: Client, empty: Cluster, kind: Kind
) -> None:
    text = load_example(kind.name.lower())
    assert yaml.safe_load(text)["kind"] == kind.name
    address = f"/clusters/bare/new/{kind.qualified_plural}"
    assert text.splitlines()[0] in alice.get(address).content.decode()
    response = alice.post(address, {"manifest": text})
    assert response.status_code == 302, response.content.decode()
    assert kind.model._default_manager.filter(cluster=empty).exists()


def test_a_list_has_the_columns_of_kubectl_and_sorts_by_them(alice: Client, lab: Cluster) -> None:
    resource = "/clusters/lab/objects/priorityclasses.scheduling.k8s.io"
    page = alice.get(f"{resource}?sort=-Value").content.decode()
    assert "Global-Default" in page and "2,000,001,000" in page
    assert page.index("system-node-critical") < page.index("system-cluster-critical")
    up = alice.get(f"{resource}?sort=Value").content.decode()
    assert up.index("system-cluster-critical") < up.index("system-node-critical")


def test_the_list_of_roles_has_the_default_ones(alice: Client, lab: Cluster) -> None:
    page = alice.get("/clusters/lab/objects/clusterroles.rbac.authorization.k8s.io")
    assert "cluster-admin" in page.content.decode()


def test_a_list_is_filtered_by_labels(alice: Client, lab: Cluster) -> None:
    page = alice.get("/clusters/lab/objects/pods?labels=app%3Dhuge").content.decode()
    assert "huge" in page and "web-1" not in page
    assert alice.get("/clusters/lab/objects/pods?labels=%3D%3D").status_code == 400


def test_a_budget_shows_its_pods_and_the_consequences_of_deleting_it(
    alice: Client, lab: Cluster
) -> None:
    budget(lab)
    page = alice.get("/clusters/lab/objects/poddisruptionbudgets.policy/default/web")
    text = page.content.decode()
    assert "Selected pods" in text and "/clusters/lab/pods/default/web-1" in text
    assert "/clusters/lab/pods?namespace=default&amp;labels=app%3Dweb" in text
    address = "/clusters/lab/delete/poddisruptionbudgets.policy/default/web"
    assert "3 pods it selects will no longer be protected" in alice.get(address).content.decode()


def test_an_object_is_created_like_another(alice: Client, lab: Cluster) -> None:
    found = Pod.objects.get(cluster=lab, name="web-1")
    address = f"/clusters/lab/new/pods?like={found.uid}"
    text = alice.get(address).context["form"].fields["manifest"].initial
    body = yaml.safe_load(text)
    assert body["metadata"]["name"] == "web-1-copy"
    assert "uid" not in body["metadata"] and "status" not in body
    assert "nodeName" not in body["spec"]
    assert alice.post(address, {"manifest": text}).status_code == 302
    assert Pod.objects.filter(cluster=lab, name="web-1-copy", node_name="").exists()
    # the address and the node port of a service are its own
    exposed = {"type": "NodePort", "ports": [{"port": 80}]}
    body = {"metadata": {"name": "web"}, "spec": exposed}
    service = Create(kinds.by_name("Service"), body, "default")
    original = store.write(lab, [service], actor=ACTOR)[0]
    assert isinstance(original, dict)
    address = f"/clusters/lab/new/services?like={original['metadata']['uid']}"
    text = alice.get(address).context["form"].fields["manifest"].initial
    assert alice.post(address, {"manifest": text}).status_code == 302
    copies = service.kind.objects(lab).filter(name__in=("web", "web-copy"))
    assert len({body["spec"]["clusterIP"] for body in copies.values_list("body", flat=True)}) == 2


def test_an_invalid_uid_is_an_error(alice: Client, lab: Cluster) -> None:
    assert alice.get("/clusters/lab/new/pods?like=nonsense").status_code == 400


def test_selected_pods_are_deleted_after_the_consequences_were_shown(
    alice: Client, lab: Cluster
) -> None:
    chosen = {"action": "delete", "pod": ["default/web-0", "default/huge", "default/nothing"]}
    page = alice.post("/clusters/lab/change-pods", chosen).content.decode()
    assert "Delete 2 pods?" in page and "1 of them is bound" in page and "cpu 500m" in page
    assert Pod.objects.filter(cluster=lab, name="huge").exists()
    done = alice.post("/clusters/lab/change-pods", {**chosen, "sure": "1"}, follow=True)
    assert "2 pods deleted" in done.content.decode()
    assert not Pod.objects.filter(cluster=lab, name="huge").exists()


def test_without_a_selection_nothing_is_deleted(alice: Client, lab: Cluster) -> None:
    done = alice.post("/clusters/lab/change-pods", {"sure": "1"}, follow=True)
    assert "No pods selected" in done.content.decode()


@pytest.mark.parametrize(
    ("query", "first", "absent"),
    [
        ("sort=-cpu", "huge", ""),
        ("sort=-priority", "important", ""),
        ("priority=1000", "important", "web-1"),
        ("state=unschedulable", "huge", "web-1"),
        ("state=gated", "held", "huge"),
        ("state=bound", "web-0", "huge"),
        ("labels=app%3Dhuge", "huge", "web-0"),
        ("q=eb-2", "web-2", "web-1"),
    ],
)
def test_pods_are_sorted_and_filtered(
    alice: Client, lab: Cluster, query: str, first: str, absent: str
) -> None:
    body = {"metadata": {"name": "high"}, "value": 1000}
    store.create(lab, kinds.PRIORITY_CLASS, body, actor=ACTOR)
    assert PriorityClass.objects.filter(cluster=lab, name="high").exists()
    add_pods(lab, pod("important", cpu="1", priorityClassName="high"))
    rows = alice.get(f"/clusters/lab/pods?{query}").context["pods"].page.rows
    names = [row.pod.name for row in rows]
    assert names[0] == first and absent not in names


def test_a_priority_that_is_not_a_number_is_an_error(alice: Client, lab: Cluster) -> None:
    assert alice.get("/clusters/lab/pods?priority=high").status_code == 400


def test_a_deleted_pod_still_has_a_timeline(alice: Client, lab: Cluster) -> None:
    uid = Pod.objects.get(cluster=lab, name="web-1").uid
    options: dict[str, Any] = {"gracePeriodSeconds": 0}
    store.delete(lab, kinds.POD, "default", "web-1", actor=ACTOR, options=options)
    led = alice.get("/clusters/lab/pods/default/web-1")
    assert (led.status_code, led.headers["Location"]) == (302, f"/clusters/lab/stories/{uid}")
    page = alice.get(f"/clusters/lab/stories/{uid}").content.decode()
    assert "This pod was deleted" in page and "attempt 1" in page and ">deleted<" in page
    assert alice.get(f"/clusters/lab/stories/{Cluster.objects.get().uid}").status_code == 404
    # of two that had the name, both are offered
    add_pods(lab, pod("web-1"))
    other = Pod.objects.get(cluster=lab, name="web-1").uid
    store.delete(lab, kinds.POD, "default", "web-1", actor=ACTOR, options=options)
    gone = alice.get("/clusters/lab/pods/default/web-1")
    assert gone.status_code == 404
    assert all(f"/clusters/lab/stories/{each}" in gone.content.decode() for each in (uid, other))


def test_a_bound_pod_alone_does_not_ask_whether_others_will_run(
    alice: Client, lab: Cluster
) -> None:
    for query, asks in (("", True), ("?q=web-1", False), ("?q=huge", True), ("?page=1", True)):
        page = alice.get(f"/clusters/lab/pods{query}").content.decode()
        assert ("/clusters/lab/prospects" in page[page.index("<main") :]) == asks, query


def test_custom_resources_have_pages_like_other_kinds(alice: Client, empty: Cluster) -> None:
    column = {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "additionalPrinterColumns": [column],
    }
    # a kind with the name of a built-in one
    names = {"plural": "services", "kind": "Service", "singular": "service"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    body = {"metadata": {"name": "services.example.com"}, "spec": spec}
    store.write(empty, [Create(kinds.by_name("CustomResourceDefinition"), body)], actor=ACTOR)
    resource = "services.example.com"
    manifest = alice.get(f"/clusters/bare/new/{resource}").context["form"]["manifest"].value()
    filled = {**yaml.safe_load(manifest), "spec": {"size": 4321}}
    created = alice.post(f"/clusters/bare/new/{resource}", {"manifest": yaml.safe_dump(filled)})
    page = f"/clusters/bare/objects/{resource}/default/example"
    assert created.headers["Location"] == page

    kinds_page = alice.get("/clusters/bare/objects").content.decode()
    assert "Custom resources" in kinds_page and f"/clusters/bare/objects/{resource}" in kinds_page
    assert "4,321" in alice.get(f"/clusters/bare/objects/{resource}").content.decode()
    shown = alice.get(page).content.decode()
    assert "example.com/v1" in shown and "get services.example.com example" in shown
    wrong = {**filled, "spec": {"size": "big"}}
    edited = alice.post(page.replace("/objects/", "/edit/"), {"manifest": yaml.safe_dump(wrong)})
    assert edited.status_code == 422 and "spec.size" in edited.content.decode()
    assert alice.post(page.replace("/objects/", "/delete/")).status_code == 302
    assert alice.get(page).status_code == 404
    assert alice.get("/clusters/bare/objects/gadgets.example.com").status_code == 404


def test_a_conflict_shows_what_changed_and_merges_the_edits(alice: Client, lab: Cluster) -> None:
    address = "/clusters/lab/edit/nodes/node-0"
    form = alice.get(address)
    opened = yaml.safe_load(form.context["form"]["manifest"].value())
    assert "managedFields" not in opened["metadata"]

    def change(body: dict[str, Any]) -> dict[str, Any]:
        labels = {**body["metadata"]["labels"], "disk": "ssd", "rack": "7"}
        metadata = {**body["metadata"], "labels": labels}
        return {**body, "metadata": metadata, "spec": {**body["spec"], "unschedulable": True}}

    store.write(lab, [Update(kinds.NODE, "", "node-0", change)], actor=ACTOR)
    opened["metadata"]["labels"] |= {"team": "blue", "rack": "8"}
    typed = {"manifest": yaml.safe_dump(opened)}
    refused = alice.post(address, typed)
    page = refused.content.decode()
    assert refused.status_code == 409 and "Not saved." in page and "team: blue" in page
    for path in ("spec.unschedulable", "metadata.labels.disk"):
        assert f"<code>{path}</code>" in page
    assert "Changed by you and by somebody else" in page and "metadata.labels.rack" in page

    merged = alice.post(address, {**typed, "merge": "1"})
    assert "Check them, then save." in merged.content.decode()
    manifest = merged.context["form"]["manifest"].value()
    assert alice.post(address, {"manifest": manifest}).status_code == 302
    stored = Node.objects.get(cluster=lab, name="node-0").body
    labels = stored["metadata"]["labels"]
    assert (labels["team"], labels["disk"], labels["rack"]) == ("blue", "ssd", "8")
    assert stored["spec"]["unschedulable"] is True
