"""Default constraints: spread the pods that the pod's services and controller select."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Final

from apps.scheduler.cache.listers import Listers
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import TopologySpreadConstraint
from apps.scheduler.plugins.helper.default_selector import (
    default_selector,
    sources_version,
)
from apps.scheduler.plugins.podtopologyspread.constraints import (
    DO_NOT_SCHEDULE,
    HOSTNAME,
    SCHEDULE_ANYWAY,
    SpreadConstraint,
    compile_constraints,
)

_ZONE: Final = "topology.kubernetes.io/zone"
#: the constraints with defaultingType System
SYSTEM_DEFAULTS: Final = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable=SCHEDULE_ANYWAY),
    TopologySpreadConstraint(max_skew=5, topology_key=_ZONE, when_unsatisfiable=SCHEDULE_ANYWAY),
)

#: the number of cached results for equal pods
_MAX_KNOWN: Final = 4096


class DefaultConstraints:
    """A profile's constraints for pods without any; the selector is derived from the pod's owners.

    They are cached for pods of equal namespace, labels and controller, until a service or a
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

    def apply_to(self, pod: PodInfo) -> bool:
        """Whether the pod has default constraints for any action."""
        listers = self._listers
        if not pod.pod.metadata.owner_references and not len(listers.services):
            return False
        return any(self.of(pod, action) for action in self._unselected)

    def of(self, pod: PodInfo, action: str) -> tuple[SpreadConstraint, ...]:
        """The constraints for ``action``; none if no service or controller selects the pod."""
        unselected = self._unselected[action]
        if not unselected:
            return ()
        self._forget_if_changed()
        owner = pod.pod.metadata.controller
        whose = (owner.api_version, owner.kind, owner.name) if owner is not None else None
        key = (action, pod.label_class, whose)
        known = self._known.get(key)
        if known is None:
            selector = default_selector(pod, self._listers)
            known = self._known[key] = tuple(
                replace(each, namespace=pod.namespace, selector=selector)
                for each in (() if selector.everything else unselected)
            )
        return known

    def _forget_if_changed(self) -> None:
        version = sources_version(self._listers)
        if version != self._version or len(self._known) >= _MAX_KNOWN:
            self._known.clear()
            self._version = version
