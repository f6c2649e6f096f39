"""One attempt to schedule a group of pods, as the ledger keeps it."""

from __future__ import annotations

from dataclasses import dataclass

from apps.scheduler.framework.status import Status


@dataclass(frozen=True, slots=True)
class MemberTrial:
    """One member of the group in the attempt."""

    name: str
    uid: str
    #: the number of the pod's own attempt
    attempt: int
    #: the node that it had while the group was tried; "" if it fits nowhere
    node: str
    #: it has that node once the victims of its preemption are gone
    needs_preemption: bool
    #: why it has no node; "" if it has one
    message: str


@dataclass(frozen=True, slots=True)
class GroupAttempt:
    """The outcome for the whole group, and its members in the order in which they were tried."""

    namespace: str
    name: str
    #: how many pods the gang needed; 0 for a group that is no gang, or does not exist
    min_count: int
    status: Status
    members: tuple[MemberTrial, ...]
