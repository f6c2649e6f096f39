"""One decision on its way from the loop to the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from apps.controlplane.ledger import codec
from apps.scheduler.decision import Decision


@dataclass(frozen=True, slots=True)
class Made:
    """A decision with when it was made, and after which version and earlier decisions."""

    decision: Decision
    at: datetime
    cluster_version: int
    sequence: int
    #: the request that created the pod
    request_id: str = ""
    #: the version at which its engine took in everything there was
    loaded_at: int = 0
    #: pods that earlier decisions had given a node, and which the cluster did not know to be bound
    expected: tuple[codec.Expected, ...] = ()
    #: uids of pods that had lost the node where they were expected, which was not written yet
    released: tuple[str, ...] = ()
    #: the pod took its node at once, whatever became of that
    took_node: bool = False
