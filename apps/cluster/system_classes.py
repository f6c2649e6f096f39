"""The priority classes that every cluster has from its creation."""

from __future__ import annotations

from typing import Any, Final

GROUP: Final = "scheduling.k8s.io"
#: Classes that every cluster has: name → (value, description).
SYSTEM_CLASSES: Final = {
    "system-cluster-critical": (
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another "
        "node if necessary.",
    ),
    "system-node-critical": (
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
}


def system_class(name: str) -> dict[str, Any] | None:
    """A system class as a PriorityClass body; None for any other name."""
    if name not in SYSTEM_CLASSES:
        return None
    value, description = SYSTEM_CLASSES[name]
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "description": description,
        "preemptionPolicy": "PreemptLowerPriority",
    }
