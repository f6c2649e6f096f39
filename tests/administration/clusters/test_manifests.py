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
from apps.cluster.manifests.places import ManifestError, ManifestErrors
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
    created = manifests.import_yaml(cluster, text, actor=Actor("alice")).bodies
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
    created = manifests.import_yaml(cluster, text, actor=Actor("alice")).bodies
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


def without_births(text: str) -> str:
    """An export without uids and times, which the namespaces of a new cluster have already."""
    return re.sub(r"  (uid|creationTimestamp): .*\n", "", text)


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
    keep = manifests.Options(keep_uids=True)
    again = manifests.import_yaml(copy, exported, actor=Actor("alice"), options=keep)
    assert not again.skipped
    assert without_births(manifests.export_yaml(copy)) == without_births(exported)


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


def test_an_export_says_what_an_object_was_but_not_its_version(cluster: Cluster) -> None:
    manifests.import_yaml(cluster, json.dumps(replica_set("web") | TYPE), actor=Actor("alice"))
    text = "".join(manifests.export_yaml(cluster))
    [found] = [each for each in yaml.safe_load_all(text) if each["kind"] == "ReplicaSet"]
    assert found["metadata"].keys() >= {"generation", "uid", "creationTimestamp"}
    assert not found["metadata"].keys() & {"resourceVersion", "managedFields"}
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
    assert [each["data"] for each in imported.bodies] == [
        {"one": "1", "two": "2"},
        {"one": "1", "two": "3"},
    ]


def pod_with(name: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i"}]
    metadata = {"name": name, "namespace": "shop"}
    typed = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    return {**typed, "spec": {"containers": containers, **spec}}


def referring() -> str:
    """Pods of a namespace that refer to a priority class, a runtime class and an account."""
    classes = {"priorityClassName": "high", "priority": 500, "preemptionPolicy": "Never"}
    isolated = {"runtimeClassName": "vm", "overhead": {"cpu": "250m"}}
    pods = [pod_with("a", **classes), pod_with("b", serviceAccountName="robot", **isolated)]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": pods})


def test_what_objects_refer_to_is_added_as_they_know_it(cluster: Cluster) -> None:
    imported = manifests.import_yaml(cluster, referring(), actor=Actor("alice"))
    assert imported.added == (
        "added, because objects refer to them: Namespace shop; PriorityClass high; "
        "RuntimeClass vm; ServiceAccount shop/robot"
    )
    bodies = {body["kind"]: body for body in imported.bodies}
    assert bodies["PriorityClass"]["value"] == 500
    assert bodies["PriorityClass"]["preemptionPolicy"] == "Never"
    assert bodies["RuntimeClass"]["overhead"] == {"podFixed": {"cpu": "250m"}}
    again = referring().replace('"a"', '"c"').replace('"b"', '"d"')
    assert manifests.import_yaml(cluster, again, actor=Actor("alice")).added == ""


def test_a_strict_import_names_everything_that_is_missing(cluster: Cluster) -> None:
    strict = manifests.Options(strict=True)
    with pytest.raises(ManifestErrors) as refused:
        manifests.import_yaml(cluster, referring(), actor=Actor("alice"), options=strict)
    assert [error.message for error in refused.value.errors] == [
        "document 1, items[0], line 1: Namespace shop does not exist",
        "document 1, items[0], line 1: PriorityClass high does not exist",
        "document 1, items[1], line 1: RuntimeClass vm does not exist",
        "document 1, items[1], line 1: ServiceAccount shop/robot does not exist",
    ]
    assert not kinds.NAMESPACE.objects(cluster).filter(name="shop").exists()


def test_objects_keep_their_past_and_on_request_their_uids(cluster: Cluster) -> None:
    ended = pod_with("done", nodeName="gone")
    ended["metadata"] |= {"uid": STRANGE, "creationTimestamp": "2026-01-02T03:04:05Z"}
    ended["status"] = {"phase": "Failed", "reason": "Evicted", "message": "low on memory"}
    text = json.dumps(ended)
    keep = manifests.Options(keep_uids=True)
    [_, stored] = manifests.import_yaml(cluster, text, actor=Actor("alice"), options=keep).bodies
    assert stored["metadata"]["uid"] == STRANGE
    assert stored["metadata"]["creationTimestamp"] == "2026-01-02T03:04:05Z"
    assert stored["status"]["phase"] == "Failed"
    # the age of the pod on pages
    row = kinds.POD.objects(cluster).get(name="done")
    assert f"{row.created_at:%Y-%m-%dT%H:%M:%SZ}" == "2026-01-02T03:04:05Z"
    other = create_cluster("c2", user="alice")
    [_, stored] = manifests.import_yaml(other, text, actor=Actor("alice")).bodies
    assert stored["metadata"]["uid"] != STRANGE
    assert stored["status"]["reason"] == "Evicted"


def test_a_status_that_no_api_server_stores_is_refused(cluster: Cluster) -> None:
    wrong = pod_with("wrong")
    wrong["status"] = {"phase": "Running", "podIPs": [{"ip": "nowhere"}]}
    with pytest.raises(ManifestError, match=r"status\.podIPs\[0\]"):
        manifests.import_yaml(cluster, json.dumps(wrong), actor=Actor("alice"))


def test_a_job_keeps_its_pods_with_its_new_uid(cluster: Cluster) -> None:
    key = "batch.kubernetes.io/controller-uid"
    labels = {key: STRANGE, "controller-uid": STRANGE, "job-name": "j"}
    labels["batch.kubernetes.io/job-name"] = "j"
    template = {"metadata": {"labels": labels}, "spec": pod_with("x")["spec"]}
    template["spec"]["restartPolicy"] = "Never"
    spec = {"selector": {"matchLabels": {key: STRANGE}}, "template": template}
    job = {"apiVersion": "batch/v1", "kind": "Job", "spec": spec}
    job["metadata"] = {"name": "j", "namespace": "shop", "uid": STRANGE}
    pod = pod_with("j-1", restartPolicy="Never")
    pod["metadata"]["labels"] = labels
    text = json.dumps(job) + "\n" + json.dumps(pod) + "\n"
    created = manifests.import_yaml(cluster, text, actor=Actor("alice")).bodies
    found = {body["kind"]: body for body in created}
    uid = found["Job"]["metadata"]["uid"]
    assert uid != STRANGE
    assert found["Job"]["spec"]["selector"]["matchLabels"] == {key: uid}
    assert found["Pod"]["metadata"]["labels"][key] == uid


def test_a_line_that_is_not_json_is_named(cluster: Cluster) -> None:
    text = json.dumps(pod_with("a")) + '\n{"kind": }\n'
    with pytest.raises(ManifestError, match=r"\(line 2\)"):
        manifests.import_yaml(cluster, text, actor=Actor("alice"))


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("creationTimestamp", "yesterday", "creationTimestamp|yesterday"),
        ("creationTimestamp", "2026-01-02T03:04:05", "creationTimestamp|2026"),
        ("creationTimestamp", 5, "creationTimestamp|number"),
        ("generation", "many", "generation|string"),
    ],
)
@pytest.mark.parametrize("kind", ["Pod", "Widget"])
def test_a_past_that_cannot_be_read_is_refused(
    cluster: Cluster, kind: str, field: str, value: Any, named: str
) -> None:
    body = pod_with("odd")
    if kind == "Widget":
        manifests.import_yaml(cluster, WIDGETS.split("\n---\n")[-1], actor=Actor("alice"))
        metadata = {"name": "odd", "namespace": "default"}
        body = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata}
    body["metadata"][field] = value
    with pytest.raises(ManifestError, match=named):
        manifests.import_yaml(cluster, json.dumps(body), actor=Actor("alice"))


def test_a_kept_uid_that_another_object_has_is_refused(cluster: Cluster) -> None:

    def text(kind: str, name: str) -> str:
        return f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}, uid: {STRANGE}}}\n"

    keep = manifests.Options(keep_uids=True)
    manifests.import_yaml(cluster, text("ConfigMap", "first"), actor=Actor("alice"), options=keep)
    for kind, name in (("ConfigMap", "second"), ("Secret", "first")):
        with pytest.raises(ManifestError) as refused:
            manifests.import_yaml(cluster, text(kind, name), actor=Actor("alice"), options=keep)
        assert f"metadata.uid: {STRANGE} is the uid of the ConfigMap default/first" in str(
            refused.value
        )
        assert not kinds.by_name(kind).objects(cluster).filter(name=name).exists()
    # without keeping, they get uids of their own
    manifests.import_yaml(cluster, text("ConfigMap", "second"), actor=Actor("alice"))
