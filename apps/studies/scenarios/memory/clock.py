"""The virtual clock of a cluster in memory."""

from __future__ import annotations

from datetime import datetime, timedelta

from apps.cluster.models import Cluster


def to_microseconds(seconds: float) -> float:
    """The seconds, rounded to whole microseconds as times of the clock are."""
    return round(seconds * 1e6) / 1e6


class MemoryClock:
    """Sets the time of an unsaved cluster, which everything in it reads."""

    def __init__(self, cluster: Cluster, start: datetime) -> None:
        self._cluster = cluster
        self._start = start
        self.start = start.timestamp()
        #: seconds since the start, in whole microseconds
        self.elapsed = 0.0
        cluster.manual_time = start

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        return self._cluster.now().timestamp()

    def seconds_until(self, at: datetime) -> float:
        """From the start until a time."""
        return (at - self._start) / timedelta(microseconds=1) / 1e6

    def jump(self, elapsed: float) -> None:
        """Set the seconds since the start; a time that has passed leaves the clock as it is."""
        self.elapsed = max(self.elapsed, to_microseconds(elapsed))
        self._cluster.manual_time = self._start + timedelta(microseconds=round(self.elapsed * 1e6))
