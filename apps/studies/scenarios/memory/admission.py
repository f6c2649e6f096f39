"""What admission looks up in a cluster in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.admission.dynamic import SOURCES, assemble
from apps.cluster.admission.policies.matching import parse_selector
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster
from apps.cluster.writing.memory import AdmissionState

Body = dict[str, Any]
#: (namespace, name) -> object
Objects = Mapping[tuple[str, str], Body]

_DEFAULT_CLASS: Final = "storageclass.kubernetes.io/is-default-class"


@dataclass(frozen=True)
class MemoryAdmission(AdmissionState):
    """The lookups of a cluster in memory, at the time of its clock."""

    cluster: Cluster = field(kw_only=True, repr=False)
    #: those of the cluster, as they are when they are looked up
    workloads: Objects = field(kw_only=True, repr=False)

    def now(self) -> datetime:
        return self.cluster.now()

    def workload(self, namespace: str, name: str) -> Body | None:
        return self.workloads.get((namespace, name))


@dataclass(frozen=True)
class MemoryParams:
    """The objects that parameterize admission policies; `objects` are the cluster's, by kind."""

    bodies: Mapping[str, Objects]

    def kind(self, api_version: str, name: str) -> Kind | None:
        """The kind of the parameters; None if a cluster in memory does not have it."""
        try:
            return kinds.by_api_version(api_version, name)
        except KeyError:
            return None

    def objects(
        self, kind: Kind, namespace: str, name: str, selector: Mapping[str, Any] | None
    ) -> Sequence[Body]:
        """The object of this name, or those that the selector selects."""
        selects = parse_selector(selector or {})
        return [
            body
            for (place, own), body in sorted(self.bodies.get(kind.key, {}).items())
            if (not kind.namespaced or place == namespace)
            and (own == name if name else selects.matches(body["metadata"].get("labels") or {}))
        ]


def build_admission(cluster: Cluster, objects: Mapping[str, Objects]) -> MemoryAdmission:
    """The lookups as of now; `objects` are the cluster's, by kind, also of later changes."""

    def named(kind: str) -> dict[str, Body]:
        return {name: body for (_, name), body in sorted(objects.get(kind, {}).items())}

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
        dynamic=assemble({kind: list(named(kind).values()) for kind in SOURCES}),
        cluster=cluster,
        workloads=objects["Workload"],
    )


def _default_priority(classes: Sequence[Body]) -> Body | None:
    defaults = [each for each in classes if each.get("globalDefault")]
    return min(defaults, key=lambda each: (each["value"], each["metadata"]["name"]), default=None)


def _default_storage(classes: Sequence[Body]) -> Body | None:
    defaults = [
        each
        for each in classes
        if (each["metadata"].get("annotations") or {}).get(_DEFAULT_CLASS) == "true"
    ]
    newest = max((each["metadata"]["creationTimestamp"] for each in defaults), default="")
    defaults = [each for each in defaults if each["metadata"]["creationTimestamp"] == newest]
    return min(defaults, key=lambda each: each["metadata"]["name"], default=None)
