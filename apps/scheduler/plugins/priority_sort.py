"""PrioritySort: pods of higher priority first, then those that wait longer."""

from __future__ import annotations

from apps.scheduler.framework.handle import Handle
from apps.scheduler.plugins import names
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo, by_priority

NAME = names.PRIORITY_SORT


class PrioritySort:
    name = NAME

    def __init__(self, args: None, handle: Handle) -> None:
        pass

    def sort_key(self, pod: QueuedPodInfo) -> tuple[int, float]:
        return by_priority(pod)
