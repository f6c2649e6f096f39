"""CustomResourceDefinitions, and the kinds that are only data."""

from __future__ import annotations

from typing import Any

import pytest

from apps.cluster.models import Cluster, DataObject
from apps.controlplane.loop.engines import Engines
from tests.api.conftest import Kube

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#: Of the shape of Kueue's and Volcano's: two versions, subresources, a built-in kind's name.
JOBS: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "jobs.batch.volcano.sh"},
    "spec": {
        "group": "batch.volcano.sh",
        "names": {"plural": "jobs", "kind": "Job", "shortNames": ["vcjob"], "categories": ["all"]},
        "scope": "Namespaced",
        "versions": [
            {
                "name": name,
                "served": True,
                "storage": name == "v1",
                "subresources": {
                    "status": {},
                    "scale": {
                        "specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.replicas",
                        "labelSelectorPath": ".status.selector",
                    },
                },
                "additionalPrinterColumns": [
                    {"name": "Queue", "type": "string", "jsonPath": ".spec.queue"},
                    {
                        "name": "Ready",
                        "type": "string",
                        "jsonPath": '.status.conditions[?(@.type=="Ready")].status',
                    },
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
                ],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["queue"],
                                "properties": {
                                    "queue": {"type": "string", "pattern": "^[a-z]+$"},
                                    "policy": {"type": "string", "enum": ["Fifo", "Lifo"]},
                                    "replicas": {"type": "integer", "minimum": 1, "default": 2},
                                    "size": {"x-kubernetes-int-or-string": True},
                                    "free": {
                                        "type": "object",
                                        "x-kubernetes-preserve-unknown-fields": True,
                                    },
                                    "tasks": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "map",
                                        "x-kubernetes-list-map-keys": ["name"],
                                        "items": {
                                            "type": "object",
                                            "required": ["name"],
                                            "properties": {
                                                "name": {"type": "string"},
                                                "count": {"type": "integer", "default": 1},
                                            },
                                        },
                                    },
                                },
                            },
                            "status": {
                                "type": "object",
                                "x-kubernetes-preserve-unknown-fields": True,
                            },
                        },
                    }
                },
            }
            for name in ("v1beta1", "v1")
        ],
    },
}
OBJECTS = "/apis/batch.volcano.sh/v1/namespaces/default/jobs"


def job(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch.volcano.sh/v1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": spec,
    }


def test_a_definition_serves_its_kind(kube: Kube, cluster: Cluster) -> None:
    created = kube.post(CRDS, JOBS)
    assert created.status_code == 201, created.json()
    status = created.json()["status"]
    assert {c["type"]: c["status"] for c in status["conditions"]} == {
        "NamesAccepted": "True",
        "Established": "True",
    }
    assert status["storedVersions"] == ["v1"]
    listed = kube.get("/apis/batch.volcano.sh").json()
    assert [each["version"] for each in listed["versions"]] == ["v1", "v1beta1"]
    rows = {row["name"]: row for row in kube.get("/apis/batch.volcano.sh/v1").json()["resources"]}
    assert rows.keys() == {"jobs", "jobs/scale", "jobs/status"}
    assert rows["jobs"]["shortNames"] == ["vcjob"]
    document = kube.get("/openapi/v3/apis/batch.volcano.sh/v1").json()
    assert any(name.endswith(".Job.spec") for name in document["components"]["schemas"])

    stored = kube.post(OBJECTS, job(queue="a", unknown=1, tasks=[{"name": "x"}], free={"any": 1}))
    assert stored.status_code == 201, stored.json()
    assert 'unknown field \\"spec.unknown\\"' in stored.headers["Warning"]
    spec = {"queue": "a", "replicas": 2, "tasks": [{"name": "x", "count": 1}], "free": {"any": 1}}
    assert stored.json()["spec"] == spec
    assert stored.json()["metadata"]["generation"] == 1
    # the built-in kind of the same name is another
    assert kube.get("/apis/batch/v1/jobs").json()["items"] == []
    older = kube.get("/apis/batch.volcano.sh/v1beta1/namespaces/default/jobs/train").json()
    assert older["apiVersion"] == "batch.volcano.sh/v1beta1" and older["spec"] == spec

    patched = kube.request(
        "PATCH",
        f"{OBJECTS}/train/status",
        {"status": {"conditions": [{"type": "Ready", "status": "True"}], "replicas": 1}},
        content_type="application/merge-patch+json",
    )
    assert patched.json()["metadata"]["generation"] == 1
    table = kube.get(OBJECTS, headers={"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"})
    assert [c["name"] for c in table.json()["columnDefinitions"]] == [
        *("Name", "Queue", "Ready", "Age")
    ]
    assert table.json()["rows"][0]["cells"][:3] == ["train", "a", "True"]
    scaled = kube.request(
        "PATCH",
        f"{OBJECTS}/train/scale",
        {"spec": {"replicas": 5}},
        content_type="application/merge-patch+json",
    )
    assert scaled.json()["spec"] == {"replicas": 5} and scaled.json()["status"]["replicas"] == 1
    applied = kube.request(
        "PATCH",
        f"{OBJECTS}/train?fieldManager=me&force=true",
        job(queue="b", tasks=[{"name": "y"}]),
        content_type="application/apply-patch+yaml",
    )
    assert applied.status_code == 200, applied.json()
    assert [task["name"] for task in applied.json()["spec"]["tasks"]] == ["x", "y"]
    strategic = kube.request(
        "PATCH",
        f"{OBJECTS}/train",
        {},
        content_type="application/strategic-merge-patch+json",
    )
    assert strategic.status_code == 415

    assert kube.delete(f"{CRDS}/jobs.batch.volcano.sh").status_code == 200
    assert kube.get(OBJECTS).status_code == 404
    assert not DataObject.objects.filter(kind="jobs.batch.volcano.sh").exists()


def test_a_custom_resource_is_validated_by_its_schema(kube: Kube) -> None:
    kube.post(CRDS, JOBS)
    refused = kube.post(
        OBJECTS,
        job(policy="Best", replicas=0, size=1.5, tasks=[{"name": "x"}, {"name": "x"}, {"name": 1}]),
    )
    assert refused.status_code == 422
    causes = {(c["field"], c["message"]) for c in refused.json()["details"]["causes"]}
    assert causes == {
        ("spec.queue", "Required value"),
        ("spec.policy", 'Unsupported value: "Best": supported values: "Fifo", "Lifo"'),
        (
            "spec.replicas",
            "Invalid value: 0: spec.replicas in body should be greater than or equal to 1",
        ),
        (
            "spec.size",
            'Invalid value: "number": spec.size in body must be of type integer,string: "number"',
        ),
        ("spec.tasks[1]", 'Duplicate value: {"name":"x"}'),
        (
            "spec.tasks[2].name",
            'Invalid value: "integer": spec.tasks[2].name in body must be of type string: '
            '"integer"',
        ),
    }
    misnamed = kube.post(CRDS, {**JOBS, "metadata": {"name": "other.batch.volcano.sh"}})
    assert misnamed.status_code == 422
    assert 'must be spec.names.plural+"."+spec.group' in misnamed.json()["message"]


def test_immutable_data_cannot_change(kube: Kube) -> None:
    maps = "/api/v1/namespaces/default/configmaps"
    kube.post(maps, {"metadata": {"name": "m"}, "data": {"a": "1"}, "immutable": True})
    refused = kube.patch(f"{maps}/m", {"data": {"a": "2"}})
    assert refused.status_code == 422
    assert refused.json()["details"]["causes"][0]["message"] == (
        "Forbidden: field is immutable when `immutable` is set"
    )
    secrets = "/api/v1/namespaces/default/secrets"
    made = kube.post(secrets, {"metadata": {"name": "s"}, "stringData": {"a": "x"}}).json()
    assert (made["type"], made["data"]) == ("Opaque", {"a": "eA=="}) and "stringData" not in made
    found = kube.get(f"{secrets}?fieldSelector=type=Opaque").json()["items"]
    assert [each["metadata"]["name"] for each in found] == ["s"]


def test_a_limit_range_sets_defaults_and_refuses_what_is_outside(kube: Kube) -> None:
    limits = {
        "type": "Container",
        "default": {"cpu": "500m"},
        "defaultRequest": {"cpu": "250m"},
        "max": {"cpu": "1", "memory": "1Gi"},
        "maxLimitRequestRatio": {"cpu": "3"},
    }
    ranges = "/api/v1/namespaces/default/limitranges"
    made = kube.post(ranges, {"metadata": {"name": "l"}, "spec": {"limits": [limits]}})
    assert made.status_code == 201, made.json()
    pods = "/api/v1/namespaces/default/pods"

    def pod(name: str, **resources: Any) -> dict[str, Any]:
        container = {"name": "c", "image": "i", "resources": resources}
        return {"metadata": {"name": name}, "spec": {"containers": [container]}}

    created = kube.post(pods, pod("p")).json()
    assert created["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "250m", "memory": "1Gi"},
        "limits": {"cpu": "500m", "memory": "1Gi"},
    }
    assert created["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: cpu, memory request for container c; "
        "cpu, memory limit for container c"
    )
    assert created["status"]["qosClass"] == "Burstable"
    refused = kube.post(pods, pod("q", limits={"cpu": "2", "memory": "1Gi"}))
    assert (refused.status_code, refused.json()["message"]) == (
        403,
        'pods "q" is forbidden: maximum cpu usage per Container is 1, but limit is 2',
    )
    both = kube.post(pods, pod("r", requests={"cpu": "100m"}, limits={"memory": "2Gi"})).json()
    assert both["message"] == (
        'pods "r" is forbidden: [maximum memory usage per Container is 1Gi, but limit is 2Gi, '
        "cpu max limit to request ratio per Container is 3, but provided ratio is 5.000000]"
    )


def owned(name: str, owner: dict[str, Any], *, blocks: bool = False) -> dict[str, Any]:
    """The metadata of a dependant of an object as the API returned it."""
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": blocks,
    }
    return {"name": name, "ownerReferences": [reference]}


@pytest.mark.django_db(transaction=True)
def test_dependants_of_and_among_custom_resources_are_collected(
    kube: Kube, cluster: Cluster
) -> None:
    """An owner, a ConfigMap, a Secret and a custom resource of it, which owns another Secret."""
    kube.post(CRDS, JOBS)
    engines, core = Engines(), "/api/v1/namespaces/default"
    engines.run(cluster.pk)

    def create_family(name: str) -> None:
        owner = kube.post(OBJECTS, {**job(queue="a"), "metadata": {"name": name}}).json()
        kube.post(f"{core}/configmaps", {"metadata": owned(f"{name}-map", owner)})
        kube.post(f"{core}/secrets", {"metadata": owned(f"{name}-secret", owner, blocks=True)})
        child = {**job(queue="a"), "metadata": owned(f"{name}-child", owner, blocks=True)}
        child = kube.post(OBJECTS, child).json()
        kube.post(f"{core}/secrets", {"metadata": owned(f"{name}-grandchild", child)})

    def names() -> set[str]:
        paths = (OBJECTS, f"{core}/configmaps", f"{core}/secrets")
        found = [
            item["metadata"]["name"] for path in paths for item in kube.get(path).json()["items"]
        ]
        return {name for name in found if "-" in name} - {"kube-root-ca.crt"}

    for policy in ("Background", "Foreground", "Orphan"):
        create_family(policy.lower())
    engines.run(cluster.pk)
    assert len(names()) == 12
    kube.delete(f"{OBJECTS}/background")
    engines.run(cluster.pk)
    assert len(names()) == 8
    kube.delete(f"{OBJECTS}/foreground", {"propagationPolicy": "Foreground"})
    waiting = kube.get(f"{OBJECTS}/foreground").json()["metadata"]
    assert waiting["finalizers"] == ["foregroundDeletion"]
    engines.run(cluster.pk)
    assert len(names()) == 4 and kube.get(f"{OBJECTS}/foreground").status_code == 404
    # another worker, which has to read what it has not seen
    kube.delete(f"{OBJECTS}/orphan", {"propagationPolicy": "Orphan"})
    engines = Engines()
    engines.run(cluster.pk)
    assert kube.get(f"{OBJECTS}/orphan").status_code == 404 and len(names()) == 4
    child = kube.get(f"{OBJECTS}/orphan-child").json()
    assert "ownerReferences" not in child["metadata"]
    kube.delete(f"{OBJECTS}/orphan-child")
    engines.run(cluster.pk)
    assert names() == {"orphan-map", "orphan-secret"}
