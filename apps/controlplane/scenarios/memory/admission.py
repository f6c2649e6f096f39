"""What admission looks up in a cluster in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from apps.cluster.models import Cluster
from apps.cluster.writing.memory import AdmissionState

Body = dict[str, Any]
#: (namespace, name) -> object
Objects = Mapping[tuple[str, str], Body]

_DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"
#: Kinds whose objects admission looks up.
LOOKED_UP: Final = frozenset(
    {"LimitRange", "Namespace", "PriorityClass", "RuntimeClass", "StorageClass", "Workload"}
)


@dataclass(frozen=True)
class MemoryAdmission(AdmissionState):
    """The lookups of a cluster in memory, at the time of its clock."""

    cluster: Cluster = field(kw_only=True, repr=False)
    workloads: Objects = field(kw_only=True, repr=False)

    def now(self) -> datetime:
        return self.cluster.now()

    def workload(self, namespace: str, name: str) -> Body | None:
        return self.workloads.get((namespace, name))


def build_admission(cluster: Cluster, objects: Mapping[str, Objects]) -> MemoryAdmission:
    """The lookups as of now; `objects` are the cluster's, by kind."""

    def named(kind: str) -> dict[str, Body]:
        return {name: body for (_, name), body in objects.get(kind, {}).items()}

    limits: dict[str, list[Body]] = {}
    for (namespace, _), body in sorted(objects.get("LimitRange", {}).items()):
        limits.setdefault(namespace, []).append(body)
    return MemoryAdmission(
        cluster_id=0,
        admission_version=0,
        admission_plugins=cluster.admission_plugins,
        controllers=cluster.controllers,
        paused=False,
        api_gates=cluster.api_gates,
        is_simple=True,
        namespaces=named("Namespace"),
        priority_classes=named("PriorityClass"),
        runtime_classes=named("RuntimeClass"),
        limit_ranges_of=limits,
        _default_priority_class=_default_priority(list(named("PriorityClass").values())),
        _default_storage_class=_default_storage(list(named("StorageClass").values())),
        cluster=cluster,
        workloads=dict(objects.get("Workload", {})),
    )


def _default_priority(classes: Sequence[Body]) -> Body | None:
    found = [each for each in classes if each.get("globalDefault")]
    return min(found, key=lambda each: (each["value"], each["metadata"]["name"]), default=None)


def _default_storage(classes: Sequence[Body]) -> Body | None:
    found = [
        each
        for each in classes
        if (each["metadata"].get("annotations") or {}).get(_DEFAULT_CLASS) == "true"
    ]
    newest = max((each["metadata"]["creationTimestamp"] for each in found), default="")
    found = [each for each in found if each["metadata"]["creationTimestamp"] == newest]
    return min(found, key=lambda each: each["metadata"]["name"], default=None)
