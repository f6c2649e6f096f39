"""When the scheduling queue next acts without a change: the times to which a clock can jump."""

from __future__ import annotations

import math
from typing import Final

from apps.scheduler.queue.scheduling_queue import PriorityQueue

#: Upstream's flush of leftovers runs so often.
FLUSH_SECONDS: Final = 30.0


def next_backoff(queue: PriorityQueue, now: float) -> float | None:
    """The beginning of the second in which the first backoff has ended; None without one.

    Times are seconds since the epoch.
    """
    end = queue.contents.next_backoff_expiry()
    return None if end is None else math.floor(max(end, now)) + 1.0


def next_flush(queue: PriorityQueue, now: float, flushed_at: float) -> float | None:
    """The flush that finds the first pod that was unschedulable for too long; None without one.

    `flushed_at` is the time of the last flush.
    """
    waiting = queue.contents.unschedulable_pods()
    since = min((info.timestamp for info in waiting), default=None)
    if since is None:
        return None
    end = max(since + queue.max_in_unschedulable, now)
    return flushed_at + (math.floor((end - flushed_at) / FLUSH_SECONDS) + 1) * FLUSH_SECONDS
