"""Pages of long lists: numbered pages of sortable tables, older/newer pages of logs.

The address sets the rows of a page (`?size=`, one of SIZES). `apps.dashboard.tables` describes how
pages, filters and sorting work together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

from django.db.models import Model, QuerySet

Row = TypeVar("Row")
Shown = TypeVar("Shown")
SomeModel = TypeVar("SomeModel", bound=Model)

#: Default number of rows of a page.
SIZE = 50
#: The sizes that users can select.
SIZES = (25, 50, 100, 250)
#: Rows are counted up to this number, so that counting takes a bounded time.
MAX_COUNTED = 10_000


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
        """The same page with other rows."""
        return cast("NumberedPage[Shown]", replace(self, rows=cast(Any, rows)))


@dataclass(frozen=True, slots=True)
class LogPage(Generic[Row]):
    """Rows newest first; `older` and `newer` are the keys where the other pages start."""

    rows: Sequence[Row]
    older: int | None
    newer: int | None
    #: Rows of the whole list; MAX_COUNTED + 1 means that there are more.
    total: int
    size: int = SIZE

    @property
    def total_text(self) -> str:
        return f"{MAX_COUNTED:,}+" if self.total > MAX_COUNTED else f"{self.total:,}"


def parse_whole_number(query: Mapping[str, Any], name: str) -> int | None:
    """A query parameter as a number; None if it is absent or invalid."""
    text = query.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None


def page_size(query: Mapping[str, Any], default: int = SIZE) -> int:
    """The number of rows of a page: `?size=` if it is one of SIZES, else `default`."""
    size = parse_whole_number(query, "size")
    return size if size in SIZES else default


def numbered_page(
    rows: QuerySet[Any, Row] | Sequence[Row], query: Mapping[str, Any], *, size: int = SIZE
) -> NumberedPage[Row]:
    """The page with the number `?page=`, or the nearest one that exists."""
    size = page_size(query, size)
    total = rows.count() if isinstance(rows, QuerySet) else len(rows)
    pages = max(1, -(-total // size))
    number = min(max(parse_whole_number(query, "page") or 1, 1), pages)
    start = (number - 1) * size
    shown = list(rows[start : start + size])
    first = start + 1 if shown else 0
    return NumberedPage(shown, number, pages, total, first, start + len(shown), size)


def log_page(
    rows: QuerySet[SomeModel], query: Mapping[str, Any], *, size: int = SIZE, key: str = "pk"
) -> LogPage[SomeModel]:
    """The newest rows, or the rows before `?before=` or after `?after=`, newest first.

    `key` is the unique whole number that orders the rows, and with which these parameters compare.
    """
    size = page_size(query, size)
    before, after = parse_whole_number(query, "before"), parse_whole_number(query, "after")
    total = rows.order_by()[: MAX_COUNTED + 1].count()
    if after is not None:
        read = list(rows.filter(**{f"{key}__gt": after}).order_by(key)[: size + 1])
        more_newer, more_older = len(read) > size, True
        read = read[:size][::-1]
    else:
        selected = rows.filter(**{f"{key}__lt": before}) if before is not None else rows
        read = list(selected.order_by(f"-{key}")[: size + 1])
        more_newer, more_older = before is not None, len(read) > size
        read = read[:size]
    return LogPage(
        read,
        older=getattr(read[-1], key) if read and more_older else None,
        newer=getattr(read[0], key) if read and more_newer else None,
        total=total,
        size=size,
    )
