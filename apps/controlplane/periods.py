"""Times as users write them: `1h`, `yesterday`, `09:00`, `2026-11-22T09:00`.

Pages, the API and commands parse every `since`, `until` and `at` here. docs/api/times.md lists the
forms for users.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.utils import timezone

from apps.cluster.errors import BadRequest

#: The parameters that `parse_period` reads.
PARAMETERS = ("since", "until", "zone")
#: (label, since, until) of the periods that pages offer.
PRESETS = (
    ("Last 15 minutes", "15m", ""),
    ("Last hour", "1h", ""),
    ("Last 6 hours", "6h", ""),
    ("Today", "today", ""),
    ("Yesterday", "yesterday", "today"),
    ("Last 24 hours", "24h", ""),
    ("Last 7 days", "7d", ""),
    ("Last 30 days", "30d", ""),
)
#: What an error says about the accepted forms.
FORMS = "a span before now (15m, 1h, 7d), today, yesterday, 09:00, 2026-11-22 or 2026-11-22T09:00"
#: Years within which a time can be shown in every zone.
_FIRST_YEAR, _LAST_YEAR = 1000, 9998
#: Minutes; no zone of the world is further from UTC.
_LARGEST_OFFSET = 14 * 60
_LONGEST_TEXT = 60

_UNITS = {
    "s": 1,
    "m": 60,
    "min": 60,
    "h": 3600,
    "d": 86_400,
    "w": 604_800,
    "y": 31_536_000,
}
_PART = r"(\d+(?:\.\d+)?)\s*(min|[smhdwy])"
_SPAN = re.compile(rf"(?:now\s*-\s*|-)?((?:{_PART}\s*)+)(?:\s+ago)?")
_DAYS = {"today": 0, "yesterday": 1}
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?")
_DATE = re.compile(r"(\d{4,})-\d{2}-\d{2}")
_OFFSET = re.compile(r"[T ].*[+-](\d{2}):?(\d{2})$")
#: In a query string, a plus is a space.
_LOST_PLUS = re.compile(r"(:\d{2}(?:\.\d+)?) (\d{2}:?\d{2})$")


@dataclass(frozen=True, slots=True)
class Period:
    """A period in UTC: from `since`, before `until`; None where it is open."""

    since: datetime | None = None
    until: datetime | None = None

    def __bool__(self) -> bool:
        return self.since is not None or self.until is not None

    def conditions(self, column: str) -> dict[str, datetime]:
        """Conditions of a QuerySet that select the rows whose `column` is in the period."""
        limits = {f"{column}__gte": self.since, f"{column}__lt": self.until}
        return {name: limit for name, limit in limits.items() if limit is not None}

    def parameters(self) -> dict[str, str]:
        """`since` and `until` as times in UTC, which mean the same at any time and to anyone."""
        limits = {"since": self.since, "until": self.until}
        return {name: format_utc(limit) for name, limit in limits.items() if limit is not None}


def parse_period(query: Mapping[str, Any], *, now: datetime) -> Period:
    """The period of `since` and `until`; relative times count back from `now`.

    Times without an offset are in the zone of the parameter `zone`, by default the current zone of
    Django: the viewer's on pages, UTC in the API. BadRequest names the wrong parameter.
    """
    given = {name: str(query.get(name) or "").strip() for name in PARAMETERS}
    zone = parse_zone(given["zone"]) if given["zone"] else timezone.get_current_timezone()
    limits = {
        name: parse_moment(name, given[name], now=now, zone=zone) if given[name] else None
        for name in ("since", "until")
    }
    period = Period(**limits)
    if period.since is not None and period.until is not None and period.since >= period.until:
        since, until = (f"{given[name]!r}" for name in ("since", "until"))
        raise wrong("since", f"{since} is not before the end, {until}")
    return period


def parse_at(query: Mapping[str, Any], *, now: datetime) -> datetime | None:
    """The moment of `at`, in the zone of `zone`; None if it is absent."""
    text, zone = (str(query.get(name) or "").strip() for name in ("at", "zone"))
    found = parse_zone(zone) if zone else timezone.get_current_timezone()
    return parse_moment("at", text, now=now, zone=found) if text else None


def parse_moment(field: str, text: str, *, now: datetime, zone: tzinfo) -> datetime:
    """The time, in UTC, that a parameter names; BadRequest names the parameter."""
    words = " ".join(text.split())
    if len(words) > _LONGEST_TEXT:
        raise wrong(field, f"{words[:20]!r} … is too long for a time")
    out_of_range = f"{words!r} is outside of the years {_FIRST_YEAR} to {_LAST_YEAR}"
    try:
        moment = _read(words, now, zone)
        found = moment.astimezone(UTC) if moment is not None else None
    except OverflowError:
        raise wrong(field, out_of_range) from None
    except ValueError as error:
        raise wrong(field, f"{words!r} is not a date and time: {error}") from None
    if found is None:
        raise wrong(field, f"{words!r} is not a time: use {FORMS}")
    if not _FIRST_YEAR <= found.year <= _LAST_YEAR:
        raise wrong(field, out_of_range)
    return found


def parse_zone(name: str) -> tzinfo:
    """The zone with this name of the IANA time zone database; BadRequest for another name."""
    zone = find_zone(name)
    if zone is None:
        raise wrong("zone", f"{name[:_LONGEST_TEXT]!r} is not a time zone such as Europe/Berlin")
    return zone


@lru_cache(maxsize=1000)
def find_zone(name: str) -> ZoneInfo | None:
    """The zone with this name of the IANA time zone database; None if there is none."""
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def format_utc(moment: datetime) -> str:
    """A time as ISO 8601 in UTC: `2026-11-22T09:00:00Z`."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def wrong(field: str, message: str) -> BadRequest:
    """The error of one parameter."""
    cause = {"reason": "FieldValueInvalid", "field": field, "message": message}
    return BadRequest(f"{field}: {message}", details={"causes": [cause]})


def _read(text: str, now: datetime, zone: tzinfo) -> datetime | None:
    """The time that the text names; None if it names none. Raises ValueError and OverflowError."""
    word = text.lower()
    if word == "now":
        return now
    if word in _DAYS:
        day = now.astimezone(zone).date() - timedelta(days=_DAYS[word])
        return datetime(day.year, day.month, day.day, tzinfo=zone)
    if _SPAN.fullmatch(word):
        return now - _read_span(word)
    if _CLOCK.fullmatch(text):
        today = now.astimezone(zone).date()
        text = f"{today.isoformat()}T{text.zfill(5) if text.count(':') == 1 else text.zfill(8)}"
    return _read_iso(text, zone)


def _read_span(text: str) -> timedelta:
    parts = re.findall(_PART, text)
    return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in parts))


def _read_iso(text: str, zone: tzinfo) -> datetime | None:
    date = _DATE.match(text)
    if date is None:
        return None
    if len(date[1]) > 4:
        raise OverflowError
    offset = _OFFSET.search(_LOST_PLUS.sub(r"\1+\2", text))
    if offset is not None and int(offset[1]) * 60 + int(offset[2]) > _LARGEST_OFFSET:
        raise ValueError("the offset must be between -14:00 and +14:00")
    moment = datetime.fromisoformat(_LOST_PLUS.sub(r"\1+\2", text))
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)
