"""A decision with what it was based on: the one value that the loop hands to the ledger.

`reading.read` gives the same value back.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from apps.scheduler.decision import Decision, Result


class Expected(NamedTuple):
    """A pod with a node whose binding was not known to be written."""

    uid: str
    node: str
    #: the version of the cluster at which the scheduler knew the pod
    version: int


@dataclass(frozen=True, slots=True)
class SeenState:
    """What a decision saw besides the objects of its version and the decisions just before it.

    With it the state it saw can be rebuilt: see `apps.controlplane.rebuilding`.
    """

    #: the version at which its engine loaded the cluster
    loaded_at: int = 0
    expected: tuple[Expected, ...] = ()
    #: uids of pods that had lost the node where they were expected, which was not written yet
    released: tuple[str, ...] = ()


class Draws(NamedTuple):
    """How a cluster draws among equals, and the seed of its draws; empty if not known."""

    tie_break: str = ""
    seed: int = 0


_NOTHING_SEEN = SeenState()
_NO_DRAWS = Draws()


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecord:
    """A decision, when it was taken and what it saw."""

    decision: Decision
    #: by the cluster's clock
    at: datetime
    cluster_version: int
    #: how many decisions were taken before it at the same version
    sequence: int
    #: the request that created the pod
    request_id: str = ""
    seen: SeenState = _NOTHING_SEEN
    draws: Draws = _NO_DRAWS
    #: the pod took its node at once, even if the binding was refused later
    took_node: bool = False

    @property
    def undone(self) -> bool:
        """The pod had its node until the binding was refused: later decisions saw it there."""
        return self.took_node and self.decision.result is not Result.SCHEDULED
