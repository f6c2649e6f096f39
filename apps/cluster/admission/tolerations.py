"""Tolerations that admission adds (plugin DefaultTolerationSeconds) and merges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.cluster.admission.draft import Body

Toleration = Mapping[str, Any]

#: How long a pod stays on an unreachable node by default.
DEFAULT_SECONDS: Final = 300
_KEYS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def add_default_tolerations(spec: Body) -> None:
    """Let the pod stay for five minutes on a node that is not ready or unreachable."""
    given = spec.get("tolerations", [])
    added = [
        {
            "key": key,
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": DEFAULT_SECONDS,
        }
        for key in _KEYS
        if not any(_mentions(toleration, key) for toleration in given)
    ]
    if added:
        spec["tolerations"] = [*given, *added]


def merge(first: Sequence[Toleration], second: Sequence[Toleration]) -> list[Body]:
    """Both lists in order, without tolerations that another one covers."""
    every = [*first, *second]
    merged: list[Body] = []
    for position, toleration in enumerate(every):
        if any(covers(kept, toleration) for kept in merged):
            continue
        later = every[position + 1 :]
        if any(other != toleration and covers(other, toleration) for other in later):
            continue
        merged.append(dict(toleration))
    return merged


def covers(wide: Toleration, narrow: Toleration) -> bool:
    """Whether `wide` tolerates every taint that `narrow` tolerates, for at least as long."""
    if wide == narrow:
        return True
    exists = wide.get("operator") == "Exists"
    if narrow.get("key") != wide.get("key") and (wide.get("key") or not exists):
        return False
    if wide.get("effect") and narrow.get("effect") != wide["effect"]:
        return False
    if wide.get("effect") == "NoExecute" and wide.get("tolerationSeconds") is not None:
        seconds = narrow.get("tolerationSeconds")
        if seconds is None or seconds > wide["tolerationSeconds"]:
            return False
    if exists:
        return True
    if narrow.get("operator", "Equal") != "Equal":
        return False
    same: bool = narrow.get("value", "") == wide.get("value", "")
    return same


def _mentions(toleration: Toleration, key: str) -> bool:
    return toleration.get("key", "") in (key, "") and toleration.get("effect", "") in (
        "NoExecute",
        "",
    )
