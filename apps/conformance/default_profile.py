"""The default profile with an empty cluster, as used in the recordings of queue and hints."""

from __future__ import annotations

from functools import lru_cache

from apps.scheduler.clock import VirtualClock
from apps.scheduler.config import default_configuration
from apps.scheduler.framework.runtime import Framework
from apps.scheduler.plugins.registry import TABLE
from apps.scheduler.queue.hinting import QueueingHintMap, build_queueing_hint_map
from apps.scheduler.scheduler import Scheduler


@lru_cache(maxsize=1)
def default_framework() -> Framework:
    scheduler = Scheduler(default_configuration(TABLE), clock=VirtualClock())
    return next(iter(scheduler.profiles.values()))


@lru_cache(maxsize=1)
def default_hints() -> QueueingHintMap:
    return build_queueing_hint_map(default_framework().registered_events())
