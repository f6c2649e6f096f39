"""The API of the past answers the same as the Kubernetes API at an exact version."""

from __future__ import annotations

from typing import Any

from apps.cluster import kinds
from apps.cluster.log.forgetting import forget_changes
from apps.cluster.models import Change, Cluster
from apps.cluster.writing import store
from tests.api.conftest import Kube
from tests.api.objects import NODES, PODS, node, pod
from tests.engine.driving import ACTOR


def exact(version: int) -> str:
    return f"?resourceVersion={version}&resourceVersionMatch=Exact"


def reduce_pod(body: Any) -> dict[str, Any]:
    meta, spec, status = body["metadata"], body["spec"], body["status"]
    return {
        "namespace": meta["namespace"],
        "name": meta["name"],
        "uid": meta["uid"],
        "version": int(meta["resourceVersion"]),
        "node": spec.get("nodeName", ""),
        "phase": status["phase"],
        "terminating": "deletionTimestamp" in meta,
        "priority": spec.get("priority", 0),
        "scheduler_name": spec["schedulerName"],
        "labels": meta.get("labels", {}),
    }


def reduce_node(body: Any) -> dict[str, Any]:
    meta, spec = body["metadata"], body["spec"]
    taints = spec.get("taints", [])
    return {
        "name": meta["name"],
        "uid": meta["uid"],
        "version": int(meta["resourceVersion"]),
        "unschedulable": spec.get("unschedulable", False),
        "taints": [f"{each['key']}:{each['effect']}" for each in taints],
        "labels": meta.get("labels", {}),
    }


def live(kube: Kube, cluster: Cluster) -> None:
    """Nodes and pods are created, changed, deleted and created again."""
    kube.post(NODES, node("n1"))
    for name in ("p0", "p1", "p2"):
        kube.post(PODS, pod(name))
    store.patch(
        cluster,
        kinds.NODE,
        "",
        "n1",
        lambda body: {**body, "spec": {**body["spec"], "unschedulable": True}},
        actor=ACTOR,
    )
    kube.delete(f"{PODS}/p1?gracePeriodSeconds=0")
    kube.post(PODS, pod("p1"))
    kube.post(f"{PODS}/p0/binding", {"target": {"name": "n1"}})
    kube.post(NODES, node("n2"))


def test_every_version_has_the_same_objects_in_both_apis(kube: Kube, cluster: Cluster) -> None:
    live(kube, cluster)
    cluster.refresh_from_db()
    headers, past = kube.headers, f"/api/v1/clusters/{cluster.name}/past"
    compared = 0
    first = Change.objects.filter(cluster=cluster).earliest("version").version
    for version in range(first, cluster.resource_version + 1):
        for path, part, reduce in ((PODS, "pods", reduce_pod), (NODES, "nodes", reduce_node)):
            listed = kube.get(f"{path}{exact(version)}").json()
            found = kube.client.get(f"{past}/{part}?version={version}", headers=headers).json()
            assert int(listed["metadata"]["resourceVersion"]) == found["moment"]["version"]
            expected = [reduce(item) for item in listed["items"]]
            shown = [
                {name: each[name] for name in reduced}
                for each, reduced in zip(found[part], expected, strict=True)
            ]
            assert shown == expected
            compared += len(expected)
    assert compared > 20
    figures = kube.client.get(f"{past}?version={cluster.resource_version}", headers=headers).json()
    assert (figures["pods"]["bound"], figures["pods"]["pending"]) == (1, 2)
    assert figures["nodes"]["unschedulable"] == 1


def test_a_version_that_is_not_known_is_refused_by_both_apis(kube: Kube, cluster: Cluster) -> None:
    live(kube, cluster)
    cluster.refresh_from_db()
    last, past = cluster.resource_version, f"/api/v1/clusters/{cluster.name}/past"
    while forget_changes(cluster.pk, last - 1):
        pass
    headers = kube.headers
    for version, theirs, ours in ((last - 3, 410, 410), (last, 200, 200), (last + 9, 504, 400)):
        assert kube.get(f"{PODS}{exact(version)}").status_code == theirs
        for part in ("", "/nodes", "/pods"):
            answer = kube.client.get(f"{past}{part}?version={version}", headers=headers)
            assert answer.status_code == ours, part
        query = f"from={version}&to=now"
        differences = kube.client.get(f"{past}/differences?{query}", headers=headers)
        assert differences.status_code == ours
    assert (
        "no longer reaches back"
        in kube.client.get(f"{past}?version={last - 3}", headers=headers).json()["message"]
    )
