"""What a list without rows suggests: a period that has some."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from apps.engine.periods import PARAMETERS, PRESETS, Period, parse_period

#: Reads the time of the newest row that the parameters select, None if there is none.
Newest = Callable[[Mapping[str, Any]], datetime | None]


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The newest row outside of an empty period, and the shortest preset that includes it."""

    at: datetime
    label: str
    since: str


def look_elsewhere(
    query: Mapping[str, Any], period: Period, newest: Newest, *, now: datetime
) -> Elsewhere | None:
    """Where the list of the address has rows, if not in its period; None if nowhere."""
    if not period:
        return None
    at = newest({name: value for name, value in query.items() if name not in PARAMETERS})
    if at is None:
        return None
    for label, since, until in PRESETS:
        begin = parse_period({"since": since}, now=now).since
        # changes of one moment have times that are microseconds apart
        if not until and begin is not None and begin <= at < now + timedelta(seconds=1):
            return Elsewhere(at.astimezone(UTC), label.lower(), since)
    return Elsewhere(at.astimezone(UTC), "any time", "")
