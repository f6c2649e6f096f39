"""Services that `kubectl expose` creates for a pod: their selectors have all labels of the pod.

Since Kubernetes 1.35 these include zone and region, which the API server copies from the node when
it binds the pod. With them in its selector a service would lose the pod's replicas in other zones.
"""

from __future__ import annotations

from typing import Any, Final

from apps.api.kubernetes.calls import Call
from apps.cluster.writing.binding import TOPOLOGY_LABELS

Body = dict[str, Any]

#: The field manager of `kubectl expose`.
_MANAGER: Final = "kubectl-expose"


def drop_topology_labels(call: Call, service: Body) -> list[str]:
    """Remove the copied labels from the selector of such a service; returns warnings."""
    if call.resource.kind.name != "Service" or call.actor.manager != _MANAGER:
        return []
    spec = service.get("spec") or {}
    selector = spec.get("selector") or {}
    copied = [label for label in TOPOLOGY_LABELS if label in selector]
    if not copied or len(copied) == len(selector):
        return []
    kept = {label: value for label, value in selector.items() if label not in copied}
    service["spec"] = {**spec, "selector": kept}
    return [
        f"spec.selector: {', '.join(copied)} removed: "
        "the API server copied it to the pod from its node"
    ]
