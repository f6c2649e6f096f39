"""What a node has too little of: resources, places for pods, host ports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apps.scheduler.explaining.amounts import amount
from apps.scheduler.explaining.sight import Detail, Spot
from apps.scheduler.framework.status import Status
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.noderesources.fit import REASON_TOO_MANY_PODS

#: pods named in a sentence
_NAMED = 3
_INSUFFICIENT = "Insufficient "


def resources_short(spot: Spot, status: Status) -> Iterator[Detail]:
    """ "needs cpu 2, free 1.5 of 4; held by default/a (1.5), default/b (1)"."""
    for reason in status.reasons:
        if reason == REASON_TOO_MANY_PODS:
            yield _too_many_pods(spot)
        elif reason.startswith(_INSUFFICIENT):
            yield _resource_short(spot, reason.removeprefix(_INSUFFICIENT))


def ports_taken(spot: Spot, status: Status) -> Iterator[Detail]:
    for wanted in spot.sight.pod.host_ports:
        takers = [
            pod.key
            for pod in spot.info.pods.values()
            for port in pod.host_ports
            if port.key == wanted.key and port.conflicts_with(wanted.ip)
        ]
        if takers:
            yield Detail(
                f"host port {wanted.protocol} {wanted.port} is taken by {listed(takers)}",
                {"port": wanted.port, "protocol": wanted.protocol, "pods": takers},
            )


def listed(names: Sequence[str], limit: int = _NAMED) -> str:
    """ "a, b, c and 4 more"."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def _too_many_pods(spot: Spot) -> Detail:
    count, allowed = len(spot.info.pods), spot.info.allowed_pods
    return Detail(
        f"has {count} pods and takes {allowed}",
        {"resource": "pods", "has": count, "takes": allowed},
    )


def _resource_short(spot: Spot, name: str) -> Detail:
    needed = spot.sight.pod.requests.get(name, 0)
    has = spot.info.allocatable.get(name, 0)
    requested = spot.info.requested.get(name, 0)
    holders = sorted(
        (pod for pod in spot.info.pods.values() if pod.requests.get(name, 0)),
        key=lambda pod: (-pod.requests[name], pod.key),
    )
    promised = {pod.uid for pod in spot.nominated}
    figures = {
        "resource": name,
        "needed": amount(name, needed),
        "free": amount(name, has - requested),
        "allocatable": amount(name, has),
        "requested": amount(name, requested),
        "pods": [
            {
                "pod": pod.key,
                "amount": amount(name, pod.requests[name]),
                "nominated": pod.uid in promised,
            }
            for pod in holders
        ],
    }
    return Detail(_room(name, needed, has, requested, holders, promised), figures)


def _room(
    name: str, needed: int, has: int, requested: int, holders: Sequence[PodInfo], promised: set[str]
) -> str:
    if not has:
        return f"needs {name} {amount(name, needed)}, and the node has none"
    free = f"needs {name} {amount(name, needed)}, free {amount(name, has - requested)} of "
    free += amount(name, has)
    if needed > has:
        return f"{free}: more than the whole node"
    held = [
        f"{pod.key} ({amount(name, pod.requests[name])}"
        f"{', nominated' if pod.uid in promised else ''})"
        for pod in holders
    ]
    return f"{free}; held by {listed(held)}"
