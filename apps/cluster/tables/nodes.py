"""The table of nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from apps.cluster.tables.columns import AGE, NAME, NONE, UNKNOWN, Column, get, path

Body = Mapping[str, Any]

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"


def status(node: Body) -> str:
    """The column Status: `Ready`, `NotReady`, `Unknown`, with `SchedulingDisabled`."""
    conditions = get(node, "status", "conditions", default=[])
    words = [
        "Ready" if condition["status"] == "True" else "NotReady"
        for condition in conditions
        if condition["type"] == "Ready"
    ] or ["Unknown"]
    if get(node, "spec", "unschedulable", default=False):
        words.append("SchedulingDisabled")
    return ",".join(words)


def roles(node: Body) -> str:
    """The column Roles, from the role labels."""
    labels = get(node, "metadata", "labels", default={})
    named = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    named.add(labels.get(_ROLE_LABEL, ""))
    return ",".join(sorted(filter(None, named))) or NONE


def _address(address_type: str) -> Callable[[Body, datetime], str]:
    def cell(node: Body, now: datetime) -> str:
        for address in get(node, "status", "addresses", default=[]):
            if address["type"] == address_type:
                return str(address["address"])
        return NONE

    return cell


def _info(field: str) -> Callable[[Body, datetime], str]:
    return lambda node, now: get(node, "status", "nodeInfo", field) or UNKNOWN


def _kernel(node: Body, now: datetime) -> str:
    kernel = get(node, "status", "nodeInfo", "kernelVersion")
    architecture = get(node, "status", "nodeInfo", "architecture")
    if not kernel:
        return UNKNOWN
    return f"{kernel} ({architecture})" if architecture else str(kernel)


NODES = (
    NAME,
    Column("Status", lambda node, now: status(node)),
    Column("Roles", lambda node, now: roles(node)),
    AGE,
    Column("Version", path("status", "nodeInfo", "kubeletVersion")),
    Column("Internal-IP", _address("InternalIP"), priority=1),
    Column("External-IP", _address("ExternalIP"), priority=1),
    Column("OS-Image", _info("osImage"), priority=1),
    Column("Kernel-Version", _kernel, priority=1),
    Column("Container-Runtime", _info("containerRuntimeVersion"), priority=1),
)
