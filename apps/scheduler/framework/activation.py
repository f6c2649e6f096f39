"""Pods that a plugin wants to be retried at once when the pod of this cycle is scheduled.

Upstream's PodsToActivate: they are moved to activeQ from any part of the queue when the scheduling
cycle has succeeded; those requested after that, when the pod is bound.
"""

from __future__ import annotations

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.objects import Pod


def request(state: CycleState, pod: Pod) -> None:
    """Request that a pending pod is activated if this cycle succeeds."""
    state.pods_to_activate[pod.key] = pod


def take(state: CycleState) -> list[Pod]:
    """The pods requested since the last call, in order."""
    pods = list(state.pods_to_activate.values())
    state.pods_to_activate.clear()
    return pods
