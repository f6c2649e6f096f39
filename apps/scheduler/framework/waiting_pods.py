"""Pods that Permit plugins hold: assumed and reserved, but not yet to be bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from apps.scheduler.framework.status import Status, error, unschedulable
from apps.scheduler.framework.types import PodInfo

#: upstream's longest time a Permit plugin may hold a pod, in seconds
MAX_PERMIT_TIMEOUT = 15 * 60.0


@dataclass(slots=True)
class WaitingPod:
    """One held pod; it may go when every plugin that holds it has allowed it."""

    pod: PodInfo
    node_name: str
    #: plugin -> time (of the scheduler's clock) at which it gives up
    deadlines: dict[str, float] = field(default_factory=dict)
    #: set when a plugin has rejected the pod
    rejection: Status | None = None

    def allow(self, plugin: str) -> None:
        """This plugin does not hold the pod any longer."""
        self.deadlines.pop(plugin, None)

    def reject(self, plugin: str, message: str) -> None:
        """The pod is not to be bound."""
        if self.rejection is None:
            self.rejection = unschedulable(message).by(plugin)

    def preempt(self, plugin: str, message: str) -> None:
        """The pod loses its room to a pod of higher priority; it is tried again after a pause."""
        if self.rejection is None:
            self.rejection = error(f"waiting on permit for pod: {message}").by(plugin)

    def outcome(self, now: float) -> Status | None:
        """A rejection, None while the pod has to wait; success is an empty ``deadlines``."""
        if self.rejection is None:
            for plugin, deadline in self.deadlines.items():
                if now >= deadline:
                    timeout = f'rejected due to timeout after waiting at plugin "{plugin}"'
                    return unschedulable(timeout).by(plugin)
        return self.rejection


class WaitingPods:
    """The held pods by uid."""

    def __init__(self) -> None:
        self._pods: dict[str, WaitingPod] = {}

    def __iter__(self) -> Iterator[WaitingPod]:
        return iter(list(self._pods.values()))

    def __len__(self) -> int:
        return len(self._pods)

    def get(self, uid: str) -> WaitingPod | None:
        return self._pods.get(uid)

    def hold(self, pod: PodInfo, node_name: str, deadlines: Mapping[str, float]) -> WaitingPod:
        waiting = self._pods[pod.uid] = WaitingPod(pod, node_name, dict(deadlines))
        return waiting

    def release(self, uid: str) -> None:
        self._pods.pop(uid, None)
