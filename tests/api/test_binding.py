"""Binding and eviction of pods."""

from __future__ import annotations

import pytest

from tests.api.conftest import Kube
from tests.api.objects import NODES, PODS, binding, budget, node, pod

pytestmark = pytest.mark.django_db

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
UID = "11111111-1111-1111-1111-111111111111"


def evict(kube: Kube, name: str, **more: object) -> object:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, **more}
    return kube.post(f"{PODS}/{name}/eviction", body)


@pytest.fixture
def pending(kube: Kube) -> Kube:
    kube.post(NODES, node("n1", **{"topology.kubernetes.io/zone": "z1"}))
    kube.post(PODS, pod("p1"))
    return kube


def test_a_binding_puts_the_pod_on_its_node(pending: Kube) -> None:
    answer = pending.post(f"{PODS}/p1/binding", binding("p1", "n1", annotations={"by": "me"}))
    assert answer.status_code == 201
    assert answer.json()["status"] == "Success"
    bound = pending.get(f"{PODS}/p1").json()
    assert bound["spec"]["nodeName"] == "n1"
    assert bound["metadata"]["annotations"] == {"by": "me"}
    assert bound["metadata"]["labels"] == {"topology.kubernetes.io/zone": "z1"}
    condition = bound["status"]["conditions"][0]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "True")


def test_a_dry_run_says_where_the_pod_would_go_if_it_is_asked_to(pending: Kube) -> None:
    plain = pending.post(f"{PODS}?dryRun=All", pod("p2"))
    asked = pending.post(f"{PODS}?dryRun=All&simulate=true", pod("p2"))
    assert "Warning" not in plain.headers
    assert "pod default/p2 would be placed on n1 at version" in asked.headers["Warning"]
    assert plain.json()["spec"] == asked.json()["spec"]
    annotated = pod("p3")
    annotated["metadata"]["annotations"] = {"schedweb.io/simulate": "true"}
    annotated["spec"]["nodeSelector"] = {"disk": "ssd"}
    refused = pending.post(f"{PODS}?dryRun=All", annotated)
    assert "pod default/p3 would not be placed" in refused.headers["Warning"]
    bound = pending.post(f"{PODS}/p1/binding?dryRun=All&simulate=true", binding("p1", "n1"))
    assert bound.json()["status"] == "Success"
    assert "pod default/p1 would be placed on n1" in bound.headers["Warning"]
    assert "nodeName" not in pending.get(f"{PODS}/p1").json()["spec"]


def test_the_old_path_binds_too(pending: Kube) -> None:
    answer = pending.post("/api/v1/namespaces/default/bindings", binding("p1", "n1"))
    assert answer.status_code == 201
    assert pending.get(f"{PODS}/p1").json()["spec"]["nodeName"] == "n1"


def test_a_bound_pod_is_not_bound_again(pending: Kube) -> None:
    pending.post(f"{PODS}/p1/binding", binding("p1", "n1"))
    answer = pending.post(f"{PODS}/p1/binding", binding("p1", "n2"))
    assert answer.status_code == 409
    assert 'pod p1 is already assigned to node "n1"' in answer.json()["message"]


@pytest.mark.parametrize(
    ("body", "status", "told"),
    [
        (binding("other", "n1"), 400, "name in URL does not match"),
        (binding("p1", ""), 422, "target.name: Required value"),
        (binding("p1", "n1", uid=UID), 409, "UID in precondition"),
        (binding("p1", "n1", resourceVersion="1"), 409, "Precondition failed"),
        (pod("p1"), 400, "converting (v1.Pod) to (core.Binding): unknown conversion"),
        ("{", 400, "unexpected end of JSON input"),
    ],
)
def test_a_wrong_binding_is_refused(pending: Kube, body: object, status: int, told: str) -> None:
    answer = pending.post(f"{PODS}/p1/binding", body)
    assert answer.status_code == status
    assert told in answer.json()["message"]
    assert "nodeName" not in pending.get(f"{PODS}/p1").json()["spec"]


def test_gated_missing_and_dry_run(pending: Kube) -> None:
    pending.post(PODS, pod("g1", schedulingGates=[{"name": "x.io/wait"}]))
    gated = pending.post(f"{PODS}/g1/binding", binding("g1", "n1"))
    assert "pod g1 has non-empty .spec.schedulingGates" in gated.json()["message"]
    assert pending.post(f"{PODS}/none/binding", binding("none", "n1")).status_code == 404
    dry = pending.post(f"{PODS}/p1/binding?dryRun=All", binding("p1", "n1"))
    assert dry.status_code == 201
    assert "nodeName" not in pending.get(f"{PODS}/p1").json()["spec"]


def test_a_pod_that_is_being_deleted_is_not_bound(pending: Kube) -> None:
    held = pod("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    pending.post(PODS, held)
    assert pending.delete(f"{PODS}/held").status_code == 200
    answer = pending.post(f"{PODS}/held/binding", binding("held", "n1"))
    assert answer.status_code == 409
    told = "pod held is being deleted, cannot be assigned to a host"
    assert told in answer.json()["message"]


def test_a_pod_may_be_bound_to_a_node_that_does_not_exist(pending: Kube) -> None:
    """As by kube-apiserver; the pod's labels stay as they are."""
    assert pending.post(f"{PODS}/p1/binding", binding("p1", "gone")).status_code == 201
    stored = pending.get(f"{PODS}/p1").json()
    assert stored["spec"]["nodeName"] == "gone" and "labels" not in stored["metadata"]


def test_wrong_methods_and_anonymous_requests(pending: Kube, anonymous: Kube) -> None:
    for method in ("GET", "PUT", "DELETE"):
        assert pending.request(method, f"{PODS}/p1/binding").status_code == 405
    assert pending.get("/api/v1/namespaces/default/bindings").status_code == 405
    assert anonymous.post(f"{PODS}/p1/binding", binding("p1", "n1")).status_code == 401


def test_an_eviction_spends_the_budget(pending: Kube) -> None:
    running = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    for name in ("w1", "w2"):
        pending.post(PODS, pod(name, labels={"app": "web"}, nodeName="n1"))
        pending.patch(f"{PODS}/{name}/status", running)
    pending.post(BUDGETS, budget("web", "web", 1))
    pending.patch(f"{BUDGETS}/web/status", {"status": budget("web", "web", 1)["status"]})
    first = evict(pending, "w1")
    assert first.status_code == 201
    status = pending.get(f"{BUDGETS}/web").json()["status"]
    assert status["disruptionsAllowed"] == 0
    assert list(status["disruptedPods"]) == ["w1"]
    second = evict(pending, "w2")
    assert second.status_code == 429
    told = second.json()
    assert told["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    assert pending.get(f"{PODS}/w2").status_code == 200


@pytest.mark.parametrize(
    ("policy", "healthy", "status"),
    [
        (None, 2, 201),
        ("IfHealthyBudget", 2, 201),
        (None, 1, 429),
        ("IfHealthyBudget", 1, 429),
        ("AlwaysAllow", 1, 201),
    ],
)
def test_an_unready_pod_may_be_evicted_by_the_policy_of_its_budget(
    pending: Kube, policy: str | None, healthy: int, status: int
) -> None:
    """A budget without room; the pod that is evicted runs, but is not ready."""
    pending.post(PODS, pod("w1", labels={"app": "web"}, nodeName="n1"))
    pending.patch(f"{PODS}/w1/status", {"status": {"phase": "Running"}})
    full = budget("web", "web", 0)
    if policy is not None:
        full["spec"]["unhealthyPodEvictionPolicy"] = policy
    pending.post(BUDGETS, full)
    counts = {"currentHealthy": healthy, "desiredHealthy": 2, "expectedPods": 3}
    given = {"status": {**full["status"], **counts, "disruptionsAllowed": 0}}
    pending.patch(f"{BUDGETS}/web/status", given)
    assert evict(pending, "w1").status_code == status
    assert pending.get(f"{BUDGETS}/web").json()["status"].get("disruptedPods") is None


def test_a_budget_that_is_not_processed_yet_asks_to_retry(pending: Kube) -> None:
    pending.post(PODS, pod("w1", labels={"app": "web"}, nodeName="n1"))
    pending.patch(f"{PODS}/w1/status", {"status": {"phase": "Running"}})
    pending.post(BUDGETS, budget("web", "web", 1))
    answer = evict(pending, "w1")
    assert answer.status_code == 429
    assert answer.headers["Retry-After"] == "10"


def test_a_wrong_eviction_is_refused(pending: Kube, anonymous: Kube) -> None:
    assert evict(pending, "none").status_code == 404
    assert evict(anonymous, "p1").status_code == 401
    wrong = pending.post(f"{PODS}/p1/eviction", {"metadata": {"name": "other"}})
    assert wrong.status_code == 400
    late = evict(pending, "p1", deleteOptions={"preconditions": {"uid": UID}})
    assert late.status_code == 409
    assert pending.get(f"{PODS}/p1").status_code == 200
