"""Devices and claims for the workload SchedulingWithResourceClaimTemplate.

Each node has a pool of its own with equal devices. A pod's claim for one of them exists before the
pod, as the controller for claim templates creates it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from apps.scheduler import objects
from apps.scheduler.framework.intents import Intent, MergePatch
from apps.scheduler.objects import KubeObject

CLASS = "test-class"
KIND = "ResourceClaim"


def device_class(driver: str) -> KubeObject:
    """The class of all devices of the driver."""
    selector = {"cel": {"expression": f'device.driver == "{driver}"'}}
    body = {"metadata": {"name": CLASS}, "spec": {"selectors": [selector]}}
    return objects.decode("DeviceClass", body)


def resource_slice(node: str, driver: str, count: int) -> KubeObject:
    """The devices of a node."""
    spec = {
        "driver": driver,
        "nodeName": node,
        "pool": {"name": node, "resourceSliceCount": 1},
        "devices": [{"name": f"instance-{number:02}"} for number in range(count)],
    }
    return objects.decode("ResourceSlice", {"metadata": {"name": f"{node}-devices"}, "spec": spec})


def claim_body(pod: str, namespace: str) -> dict[str, Any]:
    """A claim for one device, generated for a pod."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": f"{namespace}/{pod}"}
    request = {"name": "req-0", "exactly": {"deviceClassName": CLASS}}
    return {
        "metadata": {
            "name": pod,
            "namespace": namespace,
            "uid": f"claim/{namespace}/{pod}",
            "ownerReferences": [{**owner, "controller": True}],
        },
        "spec": {"devices": {"requests": [request]}},
        "status": {},
    }


def written(body: Mapping[str, Any], intents: Iterable[Intent]) -> dict[str, Any]:
    """The claim after the writes of a decision, which are all about it."""
    result = dict(body)
    for intent in intents:
        if isinstance(intent, MergePatch) and intent.kind == KIND:
            for part, fields in intent.patch.items():
                result[part] = {**result[part], **fields}
    return result
