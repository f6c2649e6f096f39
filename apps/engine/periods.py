"""Times as users write them: `1h`, `yesterday`, `09:00`, `2026-11-22T09:00`.

Pages, the API and commands parse every `since`, `until` and `at` here. docs/api/times.md lists the
forms for users.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.utils import timezone

from apps.caching import cache_short
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
FORMS_HINT = (
    "use a span before now (15m, 1h, 7d), today, yesterday, 09:00, 2026-11-22 or 2026-11-22T09:00"
)
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
_PART = r"(?<![\d.])(\d++(?:\.\d++)?)\s*+(min|[smhdwy])"
_SPAN = re.compile(rf"(?:now\s*-\s*|-)?((?:{_PART}\s*+)++)(?:(?<=\s)ago)?")
_DAYS = {"today": 0, "yesterday": 1}
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?")
_DATE = re.compile(r"(\d{4,})-\d{2}-\d{2}")
#: Seconds of the epoch, or milliseconds, as programs write them: 10 or 13 digits.
_MILLISECONDS = 10**11
_EPOCH = re.compile(r"\d{10}(\.\d+)?|\d{13}")
_OFFSET = re.compile(r"[T ][^T ]*[+-](\d{2}):?(\d{2})$")
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
    Django: the viewer's on pages, UTC in the API. Raises BadRequest that names the wrong parameter.
    A time that occurs twice when clocks are set back starts a period the first time and ends it the
    second.
    """
    given = {name: str(query.get(name) or "").strip() for name in PARAMETERS}
    zone = parse_zone(given["zone"]) if given["zone"] else timezone.get_current_timezone()
    limits = {
        name: parse_moment(name, given[name], now=now, zone=zone, ends=name == "until")
        if given[name]
        else None
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
    asked = parse_zone(zone) if zone else timezone.get_current_timezone()
    return parse_moment("at", text, now=now, zone=asked) if text else None


def parse_moment(
    field: str, text: str, *, now: datetime, zone: tzinfo, ends: bool = False
) -> datetime:
    """The time, in UTC, that a parameter names; raises BadRequest that names the parameter.

    A local time that occurs twice is the first one, or the second one if it `ends` a period; one
    that is skipped when clocks are set forward is the moment at which they are.
    """
    words = " ".join(text.split())
    if len(words) > _LONGEST_TEXT:
        raise wrong(field, f"{words[:20]!r} … is too long for a time")
    out_of_range = f"{words!r} is outside of the years {_FIRST_YEAR} to {_LAST_YEAR}"
    try:
        moment = _read(words, now, zone, ends)
        time = moment.astimezone(UTC) if moment is not None else None
    except OverflowError:
        raise wrong(field, out_of_range) from None
    except ValueError as error:
        reason = FORMS_HINT if str(error).startswith("Invalid isoformat") else error
        raise wrong(field, f"{words!r} is not a date and time: {reason}") from None
    if time is None:
        raise wrong(field, f"{words!r} is not a time: {FORMS_HINT}")
    if not _FIRST_YEAR <= time.year <= _LAST_YEAR:
        raise wrong(field, out_of_range)
    return time


def fix_offset(field: str, text: str, *, zone: tzinfo) -> str:
    """A date, or a date and time without an offset, with that of the zone; other texts unchanged.

    It then means the same in every zone. Raises BadRequest that names the parameter.
    """
    normal = _LOST_PLUS.sub(r"\1+\2", text.upper())
    if _DATE.match(text) is None or normal.endswith("Z") or _OFFSET.search(normal):
        return text
    moment = parse_moment(field, text, now=timezone.now(), zone=zone, ends=field == "until")
    return moment.astimezone(zone).isoformat()


def parse_zone(name: str) -> tzinfo:
    """The zone with this name of the IANA database; raises BadRequest for another name."""
    zone = find_zone(name)
    if zone is None:
        raise wrong("zone", f"{name[:_LONGEST_TEXT]!r} is not a time zone such as Europe/Berlin")
    return zone


@cache_short(1000)
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


def _read(text: str, now: datetime, zone: tzinfo, ends: bool) -> datetime | None:
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
    if _EPOCH.fullmatch(text):
        seconds = float(text)
        return datetime.fromtimestamp(seconds if seconds < _MILLISECONDS else seconds / 1000, UTC)
    return _read_iso(text, zone, ends)


def _read_span(text: str) -> timedelta:
    parts = re.findall(_PART, text)
    return timedelta(seconds=sum(float(number) * _UNITS[unit] for number, unit in parts))


def _read_iso(text: str, zone: tzinfo, ends: bool) -> datetime | None:
    date = _DATE.match(text)
    if date is None:
        return None
    if len(date[1]) > 4:
        raise OverflowError
    # RFC 3339 allows a lower-case t and z
    text = _LOST_PLUS.sub(r"\1+\2", text.upper())
    offset = _OFFSET.search(text)
    if offset is not None and int(offset[1]) * 60 + int(offset[2]) > _LARGEST_OFFSET:
        raise ValueError("the offset must be between -14:00 and +14:00")
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        return moment
    # a day ends where the next one starts, also if midnight occurs twice
    return _find_local(moment, zone, last=ends and ":" in text)


def _find_local(local: datetime, zone: tzinfo, *, last: bool) -> datetime:
    """The first or the last moment with this local time; of a skipped one, that of the change."""
    first, second = (local.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
    before, after = first.utcoffset(), second.utcoffset()
    assert before is not None
    assert after is not None
    if before >= after:
        return second if last else first
    # with the offset after the change, a skipped time is before it; with the other one, after it
    early, late = (each.astimezone(UTC).replace(microsecond=0) for each in (second, first))
    low, high = 0, int((late - early).total_seconds())
    while high - low > 1:
        middle = (low + high) // 2
        at = (early + timedelta(seconds=middle)).astimezone(zone)
        low, high = (low, middle) if at.utcoffset() == after else (middle, high)
    return early + timedelta(seconds=high)


def to_datetime(seconds: float) -> datetime:
    """The time so many seconds after 1970, in UTC."""
    return datetime.fromtimestamp(seconds, tz=UTC)
