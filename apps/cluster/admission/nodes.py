"""Admission of nodes (plugin TaintNodesByCondition)."""

from __future__ import annotations

from typing import Final

from apps.cluster.admission.draft import Body, child

NOT_READY_TAINT: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def taint_not_ready(node: Body) -> None:
    """Keep pods off a new node until a controller marks it as ready."""
    taints = child(node, "spec").setdefault("taints", [])
    wanted = (NOT_READY_TAINT["key"], NOT_READY_TAINT["effect"])
    if all((taint.get("key"), taint.get("effect")) != wanted for taint in taints):
        taints.append(dict(NOT_READY_TAINT))
