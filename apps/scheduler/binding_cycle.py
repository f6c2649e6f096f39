"""The binding cycle: what has to be written for a reserved pod, by PreBind and then Bind.

In-tree plugins only add to what is written, which takes no time. A plugin from outside may wait for
something, and an extender is called over a network: such a step runs in a thread of the executor,
if there is one, and the cycle goes on when the step has ended (``Scheduler.resolve_waiting``).
Everything else happens in the scheduler's thread.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from apps.scheduler.attempt import Attempt
from apps.scheduler.context import SchedulingContext
from apps.scheduler.decision import PermitWait, Result
from apps.scheduler.failure import (
    finish_decision,
    handle_binding_cycle_error,
    note_failure,
    note_rejection,
)
from apps.scheduler.framework import claim_allocations, guard, intents
from apps.scheduler.framework.extender import Extender, ExtenderError
from apps.scheduler.framework.extender_calls import record_calls
from apps.scheduler.framework.status import SUCCESS, Code, Status, error
from apps.scheduler.framework.steps import Step, Steps
from apps.scheduler.framework.waiting_pods import WaitingPod

#: how often a PreBind that waits is asked again, as upstream
ASK_AGAIN_SECONDS: Final = 5.0
POD_DELETED = "the pod was deleted while it was being bound"


def resolve_permit(context: SchedulingContext, attempt: Attempt, waiting: WaitingPod) -> bool:
    """Go on with a pod that Permit plugins held, if they have decided; False while they have not.

    It is then bound (or its binding has started), or back in the queue.
    """
    now = context.clock.now()
    outcome = waiting.outcome(now)
    if outcome is None:
        return False
    context.waiting_pods.release(waiting.pod.uid)
    attempt.decision.permit_wait = PermitWait(waiting.timeouts, now - waiting.since, outcome)
    if outcome.is_success:
        start_binding(context, attempt)
    else:
        note_rejection(attempt, outcome)
        handle_binding_cycle_error(context.cache, context.queue, attempt, outcome)
    return True


def start_binding(context: SchedulingContext, attempt: Attempt) -> None:
    """Bind the pod as far as this takes no time; ``decision.result`` says how far that was."""
    framework, assumed = attempt.framework, attempt.assumed
    if not context.binds:
        finish_binding(context, attempt, SUCCESS)
    elif framework.has_slow_steps or context.extenders or assumed is None:
        attempt.binding = binding_cycle(context, attempt)
        run_steps(context, attempt, None)
    else:
        status = framework.bind_at_once(
            attempt.state, assumed, attempt.decision.node, attempt.held_by
        )
        finish_binding(context, attempt, status)


def resume_binding(context: SchedulingContext, attempt: Attempt) -> bool:
    """Go on with a binding whose step has ended; False if it has not, or the next one is slow.

    A plugin whose PreBind waits is asked again.
    """
    running = attempt.running
    if attempt.called_off:
        if running is not None:
            running.cancel()
        finish_binding(context, attempt, error(attempt.called_off))
    elif running is None:
        start_binding(context, attempt)
    elif not running.done():
        return False
    else:
        attempt.running = None
        run_steps(context, attempt, running.result())
    return attempt.decision.result.is_final


def run_steps(context: SchedulingContext, attempt: Attempt, answer: Status | None) -> None:
    """Run steps until one is slow, or the cycle ends. ``answer`` is that of the last slow step."""
    assert attempt.binding is not None
    while True:
        try:
            # A generator that has not started can only be sent None.
            step = next(attempt.binding) if answer is None else attempt.binding.send(answer)
        except StopIteration as end:
            return finish_binding(context, attempt, end.value)
        if context.executor is not None:
            attempt.decision.result = Result.BINDING
            attempt.decision.claims = claim_allocations.of(attempt.state)
            attempt.decision.message = f"{step.name} prepares the binding, or binds"
            attempt.running = context.executor.submit(step.run)
            attempt.running.add_done_callback(lambda _: context.on_progress())
            return None
        answer = step.run()


def binding_cycle(context: SchedulingContext, attempt: Attempt) -> Steps:
    """PreBind and Bind as steps; returns success, or what failed."""
    assert attempt.assumed is not None
    framework, state, node = attempt.framework, attempt.state, attempt.decision.node
    status = yield from framework.run_pre_bind_plugins(
        state, attempt.assumed, node, attempt.held_by
    )
    if status is not SUCCESS:
        return status
    attempt.is_prebound = True
    for extender in context.extenders:
        if not extender.is_binder or not extender.is_interested(attempt.pod):
            continue
        status = yield Step(extender.name, partial(bind_with_extender, extender, attempt))
        if status.is_success:
            binding = intents.Binding(
                attempt.pod.namespace, attempt.pod.name, attempt.pod.uid, node, extender.name
            )
            intents.add(state, binding)
        if status.is_success or not extender.is_ignorable:
            return status
    return (yield from framework.run_bind_plugins(state, attempt.assumed, node))


def bind_with_extender(extender: Extender, attempt: Attempt) -> Status:
    """Have the extender bind the pod."""
    assert attempt.assumed is not None
    with record_calls(attempt.decision.extender_calls):
        try:
            return extender.bind(attempt.assumed, attempt.decision.node) or SUCCESS
        except ExtenderError as failure:
            return error(str(failure))
        except Exception as raised:
            return guard.failure(extender.name, "bind", raised)


def finish_binding(context: SchedulingContext, attempt: Attempt, status: Status) -> None:
    """The cycle has ended: the pod is scheduled, held by PreBind, or back in the queue."""
    if status.code is Code.PENDING:
        hold(context, attempt, status)
    elif status.is_success:
        decision = attempt.decision
        decision.result = Result.SCHEDULED
        decision.message = ""
        if decision.claims:
            decision.claims = claim_allocations.of(attempt.state)
        if decision.extender_calls:
            finish_decision(attempt)
        else:
            decision.intents = intents.of(attempt.state)
    else:
        note_failure(attempt, status)
        handle_binding_cycle_error(context.cache, context.queue, attempt, status)


def hold(context: SchedulingContext, attempt: Attempt, status: Status) -> None:
    """Keep the pod on its node while PreBind waits; what was requested so far is written now."""
    attempt.held_by, attempt.binding = status.plugin, None
    attempt.asked_again_at = context.clock.now() + ASK_AGAIN_SECONDS
    attempt.decision.result = Result.BINDING
    attempt.decision.message = status.message
    attempt.decision.claims = claim_allocations.of(attempt.state)
    context.client.request(intents.take(attempt.state))
