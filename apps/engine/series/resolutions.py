"""The widths of buckets, and how long each is retained: the setting `SERIES_RETENTION`."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

#: Nodes of a cluster up to which the finest resolution has them, too.
MANY_NODES = 500


@dataclass(frozen=True, slots=True)
class Resolution:
    """A width of buckets; both in seconds."""

    step: int
    keep: int

    def start_of(self, moment: float) -> int:
        """The start of the bucket that contains `moment` (seconds since the epoch)."""
        return int(moment // self.step) * self.step


def list_resolutions() -> tuple[Resolution, ...]:
    """From the finest to the coarsest; each step is a multiple of the one before."""
    return tuple(Resolution(step, keep) for step, keep in settings.SERIES_RETENTION)
