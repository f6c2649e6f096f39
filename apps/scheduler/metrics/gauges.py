"""The gauges of a scheduler, set between two batches."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from apps.scheduler.metrics import definitions

if TYPE_CHECKING:
    from apps.scheduler.scheduler import Scheduler


def note_state(sched: Scheduler, bound: Collection[str] = ()) -> None:
    """Set the gauges; `bound` are uids of pods whose binding is being written."""
    cache, metrics = sched.cache, sched.metrics
    sizes = {"nodes": len(cache.nodes), "pods": len(cache.pods), "assumed_pods": cache.assumed_pods}
    metrics.set(definitions.CACHE_SIZE, {(name,): size for name, size in sizes.items()})
    metrics.set(definitions.GOROUTINES, {("binding",): sched.bindings_under_way})
    kept = sched.queue.contents.events_in_flight(bound)
    metrics.set(definitions.INFLIGHT_EVENTS, {(event,): count for event, count in kept.items()})
