"""Preemption under way: from the decision until the victims are gone."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from apps.scheduler.framework.types import PodInfo

#: preemptors remembered before those that are done are looked for
_SWEEP = 64


class InFlight:
    """Which pods wait for their victims.

    The scheduler goes on with other pods while victims are being deleted; until that has happened,
    another attempt of the preemptor would only find the room still taken.
    """

    def __init__(self, find_pod: Callable[[str], PodInfo | None]) -> None:
        #: the pod with this uid as it takes room on a node, None if it does not
        self._find_pod = find_pod
        #: uid of the preemptor -> uids of its victims
        self._victims: dict[str, tuple[str, ...]] = {}
        #: number of preemptors at which those that need not wait any more are forgotten
        self._sweep_at = _SWEEP

    def __len__(self) -> int:
        return len(self._victims)

    def start(self, preemptor: PodInfo, victims: Iterable[PodInfo]) -> None:
        """The deletion of ``victims`` has been asked for."""
        self._victims[preemptor.uid] = tuple(victim.uid for victim in victims)
        if len(self._victims) >= self._sweep_at:
            for uid in list(self._victims):
                self.is_running(uid)
            self._sweep_at = 2 * len(self._victims) + _SWEEP

    def is_running(self, uid: str) -> bool:
        """Whether a victim of the pod is neither gone nor terminating."""
        victims = self._victims.get(uid)
        if victims is None:
            return False
        if any(map(self._takes_room, victims)):
            return True
        del self._victims[uid]
        return False

    def _takes_room(self, uid: str) -> bool:
        pod = self._find_pod(uid)
        return pod is not None and not pod.is_terminating
