"""The resources, or pod slots, of which a node has too little."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.status import Status
from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.plugins.helper.node_text import list_names
from apps.scheduler.plugins.helper.resource_text import amount

REASON_TOO_MANY_PODS: Final = "Too many pods"
_INSUFFICIENT: Final = "Insufficient "


def insufficient(resource: str) -> str:
    """The reason for a resource of which too little is free."""
    return _INSUFFICIENT + resource


def missing_room(
    pod: PodInfo, node: NodeInfo, status: Status, nominated: Collection[str]
) -> Iterator[Detail]:
    """ "needs cpu 2, free 1.5 of 4; requested by default/a (1.5), default/b (1)".

    ``nominated``: uids of pods that are nominated to the node, but do not run there.
    """
    for reason in status.reasons:
        if reason == REASON_TOO_MANY_PODS:
            yield _too_many_pods(node)
        elif reason.startswith(_INSUFFICIENT):
            yield _resource_short(pod, node, reason.removeprefix(_INSUFFICIENT), nominated)


def _too_many_pods(node: NodeInfo) -> Detail:
    count, allowed = len(node.pods), node.allowed_pods
    return Detail(
        f"has {count} pods and allows {allowed}",
        {"resource": "pods", "has": count, "takes": allowed},
    )


def _resource_short(pod: PodInfo, node: NodeInfo, name: str, nominated: Collection[str]) -> Detail:
    needed = pod.requests.get(name, 0)
    has = node.allocatable.get(name, 0)
    requested = node.requested.get(name, 0)
    holders = sorted(
        (other for other in node.pods.values() if other.requests.get(name, 0)),
        key=lambda other: (-other.requests[name], other.key),
    )
    figures = {
        "resource": name,
        "needed": amount(name, needed),
        "free": amount(name, has - requested),
        "allocatable": amount(name, has),
        "requested": amount(name, requested),
        "pods": [
            {
                "pod": other.key,
                "amount": amount(name, other.requests[name]),
                "nominated": other.uid in nominated,
            }
            for other in holders
        ],
    }
    return Detail(_room(name, needed, has, requested, holders, nominated), figures)


def _room(
    name: str,
    needed: int,
    has: int,
    requested: int,
    holders: Sequence[PodInfo],
    nominated: Collection[str],
) -> str:
    if not has:
        return f"needs {name} {amount(name, needed)}, and the node has none"
    free = f"needs {name} {amount(name, needed)}, free {amount(name, has - requested)} of "
    free += amount(name, has)
    if needed > has:
        return f"{free}: exceeds the node's allocatable {name}"
    held = [
        f"{pod.key} ({amount(name, pod.requests[name])}"
        f"{', nominated' if pod.uid in nominated else ''})"
        for pod in holders
    ]
    return f"{free}; requested by {list_names(held)}"
