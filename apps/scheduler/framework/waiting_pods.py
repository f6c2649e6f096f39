"""Pods that Permit plugins hold: assumed and reserved, but not yet to be bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from apps.scheduler.config.durations import go_duration
from apps.scheduler.framework.status import SUCCESS, Status, error, unschedulable
from apps.scheduler.framework.types import PodInfo

#: upstream's longest time a Permit plugin may hold a pod, in seconds
MAX_PERMIT_TIMEOUT = 15 * 60.0


@dataclass(slots=True)
class WaitingPod:
    """One held pod; it may go when every plugin that holds it has allowed it.

    ``allow`` and ``reject`` may be called from any thread; the scheduler acts on them when it next
    looks.
    """

    pod: PodInfo
    node_name: str
    #: time (of the scheduler's clock) since which it is held
    since: float
    #: plugin -> seconds after which it gives up
    timeouts: Mapping[str, float]
    #: told of every answer
    changed: Callable[[], None]
    #: plugins that have not allowed it yet
    pending: set[str] = field(default_factory=set)
    #: set when a plugin has rejected the pod
    rejection: Status | None = None

    def allow(self, plugin: str) -> None:
        """This plugin does not hold the pod any longer."""
        self.pending.discard(plugin)
        if not self.pending:
            self.changed()

    def reject(self, plugin: str, message: str) -> None:
        """The pod is not to be bound."""
        self._refuse(unschedulable(message).by(plugin))

    def preempt(self, plugin: str, message: str) -> None:
        """The pod loses its room to a pod of higher priority; it is tried again after a pause."""
        self._refuse(error(f"waiting on permit for pod: {message}").by(plugin))

    def _refuse(self, status: Status) -> None:
        if self.rejection is None:
            self.rejection = status
            self.changed()

    @property
    def deadline(self) -> float:
        """When the first of the plugins that hold it gives up; 0 if none holds it."""
        return self.since + min((self.timeouts[name] for name in self.pending), default=-self.since)

    def outcome(self, now: float) -> Status | None:
        """A rejection, success when all plugins have allowed the pod, None while it has to wait."""
        if self.rejection is not None:
            return self.rejection
        if not self.pending:
            return SUCCESS
        if now < self.deadline:
            return None
        plugin = min(self.pending, key=lambda name: self.timeouts[name])
        waited = go_duration(self.timeouts[plugin])
        timeout = f"rejected due to timeout after waiting {waited} at plugin {plugin}"
        return unschedulable(timeout).by(plugin)


class WaitingPods:
    """The held pods by uid."""

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._pods: dict[str, WaitingPod] = {}
        self._changed = changed

    def __iter__(self) -> Iterator[WaitingPod]:
        return iter(list(self._pods.values()))

    def __len__(self) -> int:
        return len(self._pods)

    def get(self, uid: str) -> WaitingPod | None:
        return self._pods.get(uid)

    def hold(
        self, pod: PodInfo, node_name: str, timeouts: Mapping[str, float], now: float
    ) -> WaitingPod:
        """Hold a pod until every plugin of ``timeouts`` (seconds) has allowed it."""
        waiting = WaitingPod(pod, node_name, now, timeouts, self._changed, set(timeouts))
        self._pods[pod.uid] = waiting
        return waiting

    def release(self, uid: str) -> None:
        self._pods.pop(uid, None)

    def next_deadline(self) -> float | None:
        """When somebody has to look again at the latest; None if no pod is held."""
        return min((waiting.deadline for waiting in self._pods.values()), default=None)
