"""Which pods belong to which PodGroup, and which of them have a node.

A pod is pending from the moment the scheduler is responsible for it until it is bound or deleted;
it is placed while it is in the cache, assumed or bound. An assumed pod is both.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from apps.scheduler.objects import Pod

#: (namespace, name)
GroupKey = tuple[str, str]


@dataclass(slots=True)
class Members:
    """The pods of one group by uid. The PodGroup object need not exist."""

    pending: dict[str, Pod] = field(default_factory=dict)
    placed: set[str] = field(default_factory=set)

    @property
    def count(self) -> int:
        """How many pods there are, with and without a node."""
        return len(self.placed | self.pending.keys())

    def unscheduled(self) -> list[Pod]:
        """The pods without a node, by name: upstream's order is that of a map, so random."""
        waiting = (pod for uid, pod in self.pending.items() if uid not in self.placed)
        return sorted(waiting, key=lambda pod: pod.metadata.name)


_NONE = Members()


class PodGroups:
    """The members of all groups; kept by the cache and by the event handlers."""

    def __init__(self) -> None:
        self._members: dict[GroupKey, Members] = {}

    def of(self, pod: Pod) -> Members:
        """The members of the group of ``pod``; no members for a pod without a group."""
        return self._members.get((pod.metadata.namespace, pod.group_name), _NONE)

    def add_pending(self, pod: Pod) -> None:
        """A pod without a node is new, or changed."""
        if pod.spec.scheduling_group is not None:
            self._open(pod).pending[pod.metadata.uid] = pod

    def remove_pending(self, pod: Pod) -> None:
        if pod.spec.scheduling_group is not None:
            self._open(pod).pending.pop(pod.metadata.uid, None)
            self._drop_if_empty(pod)

    def place(self, pod: Pod) -> None:
        """The pod was assumed, or is bound."""
        if pod.spec.scheduling_group is not None:
            self._open(pod).placed.add(pod.metadata.uid)

    def displace(self, pod: Pod) -> None:
        """The assumption was undone, or the bound pod was deleted."""
        if pod.spec.scheduling_group is not None:
            self._open(pod).placed.discard(pod.metadata.uid)
            self._drop_if_empty(pod)

    def _open(self, pod: Pod) -> Members:
        return self._members.setdefault((pod.metadata.namespace, pod.group_name), Members())

    def _drop_if_empty(self, pod: Pod) -> None:
        members = self.of(pod)
        if not members.pending and not members.placed:
            self._members.pop((pod.metadata.namespace, pod.group_name), None)
