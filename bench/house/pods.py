"""The nodes and pods of the measurements."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

#: path of the pods below a cluster
PODS = "/api/v1/namespaces/default/pods"
_REQUESTS = {"cpu": "100m", "memory": "500Mi"}


def pod(name: str, size: int = 0) -> dict[str, Any]:
    """A small pod; an annotation fills its body to `size` bytes."""
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "labels": {"app": "load"}}
    container = {
        "name": "pause",
        "image": "registry.k8s.io/pause:3.10",
        "ports": [{"containerPort": 80}],
        "resources": {"requests": _REQUESTS},
    }
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container]},
    }
    if size:
        metadata["annotations"] = {"pad": ""}
        metadata["annotations"]["pad"] = "x" * max(0, size - len(encode(body)))
    return body


def nodes(count: int) -> Iterator[dict[str, Any]]:
    """Ready nodes with 4 cores, 32 GiB and 110 pods, in three zones."""
    for number in range(count):
        name = f"node-{number:05}"
        resources = {"cpu": "4", "memory": "32Gi", "pods": "110"}
        zone = f"zone-{number % 3}"
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": name,
                "labels": {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone},
            },
            "status": {
                "capacity": resources,
                "allocatable": resources,
                "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
            },
        }


def encode(body: dict[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()
