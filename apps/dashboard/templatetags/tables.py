"""The parts of a table that `apps.dashboard.tables` tells of: filter form, headings, pager."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import template

from apps.dashboard.paging import SIZES, LogPage, NumberedPage
from apps.dashboard.tables import Field, Sorting

register = template.Library()

#: Parameters that say which rows of a list are shown; another list begins without them.
_PLACE = ("page", "before", "after")


@register.inclusion_tag("dashboard/inc/filter_form.html", takes_context=True)
def filter_form(context: template.Context, region: str, fields: Sequence[Field]) -> dict[str, Any]:
    """The form that narrows the table in the region of this id."""
    request = context["request"]
    names = {field.name for field in fields}
    kept = [
        (name, value)
        for name, value in request.GET.items()
        if name not in names and name not in _PLACE and value
    ]
    return {
        "region": region,
        "path": request.path,
        "fields": [(field, request.GET.get(field.name, "")) for field in fields],
        "kept": kept,
    }


@register.inclusion_tag("dashboard/inc/column.html", takes_context=True)
def column(
    context: template.Context, name: str, label: str, css: str = "", first: str = ""
) -> dict[str, Any]:
    """A heading that sorts by its column, and the other way round when it does already.

    `first` is "-" for a column that is sorted downwards first.
    """
    request = context["request"]
    sorting: Sorting[Any] | None = context.get("sorting")
    now = sorting.parameter if sorting else request.GET.get("sort", "name")
    other = "" if first else "-"
    query = request.GET.copy()
    query["sort"] = f"{other}{name}" if now == f"{first}{name}" else f"{first}{name}"
    for place in _PLACE:
        query.pop(place, None)
    direction = {name: "ascending", f"-{name}": "descending"}.get(now, "none")
    return {"label": label, "address": f"?{query.urlencode()}", "direction": direction, "css": css}


@register.inclusion_tag("dashboard/inc/pager.html", takes_context=True)
def pager(context: template.Context, page: NumberedPage[Any] | LogPage[Any]) -> dict[str, Any]:
    """Which rows these are, and the way to the others."""
    query = context["request"].GET.copy()
    for place in _PLACE:
        query.pop(place, None)
    sizes = []
    for size in SIZES:
        query["size"] = str(size)
        sizes.append((size, f"?{query.urlencode()}"))
    total = page.total
    return {
        "page": page,
        "request": context["request"],
        "numbered": isinstance(page, NumberedPage),
        "sizes": sizes if total > SIZES[0] else [],
    }
