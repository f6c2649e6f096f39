"""Pods that Permit plugins hold: assumed and reserved, but not to be bound yet."""

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
    """One held pod; it is bound when every plugin that holds it has allowed it.

    ``allow`` and ``reject`` may be called from any thread; the scheduler acts on them in its next
    ``resolve_waiting``.
    """

    pod: PodInfo
    node_name: str
    #: since when it is held, by the scheduler's clock
    since: float
    #: plugin -> seconds after which it rejects the pod
    timeouts: Mapping[str, float]
    #: called after every answer
    on_change: Callable[[], None]
    #: plugins that have not allowed it yet
    pending: set[str] = field(default_factory=set)
    #: set when a plugin has rejected the pod
    rejection: Status | None = None

    def allow(self, plugin: str) -> None:
        """The plugin no longer holds the pod."""
        self.pending.discard(plugin)
        if not self.pending:
            self.on_change()

    def reject(self, plugin: str, message: str) -> None:
        """The pod is not to be bound."""
        self._refuse(unschedulable(message).by(plugin))

    def preempt(self, plugin: str, message: str) -> None:
        """A pod of higher priority preempts this one; it is retried after its backoff."""
        self._refuse(error(f"waiting on permit for pod: {message}").by(plugin))

    def _refuse(self, status: Status) -> None:
        if self.rejection is None:
            self.rejection = status
            self.on_change()

    @property
    def deadline(self) -> float:
        """When the first of the plugins that hold it times out; 0 if none holds it."""
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

    def __init__(self, on_change: Callable[[], None] = lambda: None) -> None:
        self._pods: dict[str, WaitingPod] = {}
        self._on_change = on_change

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
        waiting = WaitingPod(pod, node_name, now, timeouts, self._on_change, set(timeouts))
        self._pods[pod.uid] = waiting
        return waiting

    def release(self, uid: str) -> None:
        self._pods.pop(uid, None)

    def next_deadline(self) -> float | None:
        """The earliest deadline of a held pod; None if no pod is held."""
        return min((waiting.deadline for waiting in self._pods.values()), default=None)
