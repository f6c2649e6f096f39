"""Pods that a plugin wants to be retried at once when the pod of this cycle is scheduled.

Upstream's PodsToActivate: they are moved to activeQ from any part of the queue when the scheduling
cycle has succeeded; those requested after that, when the pod is bound.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.objects import Pod

_KEY = "kubernetes.io/pods-to-activate"


@dataclass(slots=True)
class _PodsToActivate:
    pods: dict[str, Pod] = field(default_factory=dict)

    def clone(self) -> _PodsToActivate:
        return self


def request(state: CycleState, pod: Pod) -> None:
    """Request that a pending pod is activated if this cycle succeeds."""
    wanted = state.find(_KEY, _PodsToActivate)
    if wanted is None:
        wanted = _PodsToActivate()
        state.write(_KEY, wanted)
    wanted.pods[pod.key] = pod


def take(state: CycleState) -> list[Pod]:
    """The pods requested since the last call, in order."""
    wanted = state.find(_KEY, _PodsToActivate)
    if wanted is None:
        return []
    pods, wanted.pods = list(wanted.pods.values()), {}
    return pods
