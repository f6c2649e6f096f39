"""The condition PodGroupScheduled in the status of a PodGroup."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import msgspec

from apps.scheduler.context import SchedulingContext
from apps.scheduler.framework.status import Status
from apps.scheduler.objects import Condition, Pod, PodGroup

TYPE: Final = "PodGroupScheduled"


def write_condition(context: SchedulingContext, member: Pod, status: Status) -> None:
    """Write how the last attempt with the group of ``member`` ended, if that is news.

    A group that was scheduled once stays so, whatever becomes of members that join later.
    """
    groups = context.cache.listers.pod_groups
    group = groups.get(member.group_name, member.metadata.namespace)
    if group is None:
        return
    now = datetime.fromtimestamp(int(context.clock.now()), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    old = next((each for each in group.status.conditions if each.type == TYPE), None)
    new = _condition(group, status, now)
    if old is not None:
        if old.status == "True" and new.status != "True":
            return
        if old.status == new.status:
            new = msgspec.structs.replace(new, last_transition_time=old.last_transition_time)
    if old == new:
        return
    conditions = tuple(each for each in group.status.conditions if each.type != TYPE)
    updated = msgspec.structs.replace(group.status, conditions=(*conditions, new))
    # The next attempt with the group may come before the write is seen.
    groups.put(msgspec.structs.replace(group, status=updated))
    written = [msgspec.to_builtins(each) for each in updated.conditions]
    context.client.patch(
        "PodGroup",
        group.metadata.name,
        {"status": {"conditions": written}},
        namespace=group.metadata.namespace,
        subresource="status",
    )


def _condition(group: PodGroup, status: Status, now: str) -> Condition:
    reason = "Unschedulable" if status.is_rejected else "SchedulerError"
    return Condition(
        type=TYPE,
        status="True" if status.is_success else "False",
        reason="Scheduled" if status.is_success else reason,
        message=status.message,
        observed_generation=group.metadata.generation,
        last_transition_time=now,
    )
