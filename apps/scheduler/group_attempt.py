"""One attempt to schedule a group of pods, as the ledger keeps it."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

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
class PlacementScore:
    """What one plugin says about one placement in which the group fits."""

    plugin: str
    #: normalized, 0 to 100
    score: int
    weight: int


class PlacementTrial(msgspec.Struct, frozen=True):
    """The group in one topology domain."""

    #: the value of the label
    name: str
    #: how many nodes the domain has
    nodes: int
    #: how many of the members that were tried had a node
    placed: int
    #: whether the group can be scheduled there
    fits: bool
    #: whether the members were scheduled there
    chosen: bool
    #: the first member without a node, and why it has none; "" if all have one
    failing: str
    message: str
    #: if the group fits in several domains
    scores: tuple[PlacementScore, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupVictim:
    """A pod that was evicted to make room for the group."""

    namespace: str
    name: str
    node: str
    #: the group with which it was evicted as a whole; "" if it was evicted alone
    group: str
    #: of the group, if it has one
    priority: int


@dataclass(frozen=True, slots=True)
class GroupAttempt:
    """The outcome for the whole group, and its members in the order in which they were tried."""

    namespace: str
    name: str
    #: how many pods the gang needed; 0 for a group that is no gang, or does not exist
    min_count: int
    status: Status
    members: tuple[MemberTrial, ...]
    #: by name; empty for a group without a topology constraint
    placements: tuple[PlacementTrial, ...] = ()
    #: of the preemption for the whole group, the most important first
    victims: tuple[GroupVictim, ...] = ()
