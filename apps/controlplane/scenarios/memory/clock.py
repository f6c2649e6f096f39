"""The virtual clock of a cluster in memory."""

from __future__ import annotations

from datetime import UTC, datetime

from apps.cluster.models import Cluster


class MemoryClock:
    """Sets the time of an unsaved cluster, which everything in it reads."""

    def __init__(self, cluster: Cluster, start: datetime) -> None:
        self._cluster = cluster
        self.start = start.timestamp()
        cluster.manual_time = start

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        return self._cluster.now().timestamp()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self.now() - self.start

    def set(self, at: float) -> None:
        """Jump to a time, which must not be earlier than the present one."""
        self._cluster.manual_time = datetime.fromtimestamp(at, UTC)
