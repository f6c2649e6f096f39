"""Simulating nodes short of a resource: sets the annotations that their mock kubelets read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.errors import Cause, Invalid
from apps.cluster.node_changes import Change
from apps.controllers.kubelet import thresholds
from apps.controllers.usage.curves import CPU, DISK, MEMORY, PIDS, parse_curve

Body = dict[str, Any]

#: Field -> annotation, label, example.
FIELDS: Final[Mapping[str, tuple[str, str, str]]] = {
    "cpu": (CPU, "CPU", "20%"),
    "memory": (MEMORY, "Memory", "90%"),
    "disk": (DISK, "Disk", "50%..95%/1h"),
    "pids": (PIDS, "Processes", "30000"),
    "hard": (thresholds.HARD, "Hard eviction thresholds", "memory.available<100Mi"),
    "soft": (thresholds.SOFT, "Soft eviction thresholds", "memory.available<20%"),
    "grace": (thresholds.SOFT_GRACE, "Grace periods of soft eviction", "memory.available=1m30s"),
}
_CURVES: Final = ("cpu", "memory", "disk", "pids")


def simulate(given: Mapping[str, str]) -> Change:
    """Set the annotations of these fields; an empty one is removed. Invalid names a wrong field."""
    causes = [
        Cause("FieldValueInvalid", f"{FIELDS[name][1]}: {problem}", name)
        for name, text in given.items()
        if text and (problem := _problem(name, text))
    ]
    if causes:
        raise Invalid("Node", "", causes)
    annotations = {FIELDS[name][0]: text for name, text in given.items()}

    def change(node: Mapping[str, Any]) -> Body:
        metadata = node["metadata"]
        present = {**(metadata.get("annotations") or {}), **annotations}
        kept = {name: text for name, text in present.items() if text}
        return {**node, "metadata": {**metadata, "annotations": kept}}

    return change


def _problem(name: str, text: str) -> str:
    """Why a text is invalid; "" if it is valid."""
    if name in _CURVES:
        valid = parse_curve(text) is not None
        return "" if valid else f"{text!r} is no percentage, quantity or curve such as 10%..95%/10m"
    return thresholds.find_problem(text, "=" if name == "grace" else "<")
