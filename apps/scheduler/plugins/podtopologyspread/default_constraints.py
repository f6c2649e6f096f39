"""Default constraints: what the pod's services and its controller select is spread."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from apps.scheduler.cache.listers import Listers
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.labels import (
    EVERYTHING,
    Selector,
    SelectorError,
    from_label_selector,
    from_set,
)
from apps.scheduler.objects import OwnerReference, TopologySpreadConstraint
from apps.scheduler.plugins.podtopologyspread.constraints import (
    DO_NOT_SCHEDULE,
    HOSTNAME,
    SCHEDULE_ANYWAY,
    SpreadConstraint,
    compile_constraints,
)

_ZONE: Final = "topology.kubernetes.io/zone"
#: what holds with defaultingType System
SYSTEM_DEFAULTS: Final = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY),
    TopologySpreadConstraint(max_skew=5, topology_key=_ZONE, when_unsatisfiable=SCHEDULE_ANYWAY),
)


_REPLICATION_CONTROLLER: Final = ("v1", "ReplicationController")
_REPLICA_SET: Final = ("apps/v1", "ReplicaSet")
_STATEFUL_SET: Final = ("apps/v1", "StatefulSet")

#: answers kept for pods that are alike
_MAX_KNOWN: Final = 4096


class DefaultConstraints:
    """A profile's constraints for pods without any; their selector follows from the pod's owners.

    They are kept for pods of equal namespace, labels and controller, until a service or a
    controller changes.
    """

    def __init__(self, written: Sequence[TopologySpreadConstraint], listers: Listers) -> None:
        self._listers = listers
        self._unselected = {
            action: compile_constraints(written, action, namespace="", labels={})
            for action in (DO_NOT_SCHEDULE, SCHEDULE_ANYWAY)
        }
        self._known: dict[Hashable, tuple[SpreadConstraint, ...]] = {}
        self._version: tuple[int, ...] = ()

    def of(self, pod: PodInfo, action: str) -> tuple[SpreadConstraint, ...]:
        """Those for ``action``; none where nothing selects the pod."""
        unselected = self._unselected[action]
        if not unselected:
            return ()
        self._forget_if_changed()
        owner = _controller(pod)
        whose = (owner.api_version, owner.kind, owner.name) if owner is not None else None
        key = (action, pod.label_class, whose)
        known = self._known.get(key)
        if known is None:
            selector = self._select(pod, owner)
            known = self._known[key] = tuple(
                replace(each, namespace=pod.namespace, selector=selector)
                for each in (() if selector.everything else unselected)
            )
        return known

    def _forget_if_changed(self) -> None:
        listers = self._listers
        version = (
            listers.services.version,
            listers.replication_controllers.version,
            listers.replica_sets.version,
            listers.stateful_sets.version,
        )
        if version != self._version or len(self._known) >= _MAX_KNOWN:
            self._known.clear()
            self._version = version

    def _select(self, pod: PodInfo, owner: OwnerReference | None) -> Selector:
        """The labels of all services that select the pod, and its controller's selector.

        One that selects everything means that there is nothing to spread by.
        """
        labels = self._service_labels(pod)
        if owner is None:
            return from_set(labels)
        kind = (owner.api_version, owner.kind)
        if kind == _REPLICATION_CONTROLLER:
            controller = self._listers.replication_controllers.get(owner.name, pod.namespace)
            return from_set({**labels, **(controller.spec.selector if controller else {})})
        added = self._controller_selector(kind, owner.name, pod.namespace)
        both = set(from_set(labels).requirements).union(added.requirements)
        return Selector(tuple(sorted(both)))

    def _service_labels(self, pod: PodInfo) -> Mapping[str, str]:
        labels: dict[str, str] = {}
        for service in self._listers.services.in_namespace(pod.namespace):
            selector = service.spec.selector
            if all(pod.labels.get(key) == value for key, value in selector.items()):
                labels.update(selector)
        return labels

    def _controller_selector(self, kind: tuple[str, str], name: str, namespace: str) -> Selector:
        """What a ReplicaSet or StatefulSet selects; everything where that is not to be had."""
        if kind == _REPLICA_SET:
            replica_set = self._listers.replica_sets.get(name, namespace)
            written = replica_set.spec.selector if replica_set else None
        elif kind == _STATEFUL_SET:
            stateful_set = self._listers.stateful_sets.get(name, namespace)
            written = stateful_set.spec.selector if stateful_set else None
        else:
            return EVERYTHING
        try:
            selector = from_label_selector(written)
        except SelectorError:
            return EVERYTHING
        return EVERYTHING if selector.nothing else selector


def _controller(pod: PodInfo) -> OwnerReference | None:
    owners = pod.pod.metadata.owner_references
    return next((owner for owner in owners if owner.controller), None)
