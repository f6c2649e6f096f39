"""A decision made once more, by the real core, in the state it saw."""

from __future__ import annotations

from apps.controlplane.ledger.reading import read
from apps.controlplane.models import SchedulingDecision
from apps.controlplane.rebuilding.extenders import RecordedExtender
from apps.controlplane.rebuilding.state import PastState, state_before
from apps.scheduler.attempt import Attempt, new_attempt
from apps.scheduler.decision import Decision, Result
from apps.scheduler.failure import handle_scheduling_failure, unreserve_and_forget
from apps.scheduler.schedule_one import scheduling_cycle


class CannotRecompute(Exception):
    """What a decision needs is not known any more; the message says what."""


def recompute(row: SchedulingDecision, state: PastState | None = None) -> Decision:
    """Rebuild the state that a decision of the ledger saw, and decide again.

    `state` may be one of the same version, cluster, profile and engine, in which fewer decisions
    are applied; it is brought up to this one. What happens outside the scheduler is taken from
    the record: draws, and the answers of extenders. The binding is not repeated.

    Raises CannotRecompute if the pod is not known at that version, and what `state_before` raises.
    """
    if state is None:
        state = state_before(row)
    else:
        state.advance(row)
    return decide_again(state, row, read(row).decision)


def decide_again(state: PastState, row: SchedulingDecision, recorded: Decision) -> Decision:
    """The scheduling cycle of a recorded decision in this state, which is as before afterwards."""
    scheduler, pod = state.scheduler, state.pod(str(row.pod_uid))
    framework = scheduler.profiles.get(row.scheduler_name)
    if pod is None:
        raise CannotRecompute(f"pod {row.namespace}/{row.name} did not wait at {state.version}")
    if framework is None:
        raise CannotRecompute(
            f"revision {row.profile_revision} has no profile {row.scheduler_name}"
        )
    attempt = new_attempt(framework, pod)
    attempt.decision.attempt = row.attempt
    state.draws.of(recorded)
    scheduler.context.next_start_node_index = recorded.start
    own = scheduler.extenders[:]
    scheduler.extenders[:] = [RecordedExtender(each, recorded) for each in own]
    try:
        _run(state, attempt)
    finally:
        scheduler.extenders[:] = own
        state.draws.forget()
    return attempt.decision


def _run(state: PastState, attempt: Attempt) -> None:
    scheduler, decision = state.scheduler, attempt.decision
    promised = scheduler.queue.nominator.get(attempt.pod.uid)
    status = scheduling_cycle(scheduler.context, attempt)
    if status.is_success or status.is_wait:
        decision.result = Result.SCHEDULED
        unreserve_and_forget(scheduler.cache, attempt)
        if promised is not None:
            scheduler.queue.add_nominated_pod(promised.pod_info, promised.node_name)
    else:
        handle_scheduling_failure(scheduler.queue, attempt, status)
