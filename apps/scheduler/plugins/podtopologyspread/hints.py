"""Which events trigger a retry of a pod that PodTopologySpread rejected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from apps.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    QueueingHint,
    Resource,
)
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.labels import Selector
from apps.scheduler.objects import Node, Pod


class HardConstraint(Protocol):
    """The fields of a DoNotSchedule constraint that hints use."""

    @property
    def topology_key(self) -> str: ...

    @property
    def selector(self) -> Selector: ...

    @property
    def honors_taints(self) -> bool: ...


#: The DoNotSchedule constraints in force for a pod: its own, or else the profile's defaults.
HardConstraints = Callable[[PodInfo], Sequence[HardConstraint]]


class SpreadHints:
    def __init__(self, constraints_of: HardConstraints) -> None:
        self._constraints_of = constraints_of

    def events(self) -> tuple[ClusterEventWithHint, ...]:
        pod = (
            ActionType.ADD
            | ActionType.DELETE
            | ActionType.UPDATE_POD_LABEL
            | ActionType.UPDATE_POD_TOLERATION
        )
        node = (
            ActionType.ADD
            | ActionType.DELETE
            | ActionType.UPDATE_NODE_LABEL
            | ActionType.UPDATE_NODE_TAINT
        )
        return (
            ClusterEventWithHint(
                ClusterEvent(Resource.POD, pod),
                self.pod_changed,
                looks_for="that one of the pod's spread constraints counts",
            ),
            ClusterEventWithHint(
                ClusterEvent(Resource.NODE, node),
                self.node_changed,
                looks_for="in a topology domain of every spread constraint",
            ),
        )

    def pod_changed(self, pod: PodInfo, old: Pod | None, new: Pod | None) -> QueueingHint:
        """A pod that a constraint counts was added or deleted, or is now (not) counted.

        Only running pods of the same namespace are counted. The pod's own new toleration helps
        where a constraint honors taints.
        """
        if not all(each is None or _is_involved(each, pod) for each in (old, new)):
            return QueueingHint.QUEUE_SKIP
        constraints = self._constraints_of(pod)
        if old is not None and new is not None and new.metadata.uid == pod.uid:
            tolerant = old.spec.tolerations != new.spec.tolerations
            if tolerant and any(constraint.honors_taints for constraint in constraints):
                return QueueingHint.QUEUE
        helps = any(
            _counts(constraint, old) != _counts(constraint, new) for constraint in constraints
        )
        return QueueingHint.QUEUE if helps else QueueingHint.QUEUE_SKIP

    def node_changed(self, pod: PodInfo, old: Node | None, new: Node | None) -> QueueingHint:
        """A node in a domain of every constraint changed: its existence, domains or taints."""
        keys = [constraint.topology_key for constraint in self._constraints_of(pod)]
        was, now = _is_in_domains(old, keys), _is_in_domains(new, keys)
        helps = was != now
        if old is not None and new is not None and now:
            moved = _domains(old, keys) != _domains(new, keys)
            helps = helps or moved or old.spec.taints != new.spec.taints
        return QueueingHint.QUEUE if helps else QueueingHint.QUEUE_SKIP


def _is_involved(other: Pod, pod: PodInfo) -> bool:
    same_namespace = other.metadata.namespace == pod.namespace
    return other.metadata.uid == pod.uid or (bool(other.spec.node_name) and same_namespace)


def _counts(constraint: HardConstraint, pod: Pod | None) -> bool:
    return pod is not None and constraint.selector.matches(pod.metadata.labels)


def _is_in_domains(node: Node | None, keys: Sequence[str]) -> bool:
    return node is not None and all(key in node.metadata.labels for key in keys)


def _domains(node: Node, keys: Sequence[str]) -> Mapping[str, str | None]:
    return {key: node.metadata.labels.get(key) for key in keys}
