"""Pages of long lists: numbered ones of what is sorted at will, and older/newer ones of logs.

How many rows a page shows is in the address too (`?size=`, one of SIZES). `apps.dashboard.tables`
tells how pages, filters and sorting belong together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

from django.db.models import Model, QuerySet

Row = TypeVar("Row")
Shown = TypeVar("Shown")
SomeModel = TypeVar("SomeModel", bound=Model)

#: Rows a page shows unless it says otherwise.
SIZE = 50
#: What one can ask for instead.
SIZES = (25, 50, 100, 250)
#: Counting stops here: "10,000+" tells enough and costs a bounded time.
MOST_COUNTED = 10_000


@dataclass(frozen=True, slots=True)
class NumberedPage(Generic[Row]):
    """Rows `first` to `last` (from 1) of `total`."""

    rows: Sequence[Row]
    number: int
    pages: int
    total: int
    first: int
    last: int
    size: int = SIZE

    def showing(self, rows: Sequence[Shown]) -> NumberedPage[Shown]:
        """The same page with these in the place of its rows."""
        return cast("NumberedPage[Shown]", replace(self, rows=cast(Any, rows)))


@dataclass(frozen=True, slots=True)
class LogPage(Generic[Row]):
    """Rows newest first; `older` and `newer` are the ids to go on from, None at the ends."""

    rows: Sequence[Row]
    older: int | None
    newer: int | None
    #: Rows of the whole list; MOST_COUNTED + 1 stands for "more than that".
    total: int
    size: int = SIZE

    @property
    def total_text(self) -> str:
        return f"{MOST_COUNTED:,}+" if self.total > MOST_COUNTED else f"{self.total:,}"


def whole_number(query: Mapping[str, Any], name: str) -> int | None:
    """A parameter of the address as a number; None when it is absent or is none."""
    text = query.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None


def page_size(query: Mapping[str, Any], default: int = SIZE) -> int:
    """The rows a page shows: what `?size=` asks for if it can be had, else `default`."""
    asked = whole_number(query, "size")
    return asked if asked in SIZES else default


def numbered_page(
    rows: QuerySet[Any, Row] | Sequence[Row], query: Mapping[str, Any], *, size: int = SIZE
) -> NumberedPage[Row]:
    """The page that `?page=` names; the nearest one there is when there is no such page."""
    size = page_size(query, size)
    total = rows.count() if isinstance(rows, QuerySet) else len(rows)
    pages = max(1, -(-total // size))
    number = min(max(whole_number(query, "page") or 1, 1), pages)
    start = (number - 1) * size
    found = list(rows[start : start + size])
    first = start + 1 if found else 0
    return NumberedPage(found, number, pages, total, first, start + len(found), size)


def log_page(
    rows: QuerySet[SomeModel], query: Mapping[str, Any], *, size: int = SIZE
) -> LogPage[SomeModel]:
    """The newest rows, or those before `?before=` or after `?after=` (ids), newest first."""
    size = page_size(query, size)
    before, after = whole_number(query, "before"), whole_number(query, "after")
    total = rows.order_by()[: MOST_COUNTED + 1].count()
    if after is not None:
        found = list(rows.filter(pk__gt=after).order_by("pk")[: size + 1])
        more_newer, more_older = len(found) > size, True
        found = found[:size][::-1]
    else:
        selected = rows.filter(pk__lt=before) if before is not None else rows
        found = list(selected.order_by("-pk")[: size + 1])
        more_newer, more_older = before is not None, len(found) > size
        found = found[:size]
    return LogPage(
        found,
        older=found[-1].pk if found and more_older else None,
        newer=found[0].pk if found and more_newer else None,
        total=total,
        size=size,
    )
