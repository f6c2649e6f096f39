"""The span of time and the resolution of a chart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.controlplane.ledger.finding import parse_time
from apps.controlplane.series.resolutions import Resolution, list_resolutions

#: Points of a chart at most, unless the coarsest resolution has more.
MAX_POINTS = 1100
DEFAULT = "1h"
_AGO = re.compile(r"(\d{1,6})([smhdwy])")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800, "y": 31_536_000}


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
    """The parameters `since`, `until` and `step`; BadRequest names an invalid one.

    Times are absolute, or a span before the time of the cluster's clock: `15m`, `30d`.
    """
    now = cluster.now()
    until = _parse_moment("until", query.get("until") or "0s", now)
    since = _parse_moment("since", query.get("since") or DEFAULT, now)
    if since >= until:
        raise BadRequest(f"since: {since.isoformat()} is not before until, {until.isoformat()}")
    return Span(since, until, _choose(query.get("step", ""), since, until, now))


def _parse_moment(name: str, text: str, now: datetime) -> datetime:
    found = _AGO.fullmatch(text)
    if found is None:
        return parse_time(name, text)
    try:
        return now - timedelta(seconds=int(found[1]) * _UNITS[found[2]])
    except OverflowError:
        raise BadRequest(f"{name}: {text!r} is before the year 1") from None


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
