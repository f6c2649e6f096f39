"""The schedules of CronJobs, with the errors of the parser that the API server uses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from apps.cel.conversions import to_duration
from apps.cel.values import CelError
from apps.scheduler.labels import parse_int64

_MACROS: Final = frozenset(
    ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
)
_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NO_NAMES: Final[Mapping[str, int]] = {}
#: The least and the greatest value of each field, and its names.
_FIELDS: Final = (
    (0, 59, _NO_NAMES),
    (0, 23, _NO_NAMES),
    (1, 31, _NO_NAMES),
    (1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_EVERY: Final = "@every "


class ScheduleProblem(ValueError):
    """The schedule cannot be read."""


def check_schedule(schedule: str) -> None:
    """ScheduleProblem for a text that is no schedule."""
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        schedule = schedule.partition(" ")[2].strip()
    if schedule.startswith("@"):
        _check_descriptor(schedule)
        return
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        joined = " ".join(fields)
        raise ScheduleProblem(f"expected exactly 5 fields, found {len(fields)}: [{joined}]")
    for text, (least, greatest, names) in zip(fields, _FIELDS, strict=True):
        for part in filter(None, text.split(",")):
            _check_range(part, least, greatest, names)


def _check_descriptor(schedule: str) -> None:
    if schedule.startswith(_EVERY):
        duration = schedule.removeprefix(_EVERY)
        if isinstance(to_duration(duration), CelError):
            detail = f'time: invalid duration "{duration}"'
            raise ScheduleProblem(f"failed to parse duration {schedule}: {detail}")
    elif schedule not in _MACROS:
        raise ScheduleProblem(f"unrecognized descriptor: {schedule}")


def _check_range(text: str, least: int, greatest: int, names: Mapping[str, int]) -> None:
    span, *steps = text.split("/")
    first, *last = span.split("-")
    if first in ("*", "?"):
        start, end = least, greatest
    else:
        start = _number(first, names)
        if len(last) > 1:
            raise ScheduleProblem(f"too many hyphens: {text}")
        end = _number(last[0], names) if last else greatest if steps else start
    if len(steps) > 1:
        raise ScheduleProblem(f"too many slashes: {text}")
    step = _number(steps[0], _NO_NAMES) if steps else 1
    if start < least:
        raise ScheduleProblem(f"beginning of range ({start}) below minimum ({least}): {text}")
    if end > greatest:
        raise ScheduleProblem(f"end of range ({end}) above maximum ({greatest}): {text}")
    if start > end:
        raise ScheduleProblem(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if step == 0:
        raise ScheduleProblem(f"step of range should be a positive number: {text}")


def _number(text: str, names: Mapping[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        detail = f'strconv.Atoi: parsing "{text}": invalid syntax'
        raise ScheduleProblem(f"failed to parse int from {text}: {detail}")
    number = parse_int64(text)
    if number is None:
        detail = f'strconv.Atoi: parsing "{text}": value out of range'
        raise ScheduleProblem(f"failed to parse int from {text}: {detail}")
    if number < 0:
        raise ScheduleProblem(f"negative number ({number}) not allowed: {text}")
    return number
