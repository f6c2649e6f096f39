"""Small objects to send."""

from __future__ import annotations

from typing import Any

Body = dict[str, Any]

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"


def pod(name: str, *, labels: dict[str, str] | None = None, **spec: Any) -> Body:
    """A pod with one container without requests."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **({"labels": labels} if labels else {})},
        "spec": {"containers": [{"name": "c", "image": "pause"}], **spec},
    }


def node(name: str, **labels: str) -> Body:
    """A Ready node."""
    capacity = {"cpu": "4", "memory": "16Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def binding(pod_name: str, node_name: str, **metadata: Any) -> Body:
    """A Binding of a pod to a node."""
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod_name, **metadata},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node_name},
    }


def budget(name: str, app: str, allowed: int) -> Body:
    """A disruption budget for pods labelled app=…, and the status a controller would give it."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}},
        "status": {
            "observedGeneration": 1,
            "disruptionsAllowed": allowed,
            "currentHealthy": 1 + allowed,
            "desiredHealthy": 1,
            "expectedPods": 1 + allowed,
        },
    }
