"""The span of time and the resolution of a chart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.controlplane import periods
from apps.controlplane.series.resolutions import Resolution, list_resolutions

#: Points of a chart at most, unless the coarsest resolution has more.
MAX_POINTS = 1100
DEFAULT = "1h"


@dataclass(frozen=True, slots=True)
class Span:
    """From `since` to `until` in buckets of `resolution`."""

    since: datetime
    until: datetime
    resolution: Resolution

    @property
    def starts(self) -> range:
        """The starts of the buckets."""
        first = self.resolution.start_of(self.since.timestamp())
        return range(first, int(self.until.timestamp()) + 1, self.resolution.step)


def parse_span(cluster: Cluster, query: Mapping[str, str]) -> Span:
    """The parameters `since`, `until`, `zone` and `step`; BadRequest names an invalid one.

    Times have the forms of `apps.controlplane.periods`, by default the last hour.
    """
    now = cluster.now()
    given = {name: query[name] for name in periods.PARAMETERS if query.get(name)}
    period = periods.parse_period({"since": DEFAULT, "until": "now", **given}, now=now)
    since, until = period.since or now, period.until or now
    return Span(since, until, _choose(query.get("step", ""), since, until, now))


def _choose(step: str, since: datetime, until: datetime, now: datetime) -> Resolution:
    """The resolution that was asked for, or the finest that covers the span with few points."""
    every = list_resolutions()
    if step:
        found = [each for each in every if str(each.step) == step]
        if not found:
            known = ", ".join(str(each.step) for each in every)
            raise BadRequest(f"step: {step!r} is not one of {known}")
        return found[0]
    length = (until - since).total_seconds()
    for each in every:
        covers = since >= now - timedelta(seconds=each.keep + each.step)
        if covers and length / each.step <= MAX_POINTS:
            return each
    return every[-1]
