"""Nodes short of memory, disk or processes: conditions, and which pods their kubelets evict."""

from __future__ import annotations

from typing import Any

import pytest

from tests.controllers.conftest import Lab

pytestmark = pytest.mark.django_db(transaction=True)

USAGE = "kubelet.schedweb.dev/usage-{}"
EVICTION = "kubelet.schedweb.dev/eviction-{}"


def pod(name: str, memory: str = "", *, uses: str = "", priority: int = 0, **spec: Any) -> Any:
    """A pod that requests and uses memory."""
    resources = {"requests": {"memory": memory}} if memory else {}
    annotations = {USAGE.format("memory"): uses} if uses else {}
    container = {"name": "c", "image": "i", "resources": resources}
    body: dict[str, Any] = {"containers": [container], **spec}
    if priority:
        body["priorityClassName"] = f"p{priority}"
    return {"metadata": {"name": name, "annotations": annotations}, "spec": body}


def annotate(lab: Lab, node: str, **annotations: str) -> None:
    """Set annotations of a node: `usage_memory`, `eviction_hard`, …"""
    given = {f"kubelet.schedweb.dev/{k.replace('_', '-')}": v for k, v in annotations.items()}

    def change(body: Any) -> Any:
        metadata = body["metadata"]
        kept = metadata.get("annotations") or {}
        return {**body, "metadata": {**metadata, "annotations": {**kept, **given}}}

    lab.change("Node", node, change)
    lab.settle()


def evicted(lab: Lab) -> list[str]:
    names = (event["involvedObject"]["name"] for event in lab.events("Evicted"))
    return [name for name in names if lab.get("Pod", name)["status"].get("reason") == "Evicted"]


def test_a_hard_threshold_evicts_pods_that_exceed_their_requests_first(lab: Lab) -> None:
    lab.node("n1")  # 32Gi of memory
    for name, value in (("p1000", 1000), ("p5", 5)):
        lab.create("PriorityClass", {"metadata": {"name": name}, "value": value})
    lab.create("Pod", pod("modest", "8Gi", uses="7Gi"))
    lab.create("Pod", pod("greedy", "1Gi", uses="4Gi", priority=5))
    lab.create("Pod", pod("greedier", "1Gi", uses="6Gi", priority=5))
    lab.create("Pod", pod("important", "1Gi", uses="9Gi", priority=1000))
    critical = pod("critical", uses="2Gi", priorityClassName="system-node-critical")
    lab.create("Pod", critical)
    lab.settle()
    assert lab.condition("Node", "n1", "MemoryPressure")["status"] == "False"

    annotate(lab, "n1", usage_memory="20%")
    pressure = lab.condition("Node", "n1", "MemoryPressure")
    assert pressure["reason"] == "KubeletHasInsufficientMemory"
    assert pressure["lastHeartbeatTime"] and "lastProbeTime" not in pressure
    assert "node.kubernetes.io/memory-pressure:NoSchedule" in lab.taints("n1")
    assert evicted(lab) == ["greedier"]
    status = lab.get("Pod", "greedier")["status"]
    assert status["phase"] == "Failed" and "containerStatuses" not in status
    assert status["message"].startswith(
        "The node was low on resource: memory. Threshold quantity: 102400Ki, available: 0Ki. "
        "Container c was using "
    )
    target = lab.condition("Pod", "greedier", "DisruptionTarget")
    assert target["reason"] == "TerminationByKubelet"
    assert lab.events("EvictionThresholdMet")[0]["message"] == "Attempting to reclaim memory"

    annotate(lab, "n1", usage_memory="40%")
    lab.advance(10)
    assert evicted(lab) == ["greedier", "greedy"]
    lab.advance(10)
    annotate(lab, "n1", usage_memory="98%")
    for _ in range(4):
        lab.advance(10)
    assert evicted(lab) == ["greedier", "greedy", "important", "modest"]
    assert lab.get("Pod", "critical")["status"]["phase"] == "Running"

    # the condition stays for the transition period, also in a new process
    annotate(lab, "n1", usage_memory="1%")
    lab.advance(200)
    assert lab.condition("Node", "n1", "MemoryPressure")["status"] == "True"
    lab.restart()
    lab.settle()
    lab.advance(310)
    assert lab.condition("Node", "n1", "MemoryPressure")["status"] == "False"
    assert lab.taints("n1") == set()


def test_overhead_counts_as_requested(lab: Lab) -> None:
    lab.node("n1")
    lab.create(
        "RuntimeClass",
        {
            "metadata": {"name": "vm"},
            "handler": "vm",
            "overhead": {"podFixed": {"memory": "3Gi"}},
        },
    )
    lab.create("Pod", pod("wrapped", "1Gi", uses="3584Mi", runtimeClassName="vm"))
    lab.create("Pod", pod("bare", "1Gi", uses="2Gi"))
    annotate(lab, "n1", usage_memory="90%")
    assert evicted(lab) == ["bare"]


def test_a_soft_threshold_waits_for_its_grace_period_and_lets_pods_stop(lab: Lab) -> None:
    lab.node("n1")
    lab.create("Pod", pod("p", "1Gi", uses="2Gi"))
    lab.settle()
    annotate(
        lab,
        "n1",
        eviction_soft="memory.available<50%",
        eviction_soft_grace_period="memory.available=1m30s",
        eviction_max_pod_grace_period="20",
        usage_memory="60%",
    )
    assert lab.condition("Node", "n1", "MemoryPressure")["status"] == "True"
    lab.advance(80)
    assert lab.get("Pod", "p")["status"]["phase"] == "Running"
    lab.advance(10)
    assert lab.events("EvictionThresholdMet") and not evicted(lab)
    lab.advance(20)
    assert evicted(lab) == ["p"]


def test_disk_and_processes_have_signals_of_their_own(lab: Lab) -> None:
    lab.node("n1")  # 100Gi of disk
    lab.node("n2")
    disk = pod("disk", nodeName="n1")
    disk["metadata"]["annotations"] = {USAGE.format("disk"): "60Gi"}
    forks = pod("forks", nodeName="n2")
    forks["metadata"]["annotations"] = {USAGE.format("pids"): "20k"}
    for body in (disk, forks, pod("quiet-1", nodeName="n1"), pod("quiet-2", nodeName="n2")):
        lab.create("Pod", body)
    lab.settle()
    assert not evicted(lab)
    annotate(lab, "n1", usage_disk="35%")
    annotate(lab, "n2", eviction_hard="pid.available<50%")
    assert sorted(evicted(lab)) == ["disk", "forks"]
    assert lab.condition("Node", "n1", "DiskPressure")["status"] == "True"
    assert lab.condition("Node", "n2", "PIDPressure")["status"] == "True"
    assert lab.condition("Node", "n1", "MemoryPressure")["status"] == "False"
    # pods that arrive now are rejected, whatever they request
    lab.create("Pod", pod("late", "1Gi", nodeName="n1"))
    lab.settle()
    rejected = lab.get("Pod", "late")["status"]
    assert (rejected["phase"], rejected["reason"]) == ("Failed", "Evicted")
    assert rejected["message"] == "Pod was rejected: The node had condition: [DiskPressure]. "


def test_a_curve_brings_pressure_at_its_time(lab: Lab) -> None:
    lab.node("n1")
    lab.create("Pod", pod("p", uses="1Gi"))
    lab.settle()
    annotate(lab, "n1", usage_memory="0%..100%/20m", eviction_pressure_transition_period="30s")
    assert lab.condition("Node", "n1", "MemoryPressure")["status"] == "False"
    for _ in range(60):
        lab.advance(10)
    assert evicted(lab) == ["p"]
    for _ in range(12):
        lab.advance(10)
    assert lab.condition("Node", "n1", "MemoryPressure")["status"] == "False"


def test_only_best_effort_pods_are_rejected_under_memory_pressure(lab: Lab) -> None:
    lab.node("n1")
    lab.set_condition("n1", "MemoryPressure", "True")
    lab.settle()
    tolerates = [{"key": "node.kubernetes.io/memory-pressure", "operator": "Exists"}]
    lab.create("Pod", pod("burstable", "1Gi", nodeName="n1"))
    lab.create("Pod", pod("best-effort", nodeName="n1"))
    lab.create("Pod", pod("tolerant", nodeName="n1", tolerations=tolerates))
    lab.settle()
    phases = [
        lab.get("Pod", name)["status"]["phase"] for name in ("burstable", "best-effort", "tolerant")
    ]
    assert phases == ["Running", "Failed", "Running"]
    assert lab.condition("Node", "n1", "MemoryPressure")["status"] == "True"
