"""Numbers, quantities and times formatted for pages."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from django.utils import timezone

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_SPANS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def cpu(milli: int) -> str:
    """Milli-CPU as `500m`, `1.5` or `8`; without decimals from 1,000 CPUs on."""
    if milli < 1000 and milli % 1000:
        return f"{milli}m"
    if milli >= 1_000_000:
        return f"{milli / 1000:,.0f}"
    return f"{milli / 1000:,.3f}".rstrip("0").rstrip(".")


def memory(amount: int) -> str:
    """Bytes in the largest binary unit in which the value is at least 1: `512 MiB`."""
    value = float(amount)
    for unit in _BINARY:
        if abs(value) < 1024 or unit == _BINARY[-1]:
            break
        value /= 1024
    digits = 0 if value == int(value) or abs(value) >= 100 else 1
    return f"{value:,.{digits}f} {unit}"


def amount(value: int, resource: str) -> str:
    """A quantity of any resource: CPU in milli-CPU, memory in bytes, others in whole units."""
    if resource == "cpu":
        return cpu(value)
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        return memory(value)
    return f"{value:,}"


def span(time: timedelta) -> str:
    """A duration in its largest unit: `40 s`, `5 min`, `3 h`, `12 d`."""
    seconds = max(0, int(time.total_seconds()))
    for length, unit in _SPANS:
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return "0 s"


def local(moment: datetime) -> datetime:
    """The time in the viewer's zone; in UTC at the end of the calendar."""
    try:
        return timezone.localtime(moment)
    except OverflowError:
        return moment.astimezone(UTC)


def clock(moment: datetime) -> str:
    """A date and time in the viewer's zone, to the second."""
    return f"{local(moment):%Y-%m-%d %H:%M:%S %Z}"


def utc_clock(moment: datetime) -> str:
    """A date and time in UTC, to the second."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def short_clock(moment: datetime, now: datetime) -> str:
    """A time in the viewer's zone: `14:03:22` today, `Nov 21 14:03:22`, `2025-11-21 14:03:22`.

    With the zone in an hour that occurs twice: `02:03:22 CEST`.
    """
    here, today = local(moment), local(now)
    time = f"{here:%H:%M:%S}{name_zone_if_ambiguous(here)}"
    if here.date() == today.date():
        return time
    if here.year == today.year:
        return f"{here:%b} {here.day} {time}"
    return f"{here:%Y-%m-%d} {time}"


def name_zone_if_ambiguous(here: datetime) -> str:
    """The zone of a local time that occurs twice, as clocks are set back: ` CEST`; else nothing."""
    other = here.replace(fold=1 - here.fold)
    return f"{here: %Z}" if other.utcoffset() != here.utcoffset() else ""


def offset(moment: datetime) -> str:
    """The difference of the viewer's zone from UTC at this time: `UTC+01:00`; "UTC" for none."""
    text = f"{local(moment):%z}"
    return f"UTC{text[:3]}:{text[3:5]}" if text.strip("+-0") else "UTC"


def nanoseconds(value: int) -> str:
    """A duration: `840 ns`, `12.3 µs`, `4.1 ms`; without decimals from 100 of a unit on."""
    for unit, length in (("s", 10**9), ("ms", 10**6), ("µs", 10**3)):
        if value >= length:
            return f"{value / length:,.{0 if value >= 100 * length else 1}f} {unit}"
    return f"{value} ns"


#: What every message of an unschedulable pod begins with, and says of preemption after its reasons.
_COUNTED: Final = re.compile(r"0/\d+ nodes are available: ")
_PREEMPTION: Final = re.compile(
    r" (?:no new claims to deallocate, )?preemption: 0/\d+ nodes are available: .*$"
)


def reasons(message: str) -> str:
    """The part of kube-scheduler's message that differs between pods; other messages as they are.

    "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes …" is "3 Insufficient cpu".
    """
    if not (counted := _COUNTED.match(message)):
        return message
    return _PREEMPTION.sub("", message[counted.end() :]).removesuffix(".")
