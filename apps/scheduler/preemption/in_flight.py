"""Preemptions that are not finished: from the decision until the victims are deleted."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from apps.scheduler.framework.types import PodInfo

#: so many preemptors are stored before finished ones are removed
_SWEEP = 64


class InFlight:
    """Which pods and groups wait for their victims.

    Other pods are scheduled while victims are being deleted. Until they are, another attempt to
    schedule the preemptor would fail, because its room is still in use.
    """

    def __init__(self, find_pod: Callable[[str], PodInfo | None]) -> None:
        #: the pod with this uid, if it is assumed or bound
        self._find_pod = find_pod
        #: uid of the preemptor -> uids of its victims
        self._victims: dict[str, tuple[str, ...]] = {}
        #: number of preemptors at which finished ones are removed next
        self._sweep_at = _SWEEP

    def __len__(self) -> int:
        return len(self._victims)

    def start(self, uid: str, victims: Iterable[PodInfo]) -> None:
        """The deletion of ``victims`` was requested, for the pod or the group with this uid."""
        self._victims[uid] = tuple(victim.uid for victim in victims)
        if len(self._victims) >= self._sweep_at:
            for uid in list(self._victims):
                self.is_running(uid)
            self._sweep_at = 2 * len(self._victims) + _SWEEP

    def is_running(self, uid: str) -> bool:
        """Whether a victim of the pod or group is neither deleted nor terminating."""
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
