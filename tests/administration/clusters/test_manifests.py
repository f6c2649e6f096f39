"""Imports of what kubectl writes: typed lists, and objects that own each other."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from apps.administration.clusters import manifests
from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster import kinds
from apps.cluster.manifests import ManifestError
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor

TYPE = {"apiVersion": "apps/v1", "kind": "ReplicaSet"}
STRANGE = "11111111-1111-1111-1111-111111111111"


def owned(name: str, *owners: tuple[str, str]) -> dict[str, Any]:
    """A pod, and its owners by kind and name, with the uids of another cluster."""
    references = [
        {"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": STRANGE, "controller": True}
        for kind, owner in owners
    ]
    metadata = {"name": name, "namespace": "default", "labels": {"app": "web"}}
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {"metadata": {**metadata, "uid": STRANGE, "ownerReferences": references}, "spec": spec}


def replica_set(name: str) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": owned("x")["spec"]}
    selector = {"matchLabels": {"app": "web"}}
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": 1, "selector": selector, "template": template},
    }


@pytest.fixture
def cluster(db: None) -> Cluster:
    return create_cluster("c1", user="alice")


def references(cluster: Cluster, name: str) -> list[tuple[str, str]]:
    """Name and uid of the owners of a pod."""
    body = kinds.POD.model._default_manager.get(cluster=cluster, name=name).body
    return [(each["name"], each["uid"]) for each in body["metadata"].get("ownerReferences", ())]


def test_items_of_typed_lists_have_the_type_of_the_list(cluster: Cluster) -> None:
    pods = {"kind": "PodList", "apiVersion": "v1", "items": [owned("a"), owned("b")]}
    sets = {"kind": "ReplicaSetList", "apiVersion": "apps/v1", "items": [replica_set("web")]}
    text = json.dumps(pods, indent=4) + "\n---\n" + json.dumps(sets)
    created = manifests.import_yaml(cluster, text, actor=Actor("alice")).created
    assert [(body["kind"], body["metadata"]["name"]) for body in created] == [
        ("ReplicaSet", "web"),
        ("Pod", "a"),
        ("Pod", "b"),
    ]


def test_imported_objects_refer_to_imported_owners(cluster: Cluster) -> None:
    pods = [owned("kept", ("ReplicaSet", "web")), owned("alone", ("ReplicaSet", "missing"))]
    typed = [{"kind": "Pod", "apiVersion": "v1", **pod} for pod in pods]
    owner = {"kind": "ReplicaSet", "apiVersion": "apps/v1", **replica_set("web")}
    text = json.dumps({"kind": "List", "apiVersion": "v1", "items": [*typed, owner]})
    created = manifests.import_yaml(cluster, text, actor=Actor("alice")).created
    uid = created[0]["metadata"]["uid"]
    assert uid != STRANGE
    assert references(cluster, "kept") == [("web", uid)]
    # the garbage collector would delete a pod whose only owner does not exist
    assert references(cluster, "alone") == []
    # a reference to an object of the cluster stays
    more = owned("later", ("ReplicaSet", "web"))
    more["metadata"]["ownerReferences"][0]["uid"] = uid
    text = json.dumps({"kind": "Pod", "apiVersion": "v1", **more})
    manifests.import_yaml(cluster, text, actor=Actor("alice"))
    assert references(cluster, "later") == [("web", uid)]


WIDGETS = """
apiVersion: example.com/v1
kind: Widget
metadata: {name: w, namespace: default, ownerReferences: []}
spec: {size: 3}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer}}}}
"""
FOREIGN = """
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: a}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: b}
"""


def test_an_exported_cluster_imports_back_equal(cluster: Cluster) -> None:
    """With custom objects; those of an API that is not served are counted."""
    imported = manifests.import_yaml(cluster, WIDGETS + FOREIGN, actor=Actor("alice"))
    assert imported.summary == (
        "2 objects created; 2 objects skipped, because the cluster does not serve the kind: "
        "2 argoproj.io/v1alpha1 Application"
    )
    exported = manifests.export_yaml(cluster)
    assert "size: 3" in exported
    copy = create_cluster("c2", user="alice")
    again = manifests.import_yaml(copy, exported, actor=Actor("alice"))
    assert not again.skipped
    assert manifests.export_yaml(copy) == exported


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (FOREIGN, "2 objects skipped, because"),
        ("{apiVersion: v1, kind: Podd, metadata: {name: p}}", "no kind 'Podd' is registered"),
        (WIDGETS.replace("size: 3", "size: big"), "spec.size"),
    ],
)
def test_nothing_is_created_by_a_manifest_with_an_error(
    cluster: Cluster, text: str, why: str
) -> None:
    before = manifests.export_yaml(cluster)
    with pytest.raises(ManifestError, match=why):
        manifests.import_yaml(cluster, text, actor=Actor("alice"))
    assert manifests.export_yaml(cluster) == before


def test_an_export_leaves_out_what_the_server_sets(cluster: Cluster) -> None:
    manifests.import_yaml(cluster, json.dumps(replica_set("web") | TYPE), actor=Actor("alice"))
    text = "".join(manifests.export_yaml(cluster))
    [found] = [each for each in yaml.safe_load_all(text) if each["kind"] == "ReplicaSet"]
    assert (
        found["metadata"].keys()
        & {"generation", "uid", "resourceVersion", "creationTimestamp", "managedFields"}
        == set()
    )
    assert found["metadata"]["name"] == "web"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: Pod\napiVersion: v1\nkind: Node\n", 'key "kind" already set in map (line 3)'),
        ("# nothing\n---\n", "the text contains no object"),
        ("", "the text contains no object"),
    ],
)
def test_what_a_person_did_not_mean_is_refused(cluster: Cluster, text: str, said: str) -> None:
    with pytest.raises(ManifestError, match=re.escape(said)):
        manifests.import_yaml(cluster, text, actor=Actor("alice"))


def test_an_object_that_others_merge_has_its_keys_once(cluster: Cluster) -> None:
    text = """
apiVersion: v1
kind: ConfigMap
metadata: {name: merged}
data: {one: "1", two: "2"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: own}
data: {<<: {one: "1", two: "2"}, two: "3"}
"""
    imported = manifests.import_yaml(cluster, text, actor=Actor("alice"))
    assert [each["data"] for each in imported.created] == [
        {"one": "1", "two": "2"},
        {"one": "1", "two": "3"},
    ]
