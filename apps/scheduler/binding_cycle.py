"""From a reserved pod to what has to be written for it: PreBind, then Bind.

Plugins of the tree only say what to write, which takes no time. A plugin from outside may wait for
something, and an extender is called over a network: such a step runs in a thread of its own where
there is an executor, and the cycle goes on when the step has ended and somebody looks
(``Scheduler.resolve_waiting``). Everything else happens in the scheduler's thread.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from apps.scheduler.attempt import Attempt
from apps.scheduler.decision import PermitWait, Result
from apps.scheduler.failure import finish_decision, give_up_binding, note_failure, note_rejection
from apps.scheduler.framework import guard, intents
from apps.scheduler.framework.extender import Extender, ExtenderError
from apps.scheduler.framework.extender_calls import calls_noted_in
from apps.scheduler.framework.status import SUCCESS, Status, error
from apps.scheduler.framework.steps import Step, Steps
from apps.scheduler.framework.waiting_pods import WaitingPod

if TYPE_CHECKING:
    from apps.scheduler.scheduler import Scheduler

POD_GONE = "the pod was deleted while it was being bound"


def resolve_permit(sched: Scheduler, attempt: Attempt, waiting: WaitingPod) -> bool:
    """Go on with a pod that Permit plugins held, if they have decided; False while they have not.

    It is then bound (or its binding has begun), or back in the queue.
    """
    now = sched.clock.now()
    outcome = waiting.outcome(now)
    if outcome is None:
        return False
    sched.waiting_pods.release(waiting.pod.uid)
    attempt.decision.permit_wait = PermitWait(waiting.timeouts, now - waiting.since, outcome)
    if outcome.is_success:
        start_binding(sched, attempt)
    else:
        note_rejection(attempt, outcome)
        give_up_binding(sched, attempt, outcome)
    return True


def start_binding(sched: Scheduler, attempt: Attempt) -> None:
    attempt.binding = _steps(sched, attempt)
    _go_on(sched, attempt, None)


def resume_binding(sched: Scheduler, attempt: Attempt) -> bool:
    """Go on with a binding whose step has ended; False if it has not, or the next one is slow."""
    running = attempt.running
    assert running is not None
    if attempt.called_off:
        running.cancel()
        _end(sched, attempt, error(attempt.called_off))
    elif not running.done():
        return False
    else:
        attempt.running = None
        _go_on(sched, attempt, running.result())
    return attempt.decision.result.is_final


def _go_on(sched: Scheduler, attempt: Attempt, answer: Status | None) -> None:
    """Run steps until one has to be waited for, or all is done."""
    assert attempt.binding is not None
    while True:
        try:
            # a generator that has not begun can only be sent None
            step = next(attempt.binding) if answer is None else attempt.binding.send(answer)
        except StopIteration as end:
            return _end(sched, attempt, end.value)
        if sched.executor is not None:
            attempt.decision.result = Result.BINDING
            attempt.decision.message = f"{step.name} prepares the binding, or binds"
            attempt.running = sched.executor.submit(step.run)
            attempt.running.add_done_callback(lambda _: sched.progressed())
            return None
        answer = step.run()


def _steps(sched: Scheduler, attempt: Attempt) -> Steps:
    """The whole cycle; its value is success, or what failed."""
    assert attempt.assumed is not None
    framework, state, node = attempt.framework, attempt.state, attempt.decision.node
    status = yield from framework.run_pre_bind_plugins(state, attempt.assumed, node)
    if not status.is_success:
        return status
    attempt.is_prebound = True
    for extender in sched.extenders:
        if not extender.is_binder or not extender.is_interested(attempt.pod):
            continue
        status = yield Step(extender.name, partial(_bind, extender, attempt))
        if status.is_success:
            bound = intents.Binding(
                attempt.pod.namespace, attempt.pod.name, attempt.pod.uid, node, extender.name
            )
            intents.add(state, bound)
        if status.is_success or not extender.is_ignorable:
            return status
    return (yield from framework.run_bind_plugins(state, attempt.assumed, node))


def _bind(extender: Extender, attempt: Attempt) -> Status:
    """Have the extender bind the pod."""
    assert attempt.assumed is not None
    with calls_noted_in(attempt.decision.extender_calls):
        try:
            return extender.bind(attempt.assumed, attempt.decision.node) or SUCCESS
        except ExtenderError as failure:
            return error(str(failure))
        except Exception as raised:
            return guard.failure(extender.name, "bind", raised)


def _end(sched: Scheduler, attempt: Attempt, status: Status) -> None:
    if status.is_success:
        attempt.decision.result = Result.SCHEDULED
        attempt.decision.message = ""
        finish_decision(attempt)
    else:
        note_failure(attempt, status)
        give_up_binding(sched, attempt, status)
