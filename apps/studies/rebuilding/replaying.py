"""Recomputes a decision with the scheduler's core, in the state that the decision saw."""

from __future__ import annotations

from apps.engine.ledger.reading import read
from apps.engine.models import SchedulingDecision
from apps.scheduler.attempt import Attempt, new_attempt
from apps.scheduler.decision import Decision, Result
from apps.scheduler.failure import handle_scheduling_failure, unreserve_and_forget
from apps.scheduler.schedule_one import scheduling_cycle
from apps.studies.rebuilding.extenders import RecordedExtender
from apps.studies.rebuilding.state import PastState, rebuild_state_before


class CannotRecompute(Exception):
    """The state that a decision needs cannot be rebuilt; the message says why."""


def recompute(row: SchedulingDecision, state: PastState | None = None) -> Decision:
    """Rebuild the state that a decision of the ledger saw, and decide again.

    `state` may be a state of the same version, cluster, revision and engine with fewer decisions
    applied; it is advanced to this decision. Draws and the answers of extenders are replayed from
    the record. The binding is not recomputed.

    Raises CannotRecompute if the pod is unknown at that version, and the errors of
    `rebuild_state_before`.
    """
    if state is None:
        state = rebuild_state_before(row)
    else:
        state.advance(row)
    return decide_again(state, row, read(row).decision)


def decide_again(state: PastState, row: SchedulingDecision, recorded: Decision) -> Decision:
    """Run the scheduling cycle of a recorded decision; the state is the same afterwards.

    Raises CannotRecompute if the state has neither the pod nor its profile.
    """
    scheduler, pod = state.scheduler, state.pod(str(row.pod_uid))
    framework = scheduler.profiles.get(row.scheduler_name)
    if pod is None:
        raise CannotRecompute(
            f"pod {row.namespace}/{row.name} was not pending at version {state.version}"
        )
    if framework is None:
        raise CannotRecompute(
            f"revision {row.profile_revision} has no profile {row.scheduler_name}"
        )
    attempt = new_attempt(framework, pod)
    attempt.decision.attempt = row.attempt
    if scheduler.context.batches:
        # The hint came from the ranking of an earlier decision, which is not made again.
        attempt.decision.hint = recorded.hint
    state.draws.replay(recorded)
    scheduler.context.next_start_node_index = recorded.start
    extenders = scheduler.extenders[:]
    scheduler.extenders[:] = [RecordedExtender(each, recorded) for each in extenders]
    try:
        # A member of a group with a topology constraint saw the nodes of one domain.
        seen = frozenset(recorded.nodes) if recorded.total_nodes else scheduler.cache.nodes.keys()
        with scheduler.snapshot.narrowed(scheduler.cache, seen):
            _run(state, attempt)
    finally:
        scheduler.extenders[:] = extenders
        state.draws.clear()
    return attempt.decision


def _run(state: PastState, attempt: Attempt) -> None:
    scheduler, decision = state.scheduler, attempt.decision
    status = scheduling_cycle(scheduler.context, attempt)
    if status.is_success or status.is_wait:
        decision.result = Result.SCHEDULED
        unreserve_and_forget(scheduler.cache, attempt)
    else:
        handle_scheduling_failure(scheduler.queue, attempt, status)
