"""Columns of tables, and the formats of common cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Body = Mapping[str, Any]
Cell = Callable[[Body, datetime], Any]

NONE = "<none>"
UNKNOWN = "<unknown>"
UNSET = "<unset>"
_ACCESS_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column, and the function that reads its cell from an object and the current time."""

    name: str
    cell: Cell
    type: str = "string"
    format: str = ""
    #: 1: shown only by `-o wide`
    priority: int = 0
    description: str = ""
    #: Whether the API describes it: of a few kinds, rows have one cell more than there are columns.
    is_described: bool = True

    def definition(self) -> dict[str, Any]:
        """The entry in `columnDefinitions`."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


def path(*steps: str, default: Any = "") -> Cell:
    """Return a function that reads one field as a cell."""
    return lambda body, now: get(body, *steps, default=default)


def count(*steps: str) -> Cell:
    """Return a function that reads the number of items of one field."""
    return lambda body, now: len(get(body, *steps, default=()))


def get(body: Any, *steps: str, default: Any = "") -> Any:
    """One field of an object; `default` if it or one of its parents is missing."""
    for step in steps:
        body = body.get(step) if isinstance(body, dict) else None
    return default if body is None else body


NAME = Column("Name", path("metadata", "name"), format="name")
AGE = Column("Age", lambda body, now: age(get(body, "metadata", "creationTimestamp"), now))
#: Of an object that was not created: a bookmark.
_ZERO_TIME = "0001-01-01T00:00:00Z"
CREATED = Column("Created At", path("metadata", "creationTimestamp", default=_ZERO_TIME), "date")


def age(timestamp: str, now: datetime) -> str:
    """The age of an RFC 3339 time, in its two largest units."""
    if not timestamp:
        return UNKNOWN
    seconds = int((now - datetime.fromisoformat(timestamp)).total_seconds())
    return duration(seconds)


def duration(seconds: int) -> str:
    """A duration as Kubernetes formats it: 95s, 4m5s, 3h12m, 5d, 2y40d."""
    if seconds < -1:
        return "<invalid>"
    seconds = max(seconds, 0)
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    years = days // 365
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _format_two_units(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _format_two_units(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _format_two_units(days, "d", hours % 24, "h")
    if days < 2 * 365:
        return f"{days}d"
    return _format_two_units(years, "y", days % 365, "d") if years < 8 else f"{years}y"


def _format_two_units(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"


def access_modes(modes: Iterable[str]) -> str:
    """`RWO,ROX`, in an order of their own."""
    given = set(modes)
    return ",".join(short for mode, short in _ACCESS_MODES.items() if mode in given)


def selector(value: Body) -> str:
    """A LabelSelector as text: `app=web,tier in (a,b)`."""
    terms = [
        f"{key}={label}" for key, label in sorted(get(value, "matchLabels", default={}).items())
    ]
    for term in get(value, "matchExpressions", default=[]):
        terms.append(_expression(term))
    return ",".join(terms) or NONE


def labels(value: Mapping[str, str]) -> str:
    """A map of labels as text."""
    return ",".join(f"{key}={label}" for key, label in sorted(value.items())) or NONE


def _expression(term: Body) -> str:
    key, values = term["key"], ",".join(term.get("values") or [])
    match term["operator"]:
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "DoesNotExist":
            return f"!{key}"
    return str(key)
