"""Decides recorded decisions again under another configuration, each in the state that it saw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

import msgspec

from apps.cluster.errors import Expired
from apps.engine.ledger.reading import read
from apps.engine.models import SchedulingDecision
from apps.scheduler.config import Configuration
from apps.scheduler.decision import Decision, Result
from apps.studies.rebuilding.comparing import why_not_now, why_now
from apps.studies.rebuilding.replaying import CannotRecompute, decide_again
from apps.studies.rebuilding.state import PastState, rebuild_state_before


class Effect(StrEnum):
    """How the configuration changes one decision."""

    SAME = "same"
    #: the recorded node has the greatest score as well: the draw decides, as before
    TIED = "tied"
    OTHER_NODE = "other node"
    NOW_SCHEDULED = "now scheduled"
    NOW_UNSCHEDULABLE = "now unschedulable"
    #: preemption nominates another node, or none
    OTHER_NOMINATION = "other nomination"
    #: no profile of the configuration has the pod's schedulerName
    NO_PROFILE = "no profile"
    #: the state can no longer be rebuilt
    UNKNOWN = "unknown"

    @property
    def differs(self) -> bool:
        return self not in (Effect.SAME, Effect.TIED, Effect.UNKNOWN)


class PreviewedDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded decision, and what it would be."""

    id: int
    namespace: str
    name: str
    attempt: int
    scheduler_name: str
    effect: Effect
    #: as recorded
    result_before: str
    #: selected or nominated; empty: none
    node_before: str
    #: it lost the node after scoring: in Reserve, Permit or while it was bound
    rejected_before: bool = False
    result_after: str = ""
    node_after: str = ""
    total_before: int | None = None
    total_after: int | None = None
    #: why it is unschedulable, has another node, or is unknown
    message: str = ""


def preview(
    rows: Sequence[SchedulingDecision],
    configuration: Configuration,
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Iterator[PreviewedDecision]:
    """Decide each row again under a configuration, in the order of `rows`.

    Each decision is independent: it sees the pods where they really were. Draws and the answers of
    extenders are replayed; extenders are not called. Rows should be in the order of their ids, so
    that decisions based on the same version share a state.
    """
    state: PastState | None = None
    for number, row in enumerate(rows):
        progress(number, len(rows))
        try:
            if state is not None and state.can_advance_to(row):
                state.advance(row)
            else:
                state = None
                state = rebuild_state_before(row, configuration)
            yield _preview_one(row, state)
        except (Expired, CannotRecompute) as error:
            yield _describe(row, Effect.UNKNOWN, message=str(error))
    progress(len(rows), len(rows))


def _preview_one(row: SchedulingDecision, state: PastState) -> PreviewedDecision:
    if row.scheduler_name not in state.scheduler.profiles:
        message = f"no profile has the schedulerName {row.scheduler_name}"
        return _describe(row, Effect.NO_PROFILE, message=message)
    recorded = read(row).decision
    again = decide_again(state, row, recorded)
    effect = compare_outcomes(recorded, again)
    message = again.message
    if effect in (Effect.OTHER_NODE, Effect.NOW_SCHEDULED):
        before = _selected_node(recorded)
        message = (before and why_not_now(before, again)) or why_now(recorded, again, before)
    return _describe(row, effect, recorded, again, message=message)


def compare_outcomes(recorded: Decision, again: Decision) -> Effect:
    """How the selected node, or the nomination, differs."""
    before = _selected_node(recorded)
    if again.result == Result.SCHEDULED:
        if not before:
            return Effect.NOW_SCHEDULED
        if again.node == before:
            return Effect.SAME
        return Effect.TIED if before in again.tied_nodes() else Effect.OTHER_NODE
    if before:
        return Effect.NOW_UNSCHEDULABLE
    same = _nominated_node(recorded) == _nominated_node(again)
    return Effect.SAME if same else Effect.OTHER_NOMINATION


def _selected_node(decision: Decision) -> str:
    """The node with which scoring ended, also if the pod was rejected afterwards."""
    return decision.node


def _nominated_node(decision: Decision) -> str:
    return decision.nominating.nominated_node if decision.nominating is not None else ""


def _total(decision: Decision) -> int | None:
    return int(decision.total.max()) if len(decision.total) else None


def _describe(
    row: SchedulingDecision,
    effect: Effect,
    recorded: Decision | None = None,
    again: Decision | None = None,
    *,
    message: str,
) -> PreviewedDecision:
    described = PreviewedDecision(
        id=row.pk,
        namespace=row.namespace,
        name=row.name,
        attempt=row.attempt,
        scheduler_name=row.scheduler_name,
        effect=effect,
        result_before=row.result,
        node_before=row.node or row.nominated_node,
        total_before=row.total_score,
        message=message,
    )
    if recorded is None or again is None:
        return described
    return msgspec.structs.replace(
        described,
        node_before=_selected_node(recorded) or _nominated_node(recorded),
        rejected_before=recorded.rejection is not None,
        total_before=_total(recorded),
        result_after=again.result.value,
        node_after=again.node or _nominated_node(again),
        total_after=_total(again),
    )
