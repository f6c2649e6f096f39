"""PrioritySort: pods of higher priority first, then those that have waited longer."""

from __future__ import annotations

from typing import Final

from apps.scheduler.framework.handle import Handle
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo, by_priority

NAME: Final = "PrioritySort"


class PrioritySort:
    name = NAME

    def __init__(self, args: None, handle: Handle) -> None:
        pass

    def sort_key(self, pod: QueuedPodInfo) -> tuple[int, float]:
        return by_priority(pod)
