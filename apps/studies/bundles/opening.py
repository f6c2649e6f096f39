"""An opened bundle: its decision, its state, and the proof that one follows from the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import msgspec
import numpy as np

from apps.cluster.errors import ApiError, BadRequest
from apps.cluster.models import Cluster
from apps.engine.ledger import columns
from apps.engine.ledger.reading import read
from apps.engine.ledger.records import DecisionRecord
from apps.engine.models import SchedulingDecision
from apps.engine.results.scores import ScoreMatrix, score_matrix
from apps.scheduler.decision import Decision, Result
from apps.studies.bundles import contents
from apps.studies.bundles.contents import Bundle
from apps.studies.bundles.states import rebuild
from apps.studies.rebuilding import PastState, compare, decide_again
from apps.studies.rebuilding.replaying import CannotRecompute

#: The fields of the ledger's row that a bundle has as they are.
ROW_FIELDS: Final = (
    *("namespace", "name", "workload", "attempt", "at", "profile_revision", "scheduler_name"),
    *("result", "node", "message", "post_filter_message", "unschedulable_plugins", "nodes"),
    *("cluster_version", "sequence", "duration_us", "request_id"),
)
#: What the contents of an altered file may raise.
_CONTRADICTIONS: Final = (
    *(LookupError, TypeError, ValueError, AttributeError, ArithmeticError, AssertionError),
    *(StopIteration, RuntimeError, msgspec.MsgspecError),
)


@dataclass(frozen=True, slots=True)
class OpenedBundle:
    """A decision from a file. It is in no ledger, and its state in no database."""

    bundle: Bundle
    #: bytes of the file
    size: int
    #: a row of the ledger that is not stored
    row: SchedulingDecision
    record: DecisionRecord
    state: PastState

    @property
    def decision(self) -> Decision:
        return self.record.decision

    @property
    def matrix(self) -> ScoreMatrix:
        """The recorded scores."""
        return score_matrix(self.decision)

    @contextmanager
    def before(self, row: SchedulingDecision) -> Iterator[PastState]:
        """The state of the decision, as `explanations.states` has it for rows of the ledger."""
        yield self.state

    def verify(self) -> list[str]:
        """Decide again, and compare everything up to the choice of the node, and preemption.

        Returns the differences, "name: recorded -> recomputed"; empty if the decisions are equal.
        Raises BadRequest if it cannot be decided again.
        """
        try:
            with reading_contents():
                return compare(self.decision, decide_again(self.state, self.row, self.decision))
        except CannotRecompute as error:
            raise BadRequest(f"bundle: {error}") from error


def open_bundle(data: bytes) -> OpenedBundle:
    """Read the file of a bundle. Needs no database.

    Raises BadRequest if the file is no bundle, was changed, contradicts itself, or needs a plugin
    that this installation does not have.
    """
    bundle = contents.decode(data)
    with reading_contents():
        row = _row(bundle)
        record = read(row, tuple(bundle.decision.node_names))
        _check(row, record.decision)
        state = rebuild(bundle, row.cluster_version, row.at.timestamp())
        if state.pod(str(row.pod_uid)) is None:
            raise BadRequest("bundle: its state does not have the pod of its decision")
    return OpenedBundle(bundle, len(data), row, record, state)


@contextmanager
def reading_contents() -> Iterator[None]:
    """BadRequest for whatever the contents of an altered file raise."""
    try:
        yield
    except (ApiError, CannotRecompute):
        raise
    except _CONTRADICTIONS as error:
        raise BadRequest(f"bundle: its contents contradict each other: {error!r:.300}") from error


def _row(bundle: Bundle) -> SchedulingDecision:
    stored = bundle.decision
    row = SchedulingDecision(
        pk=stored.id,
        cluster=Cluster(name=bundle.cluster),
        pod_uid=UUID(stored.pod_uid),
        columns=columns.compress(stored.columns),
        **{name: getattr(stored, name) for name in ROW_FIELDS},
    )
    decision = read(row, tuple(stored.node_names)).decision
    row.feasible_nodes, row.tied_nodes = len(decision.feasible), decision.ranking.tied
    row.total_score = decision.ranking.best if decision.result is Result.SCHEDULED else None
    row.nominated_node = decision.nominating.nominated_node if decision.nominating else ""
    row.victims = (
        [each.key for each in decision.post_filter.victims] if decision.post_filter else []
    )
    return row


def _check(row: SchedulingDecision, decision: Decision) -> None:
    """Whether the row, its columns and its nodes are about the same decision."""
    statuses, rows = decision.node_statuses, len(decision.nodes)
    if statuses is not None and len(statuses.ids) not in (0, rows):
        raise BadRequest("bundle: the decision has results for other nodes than it names")
    if row.node and row.node not in decision.nodes:
        raise BadRequest(f"bundle: the decision selects {row.node}, which is none of its nodes")
    for name, column in decision.scores.items():
        if not len(column.raw) == len(column.normalized) == len(decision.feasible):
            raise BadRequest(f"bundle: {name} has scores for other nodes than the feasible ones")
    if decision.scores and row.node:
        chosen = int(np.flatnonzero(decision.feasible == decision.nodes.index(row.node))[0])
        if decision.total[chosen] != decision.total.max():
            raise BadRequest(f"bundle: {row.node} does not have the greatest total score")
