"""Admission of pods, in the order of a Kubernetes API server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.cluster.admission.draft import Body, child
from apps.cluster.admission.limit_ranges import limit_pod
from apps.cluster.admission.match_label_keys import merge_label_keys
from apps.cluster.admission.plugins.registry import EnabledPlugins
from apps.cluster.admission.priority import keep_priority, set_priority
from apps.cluster.admission.runtimeclass import apply_runtime_class
from apps.cluster.admission.tolerations import add_default_tolerations
from apps.cluster.lookups import Lookups


def create_pod(pod: Body, lookups: Lookups, plugins: EnabledPlugins) -> None:
    """Run admission for a new pod that has its defaults; Forbidden if the pod is rejected."""
    child(pod, "spec")
    limit_pod(pod, lookups)
    set_priority(pod, lookups)
    add_default_tolerations(pod["spec"])
    plugins.admit("Pod", pod, lookups)
    apply_runtime_class(pod, lookups)
    merge_label_keys(pod)


def update_pod(pod: Body, lookups: Lookups, old: Mapping[str, Any]) -> None:
    """Keep values that admission has added and an update omits."""
    child(pod, "spec")
    keep_priority(pod, old)
    quality = (old.get("status") or {}).get("qosClass")
    if quality and "status" in pod:
        pod["status"]["qosClass"] = pod["status"].get("qosClass") or quality
    add_default_tolerations(pod["spec"])
