"""Component statuses and the Leases of components, which are computed when they are read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apps.cluster.models import Change, Cluster
from tests.api.conftest import Kube
from tests.api.objects import node

NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/leases"
OF_NODES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
OF_COMPONENTS = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


def names(answer: Any) -> list[str]:
    return [item["metadata"]["name"] for item in answer.json()["items"]]


def renewed(lease: Any) -> datetime:
    return datetime.fromisoformat(lease["spec"]["renewTime"])


def condition(status: str, **fields: str) -> dict[str, Any]:
    return {"type": "Ready", "status": status, **fields}


@pytest.fixture
def nodes(kube: Kube, cluster: Cluster) -> Kube:
    """A ready node, a lost one, and one that no kubelet has registered."""
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    Cluster.objects.filter(pk=cluster.pk).update(manual_time=moment, created_at=moment)
    lost = condition("Unknown", lastTransitionTime="2026-01-01T01:00:40Z")
    for name, conditions in (("a", [condition("True")]), ("b", [lost]), ("c", [])):
        body = node(name)
        body["status"] = {**body.get("status", {}), "conditions": conditions}
        assert kube.post(NODES, body).status_code == 201
    advance(cluster, moment + timedelta(hours=2))
    return kube


def advance(cluster: Cluster, moment: datetime) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(manual_time=moment)


def test_kubelets_renew_leases_without_writes(nodes: Kube, cluster: Cluster) -> None:
    changes = Change.objects.count()
    assert names(nodes.get(OF_NODES)) == ["a", "b"]
    ready, lost = nodes.get(f"{OF_NODES}/a").json(), nodes.get(f"{OF_NODES}/b").json()
    moment = datetime(2026, 1, 1, 2, tzinfo=UTC)
    assert timedelta() <= moment - renewed(ready) < timedelta(seconds=10)
    assert renewed(lost) == datetime(2026, 1, 1, 1, tzinfo=UTC)
    assert ready["spec"]["holderIdentity"] == "a" and ready["spec"]["leaseDurationSeconds"] == 40
    assert ready["metadata"]["ownerReferences"][0]["kind"] == "Node"
    advance(cluster, moment + timedelta(seconds=10))
    later = nodes.get(f"{OF_NODES}/a").json()
    assert renewed(later) - renewed(ready) == timedelta(seconds=10)
    assert later["metadata"]["uid"] == ready["metadata"]["uid"]
    assert renewed(nodes.get(f"{OF_NODES}/b").json()) == renewed(lost)
    assert nodes.get(f"{OF_NODES}/c").status_code == 404
    assert Change.objects.count() == changes


def test_components_hold_leases_unless_a_client_does_their_work(
    nodes: Kube, cluster: Cluster
) -> None:
    assert names(nodes.get(OF_COMPONENTS)) == ["kube-controller-manager", "kube-scheduler"]
    Cluster.objects.filter(pk=cluster.pk).update(scheduling="external", controllers=False)
    assert names(nodes.get(OF_COMPONENTS)) == []
    own = {"metadata": {"name": "kube-scheduler"}, "spec": {"holderIdentity": "mine"}}
    assert nodes.post(OF_COMPONENTS, own).status_code == 201
    Cluster.objects.filter(pk=cluster.pk).update(scheduling="built-in")
    held = nodes.get(f"{OF_COMPONENTS}/kube-scheduler").json()
    assert held["spec"]["holderIdentity"] == "mine"
    listed = nodes.get(LEASES).json()["items"]
    assert [lease["spec"]["holderIdentity"] for lease in listed] == ["a", "b", "mine"]
    Cluster.objects.filter(pk=cluster.pk).update(paused=True)
    assert names(nodes.get(LEASES)) == ["kube-scheduler"]


def test_pages_and_selectors_cover_stored_and_computed_leases(nodes: Kube) -> None:
    own = {"metadata": {"name": "aa", "labels": {"own": "yes"}}, "spec": {}}
    assert nodes.post(OF_NODES, own).status_code == 201
    first = nodes.get(f"{OF_NODES}?limit=2")
    assert names(first) == ["a", "aa"] and first.json()["metadata"]["remainingItemCount"] == 1
    token = first.json()["metadata"]["continue"]
    last = nodes.get(f"{OF_NODES}?limit=2&continue={token}")
    assert names(last) == ["b"] and "continue" not in last.json()["metadata"]
    assert names(nodes.get(f"{OF_NODES}?labelSelector=own")) == ["aa"]
    assert names(nodes.get(f"{OF_NODES}?fieldSelector=metadata.name=b")) == ["b"]
    rows = nodes.get(OF_NODES, headers=TABLE).json()["rows"]
    assert [row["cells"][:2] for row in rows] == [["a", "a"], ["aa", ""], ["b", "b"]]


def test_component_statuses_are_read_only_and_say_what_is_wrong(
    kube: Kube, cluster: Cluster
) -> None:
    path = "/api/v1/componentstatuses"
    answer = kube.get(path, headers=TABLE)
    assert [row["cells"] for row in answer.json()["rows"]] == [
        ["controller-manager", "Healthy", "ok", ""],
        ["etcd-0", "Healthy", "ok", ""],
        ["scheduler", "Healthy", "ok", ""],
    ]
    assert "v1 ComponentStatus is deprecated in v1.19+" in answer.headers["Warning"]
    Cluster.objects.filter(pk=cluster.pk).update(paused=True)
    (found,) = kube.get(f"{path}/scheduler").json()["conditions"]
    assert (found["status"], found["error"]) == ("False", "the cluster is paused")
    assert kube.get(f"{path}/nothing").status_code == 404
    assert kube.delete(f"{path}/scheduler").status_code == 405
    assert kube.post(path, {"metadata": {"name": "x"}}).status_code == 405
    served = {row["name"]: row for row in kube.get("/api/v1").json()["resources"]}
    assert served["componentstatuses"]["verbs"] == ["get", "list"]
    assert "storageVersionHash" not in served["componentstatuses"]
