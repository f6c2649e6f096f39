"""A decision with the state it was based on: the value that the loop passes to the ledger.

`reading.read` returns an equal value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from apps.scheduler.decision import Decision, Result
from apps.scheduler.explaining.scores import ScoreInputs
from apps.scheduler.framework.claim_allocations import ClaimAllocation


class Expected(NamedTuple):
    """A pod with a node whose binding was not known to be committed."""

    uid: str
    node: str
    #: the version of the cluster at which the scheduler knew the pod
    version: int
    #: the number of decisions before its own at that version
    sequence: int = 0
    #: the devices of the pod's claims
    claims: tuple[ClaimAllocation, ...] = ()


@dataclass(frozen=True, slots=True)
class SeenState:
    """The state a decision saw besides the objects of its version and the decisions before it.

    It is needed to rebuild the state of the decision: see `apps.studies.rebuilding`.
    """

    #: the version at which its engine loaded the cluster
    loaded_at: int = 0
    expected: tuple[Expected, ...] = ()
    #: uids of pods that no longer had their expected node, which was not committed yet
    released: tuple[str, ...] = ()


class Draws(NamedTuple):
    """The tie-break of a cluster, and the seed of its random draws; empty if unknown."""

    tie_break: str = ""
    seed: int = 0


_NOTHING_SEEN = SeenState()
_NO_DRAWS = Draws()


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRecord:
    """A decision, its time, and the state it saw."""

    decision: Decision
    #: by the cluster's clock
    at: datetime
    cluster_version: int
    #: the number of decisions before it at the same version
    sequence: int
    #: the request that created the pod
    request_id: str = ""
    seen: SeenState = _NOTHING_SEEN
    draws: Draws = _NO_DRAWS
    #: the pod was assumed on its node at once, even if the binding failed later
    took_node: bool = False
    #: for the log at its highest verbosity; not stored, because they can be computed again
    score_inputs: Sequence[ScoreInputs] = field(default=(), compare=False)

    @property
    def undone(self) -> bool:
        """The pod was assumed until the binding failed: later decisions saw it on the node."""
        return self.took_node and self.decision.result is not Result.SCHEDULED
