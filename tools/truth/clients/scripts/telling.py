"""What a script of a client has seen, as lines of JSON: one for each step, in order."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

NAMESPACE = os.environ["NAMESPACE"]


def config_map(name: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": NAMESPACE, "labels": {"app": "a"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def deployment(name: str, replicas: int = 1) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "image": "i:1"}]},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def pod(name: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": NAMESPACE, "labels": {"app": "p"}}
    containers = [{"name": "c", "image": "i:1"}]
    body = {"containers": containers, "terminationGracePeriodSeconds": 0, **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}


def node(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {}}


def definition(group: str) -> dict[str, Any]:
    """A CustomResourceDefinition of widgets with status and scale."""
    fields = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": fields, "status": fields}}
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, "scale": scale},
    }
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {"group": group, "names": names, "scope": "Namespaced", "versions": [version]},
    }


def widget(group: str, name: str, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": metadata, "spec": spec}


def step(name: str, call: Callable[[], Any]) -> Any:
    """Print the result or the error of a call; returns the result."""
    try:
        result = call()
    except Exception as error:
        tell(name, _error(error))
        return None
    tell(name, result)
    return result


async def async_step(name: str, call: Callable[[], Any]) -> Any:
    try:
        result = await call()
    except Exception as error:
        tell(name, _error(error))
        return None
    tell(name, result)
    return result


def tell(name: str, result: Any) -> None:
    print(json.dumps({"step": name, "result": plain(result)}, default=str), flush=True)


def _error(error: Exception) -> dict[str, Any]:
    found: dict[str, Any] = {"error": type(error).__name__}
    for field in ("status", "code", "reason", "body"):
        value = getattr(error, field, None)
        if isinstance(value, (int, str)):
            found[field] = value
    if not found.keys() & {"body"}:
        found["text"] = str(error)
    return found


def plain(value: Any) -> Any:
    for name in ("to_dict", "obj", "raw"):
        inner = getattr(value, name, None)
        if inner is not None:
            return plain(inner() if callable(inner) else inner)
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
