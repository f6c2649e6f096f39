"""Everything about one attempt to schedule one pod, as columns; text is built on display."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import msgspec
import numpy as np

from apps.scheduler.framework.batch import BatchHint
from apps.scheduler.framework.claim_allocations import ClaimAllocation
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.extender_calls import ExtenderCall
from apps.scheduler.framework.intents import Intent
from apps.scheduler.framework.interface import NominatingInfo, PostFilterResult
from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.framework.plugin_scores import ScoreColumn
from apps.scheduler.framework.ranking import NO_RANKING, Ranking
from apps.scheduler.framework.status import SUCCESS, Status
from apps.scheduler.group_attempt import GroupAttempt

_NO_ROWS: Int64Array = np.empty(0, dtype=np.int64)


class Result(StrEnum):
    SCHEDULED = "scheduled"
    UNSCHEDULABLE = "unschedulable"
    ERROR = "error"
    #: a Permit plugin holds the pod: not the end of the attempt
    WAITING = "waiting"
    #: a slow step of the binding is running: not the end of the attempt
    BINDING = "binding"

    @property
    def is_final(self) -> bool:
        """Whether the attempt has ended."""
        return self not in (Result.WAITING, Result.BINDING)


@dataclass(frozen=True, slots=True)
class PermitWait:
    """How Permit plugins held the pod after it had a node."""

    #: plugin -> seconds after which it rejects the pod
    timeouts: Mapping[str, float]
    #: how long the pod was held
    seconds: float
    #: success when all plugins allowed it, else the rejection; None while it is held
    outcome: Status | None = None


class Decision(msgspec.Struct, kw_only=True, eq=False):
    """One attempt. Arrays about feasible nodes are aligned with ``feasible``; rows index ``nodes``.

    Filled in during the attempt; it does not change any more when ``result`` is final.
    """

    pod_key: str
    pod_uid: str
    #: the resourceVersion of the pod that was scheduled, as its events name it; not stored
    pod_version: str = ""
    #: the pod's controller, "Deployment/web"; "" without one
    workload: str = ""
    #: the profile's schedulerName
    profile: str
    #: number of this attempt, counted from 1
    attempt: int = 1
    result: Result = Result.ERROR
    #: the chosen node, "" without one
    node: str = ""
    #: as in the pod's PodScheduled condition and in the FailedScheduling event; "" if scheduled
    message: str = ""
    #: the same without what PostFilter added
    filter_message: str = ""

    #: names by row of the snapshot, "" for dead rows
    nodes: tuple[str, ...] = ()
    #: nodes in the cluster
    total_nodes: int = 0
    #: the first refusal per row, with the plugin; None if the filters did not run
    node_statuses: NodeStatuses | None = None
    #: index in the visiting order at which the search started
    start: int = 0
    #: nodes that the filters evaluated
    evaluated: int = 0
    #: only the pod's nominated node, or that of ``hint``, was evaluated, and it was chosen
    nominated_fast_path: bool = False
    #: the node of a batch that was tried before all others
    hint: BatchHint | None = None

    #: PreFilter's outcome; a rejection ends the attempt before Filter
    pre_filter: Status = SUCCESS
    #: the nodes to which PreFilter narrowed the search, None = all
    pre_filter_nodes: frozenset[str] | None = None
    filter_skipped: frozenset[str] = frozenset()
    score_skipped: frozenset[str] = frozenset()
    unschedulable_plugins: frozenset[str] = frozenset()
    pending_plugins: frozenset[str] = frozenset()

    #: (feasible,) int64, rows that passed, ascending
    feasible: Int64Array = _NO_ROWS
    #: plugin (or extender) -> scores of the feasible rows
    scores: dict[str, ScoreColumn] = {}
    #: the feasible rows by the sums of the weighted scores
    ranking: Ranking = NO_RANKING
    #: index into ``ties`` of the chosen row
    draw: int = 0

    #: PostFilter's result, None if it was not run
    post_filter_status: Status | None = None
    post_filter: PostFilterResult | None = None
    #: the new nomination of the pod; None = unchanged
    nominating: NominatingInfo | None = None
    #: the failure in Reserve, Permit, PreBind or Bind
    rejection: Status | None = None
    #: None if no Permit plugin asked to wait
    permit_wait: PermitWait | None = None
    #: every call of an extender, in order
    extender_calls: list[ExtenderCall] = []
    #: the writes that this decision requests
    intents: tuple[Intent, ...] = ()
    #: extension point -> nanoseconds
    durations: Mapping[str, int] = {}
    #: extension point -> plugin -> nanoseconds, of the plugins that ran, in their order; Filter
    #: includes the second run for nominated pods, Score includes NormalizeScore
    plugin_durations: Mapping[str, Mapping[str, int]] = {}

    #: the claims of the pod with the devices that they have, or would have had, on ``node``
    claims: tuple[ClaimAllocation, ...] = ()

    #: (uid, node, claims) of the members of the pod's group that were tried before it, and had a
    #: node
    beside: tuple[tuple[str, str, tuple[ClaimAllocation, ...]], ...] = ()

    #: the attempt with the pod's group, with the first of its members
    group_attempt: GroupAttempt | None = None

    #: when the attempt started, and ended without a node; `perf_counter_ns` of this process
    began_ns: int = 0
    ended_ns: int = 0
    #: nanoseconds from the snapshot until a node was chosen or none was found
    algorithm_ns: int = 0
    #: when the pod was first ready for an attempt, seconds since the Unix epoch
    initial_attempt_at: float | None = None
    #: the pod was retried because of the time it had waited, not because of an event
    after_flush: bool = False

    @property
    def is_batched(self) -> bool:
        """Whether the node came from a batch: it has no scores but those of that decision."""
        return self.hint is not None and self.nominated_fast_path

    @property
    def total(self) -> Int64Array:
        """(feasible,) int64, sum of the weighted scores; empty if there are no scores."""
        return self.ranking.total

    @property
    def ties(self) -> Int64Array:
        """(ties,) int64, rows with the greatest total."""
        return self.ranking.ties

    def status_of(self, node: str) -> Status | None:
        """Why the node was refused; None if it passed. KeyError for an unknown node."""
        row = self._row(node)
        if self.node_statuses is None:
            return self.pre_filter
        return self.node_statuses.at(row)

    def scores_of(self, node: str) -> dict[str, tuple[int, int, int]]:
        """Plugin -> (raw, normalized, weighted) of a feasible node; KeyError for any other."""
        places = np.flatnonzero(self.feasible == self._row(node))
        if not len(places):
            raise KeyError(node)
        place = int(places[0])
        return {
            plugin: (
                int(column.raw[place]),
                int(column.normalized[place]),
                int(column.normalized[place]) * column.weight,
            )
            for plugin, column in self.scores.items()
        }

    @property
    def scores_bare_nodes(self) -> bool:
        """Whether the nodes were scored as an extender sent them back: without their pods."""
        return any(call.has_objects for call in self.extender_calls)

    def tied_nodes(self) -> list[str]:
        """Names of the nodes with the greatest total, sorted."""
        return sorted(self.nodes[row] for row in self.ties)

    def _row(self, node: str) -> int:
        try:
            return self.nodes.index(node)
        except ValueError:
            raise KeyError(node) from None
