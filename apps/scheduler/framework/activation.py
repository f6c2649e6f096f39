"""Pods that a plugin wants to be tried again at once, now that this one has found its place.

Upstream's PodsToActivate: they are brought to activeQ, wherever they wait, when the scheduling
cycle has succeeded, and those named after that when the pod is bound.
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
    """Have a pending pod activated if this cycle succeeds."""
    wanted = state.find(_KEY, _PodsToActivate)
    if wanted is None:
        wanted = _PodsToActivate()
        state.write(_KEY, wanted)
    wanted.pods[pod.key] = pod


def take(state: CycleState) -> list[Pod]:
    """The pods named since this was last asked, in order."""
    wanted = state.find(_KEY, _PodsToActivate)
    if wanted is None:
        return []
    pods, wanted.pods = list(wanted.pods.values()), {}
    return pods
