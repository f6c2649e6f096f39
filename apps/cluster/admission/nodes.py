"""Admission of nodes (plugin TaintNodesByCondition)."""

from __future__ import annotations

from typing import Final

from apps.cluster.admission.draft import Body, child
from apps.cluster.pods.footprint import node_ready

NOT_READY_TAINT: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def is_tainted_when_new(node: Body, *, controllers: bool, paused: bool, by_client: bool) -> bool:
    """Whether a new node gets the taint.

    The API server taints every node that a client creates. A node that is created as ready need not
    wait for the controllers of a running cluster, which would remove the taint at once. The control
    plane creates nodes as they are.
    """
    if not node_ready(node) and controllers:
        return True
    return by_client and (paused or not controllers)


def taint_not_ready(node: Body) -> None:
    """Keep pods off a new node until a controller marks it as ready."""
    taints = child(node, "spec").setdefault("taints", [])
    wanted = (NOT_READY_TAINT["key"], NOT_READY_TAINT["effect"])
    if all((taint.get("key"), taint.get("effect")) != wanted for taint in taints):
        taints.append(dict(NOT_READY_TAINT))
