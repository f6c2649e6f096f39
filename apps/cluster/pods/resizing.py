"""In-place resize of a pod: what its containers have, besides what its spec wants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Body = dict[str, Any]


def record_allocation(pod: Mapping[str, Any]) -> Body:
    """The status of a pod before a resize, with what its running containers have.

    A kubelet always reports this. A mock kubelet does not, until it differs from the spec.
    """
    status = dict(pod.get("status") or {})
    if status.get("phase") != "Running":
        return status
    for listed, statuses in (
        ("containers", "containerStatuses"),
        ("initContainers", "initContainerStatuses"),
    ):
        if statuses in status:
            resources = {c["name"]: c.get("resources") for c in pod["spec"].get(listed) or ()}
            status[statuses] = [
                each if "resources" in each else report_resources(each, resources.get(each["name"]))
                for each in status[statuses]
            ]
    return status


def report_resources(status: Mapping[str, Any], resources: Mapping[str, Any] | None) -> Body:
    """The status of a container that has these resources, which its node has allocated."""
    resources = dict(resources or {})
    allocated = {"allocatedResources": resources["requests"]} if resources.get("requests") else {}
    kept = {name: value for name, value in status.items() if name != "allocatedResources"}
    return {**kept, **allocated, "resources": resources}
