"""The span of time and the resolution of a chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from apps.cluster import limits
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster, Node
from apps.engine import periods
from apps.engine.series.resolutions import MANY_NODES, Resolution, list_resolutions

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
    """The parameters `since`, `until`, `zone`, `step`, `scope`.

    Raises BadRequest that names an invalid one. Times have the forms of `apps.engine.periods`, by
    default the last hour.
    """
    now = cluster.now()
    given = {name: query[name] for name in periods.PARAMETERS if query.get(name)}
    period = periods.parse_period({"since": DEFAULT, "until": "now", **given}, now=now)
    since, until = period.since or now, period.until or now
    every = _list_resolutions(cluster, query.get("scope", ""))
    step = query.get("step", "")
    if step:
        return Span(since, until, _find(step, every, (until - since).total_seconds()))
    return Span(since, until, _choose(every, since, until, now))


def _list_resolutions(cluster: Cluster, scope: str) -> Sequence[Resolution]:
    """The resolutions that have figures of the scope."""
    every = list_resolutions()
    if scope == "node" and Node.objects.filter(cluster=cluster).count() > MANY_NODES:
        return every[1:] or every
    return every


def _find(step: str, every: Sequence[Resolution], seconds: float) -> Resolution:
    """The resolution that was asked for."""
    resolution = next((each for each in every if str(each.step) == step), None)
    if resolution is None:
        known = ", ".join(str(each.step) for each in every)
        raise BadRequest(f"step: {step!r} is not one of {known}")
    points = seconds / resolution.step
    if not limits.CHART_POINTS.admits(points):
        raise BadRequest(
            f"step: the span has {points:,.0f} steps of {step} seconds, at most "
            f"{limits.CHART_POINTS.highest:,} are returned"
        )
    return resolution


def _choose(
    every: Sequence[Resolution], since: datetime, until: datetime, now: datetime
) -> Resolution:
    """The finest resolution that covers the span with few points."""
    length = (until - since).total_seconds()
    for each in every:
        covers = since >= now - timedelta(seconds=each.keep + each.step)
        if covers and length / each.step <= MAX_POINTS:
            return each
    return every[-1]
