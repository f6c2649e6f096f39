"""Log lines about moves in the queue, from verbosity 5 on, as kube-scheduler's `-v=5`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Final

from django.conf import settings

from apps.cluster.models import Cluster
from apps.scheduler.queue.records import PodMove, SubQueue

log = logging.getLogger("kube-scheduler")

MOVES: Final = 5
#: The names of the queues in kube-scheduler's log; gated pods are among the unschedulable ones.
_QUEUES: Final[Mapping[SubQueue, str]] = {
    SubQueue.ACTIVE: "Active",
    SubQueue.BACKOFF: "Backoff",
    SubQueue.UNSCHEDULABLE: "Unschedulable",
    SubQueue.GATED: "Unschedulable",
}


def log_moves(cluster: Cluster, moves: Sequence[PodMove]) -> None:
    """Log the committed moves into a queue; pops and ends of attempts are not moves there."""
    if settings.VERBOSITY < MOVES:
        return
    for move in moves:
        if move.target in _QUEUES:
            fields = {
                "cluster": cluster.name,
                "pod": move.pod_key,
                "event": move.event,
                "queue": _QUEUES[move.target],
            }
            hint = {"hint": move.hint, "plugin": move.plugin} if move.hint else {}
            log.info(
                "Pod moved to an internal scheduling queue",
                extra={"fields": {**fields, **hint}, "request_id": "-"},
            )
