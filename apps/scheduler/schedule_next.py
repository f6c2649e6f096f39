"""The next pod of the queue, alone or with its group."""

from __future__ import annotations

from apps.scheduler.attempt import Attempt
from apps.scheduler.context import SchedulingContext
from apps.scheduler.schedule_group import schedule_group
from apps.scheduler.schedule_one import schedule_one


def schedule_next(context: SchedulingContext) -> list[Attempt]:
    """Schedule the next pod that needs an attempt; empty if no pod is ready.

    Several attempts are those with the members of one group, in their order.
    """
    while (queued := context.queue.pop()) is not None:
        if queued.pod.spec.scheduling_group is not None:
            attempts = schedule_group(context, queued)
        else:
            attempt = schedule_one(context, queued)
            attempts = [] if attempt is None else [attempt]
        if attempts:
            return attempts
    return []
