"""The schedules of CronJobs: `*/5 * * * *`, with names of days and months, and macros."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from celery.schedules import ParseException, crontab_parser

_MACROS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS: Final = (
    *("jan", "feb", "mar", "apr", "may", "jun"),
    *("jul", "aug", "sep", "oct", "nov", "dec"),
)
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
#: Days to search: February 29 comes every eight years at the rarest.
_HORIZON: Final = 8 * 366


class Schedule:
    """The times of a CronJob; ValueError for a schedule that cannot be read."""

    def __init__(self, text: str, zone: str = "") -> None:
        fields = _MACROS.get(text, text).lower().split()
        if len(fields) != 5:
            raise ValueError(f"expected exactly 5 fields, found {len(fields)}: [{text}]")
        try:
            self._zone = ZoneInfo(zone) if zone else UTC
            self._minutes = sorted(crontab_parser(60).parse(fields[0]))
            self._hours = sorted(crontab_parser(24).parse(fields[1]))
            self._days = crontab_parser(31, 1).parse(fields[2])
            self._months = crontab_parser(12, 1).parse(_numbered(fields[3], _MONTHS, 1))
            weekdays = _numbered(fields[4], _DAYS, 0).replace("7", "0")
            self._weekdays = crontab_parser(7).parse(weekdays)
        except (ParseException, KeyError, ValueError) as error:
            raise ValueError(str(error)) from error
        #: A day that fits one of the two is enough, unless one of them is a star.
        self._needs_both = fields[2][0] in "*?" or fields[4][0] in "*?"

    def after(self, moment: datetime) -> datetime | None:
        """The first time after a moment."""
        local = moment.astimezone(self._zone)
        for offset in range(_HORIZON):
            day = local.date() + timedelta(days=offset)
            following = next((at for at in self._times(day) if at > moment), None)
            if following is not None:
                return following
        return None

    def last_until(self, moment: datetime, start: datetime) -> datetime | None:
        """The last time until a moment, and after `start`."""
        local, first = moment.astimezone(self._zone), start.astimezone(self._zone).date()
        for offset in range(min((local.date() - first).days, _HORIZON) + 1):
            day = local.date() - timedelta(days=offset)
            times = [at for at in self._times(day) if start < at <= moment]
            if times:
                return times[-1]
        return None

    def _times(self, day: date) -> Iterator[datetime]:
        if day.month not in self._months or not self._has(day):
            return
        for hour in self._hours:
            for minute in self._minutes:
                local = datetime(day.year, day.month, day.day, hour, minute, tzinfo=self._zone)
                yield local.astimezone(UTC)

    def _has(self, day: date) -> bool:
        fits = (day.day in self._days, day.isoweekday() % 7 in self._weekdays)
        return all(fits) if self._needs_both else any(fits)


@lru_cache(maxsize=256)
def read_schedule(text: str, zone: str) -> Schedule | None:
    """The schedule; None if it cannot be read."""
    try:
        return Schedule(text, zone)
    except ValueError:
        return None


def _numbered(field: str, names: tuple[str, ...], first: int) -> str:
    for number, name in enumerate(names, first):
        field = field.replace(name, str(number))
    return field
