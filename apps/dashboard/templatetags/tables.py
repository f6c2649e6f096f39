"""Tags for tables, see `apps.dashboard.tables`: filter form, column headings, pager."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import template
from django.urls import reverse

from apps.dashboard.paging import SIZES, LogPage, NumberedPage
from apps.dashboard.tables import Field, Sorting

register = template.Library()

#: Parameters of the position in a list; links to another filter or order omit them.
_POSITION = ("page", "before", "after")


@register.inclusion_tag("dashboard/inc/filter_form.html", takes_context=True)
def filter_form(context: template.Context, region: str, fields: Sequence[Field]) -> dict[str, Any]:
    """The filter form of the table in the region with this id."""
    request = context["request"]
    names = {field.name for field in fields}
    hidden = [
        (name, value)
        for name, value in request.GET.items()
        if name not in names and name not in _POSITION and value
    ]
    return {
        "region": region,
        "path": request.path,
        "fields": [(field, request.GET.get(field.name, "")) for field in fields],
        "hidden": hidden,
    }


@register.inclusion_tag("dashboard/inc/column.html", takes_context=True)
def column(
    context: template.Context, name: str, label: str, css: str = "", first: str = ""
) -> dict[str, Any]:
    """A heading with a link that sorts by its column, or reverses the order.

    `first` is "-" for a column that is sorted in descending order first.
    """
    request = context["request"]
    sorting: Sorting[Any] | None = context.get("sorting")
    now = sorting.parameter if sorting else request.GET.get("sort", "name")
    other = "" if first else "-"
    query = request.GET.copy()
    query["sort"] = f"{other}{name}" if now == f"{first}{name}" else f"{first}{name}"
    for place in _POSITION:
        query.pop(place, None)
    direction = {name: "ascending", f"-{name}": "descending"}.get(now, "none")
    return {"label": label, "address": f"?{query.urlencode()}", "direction": direction, "css": css}


@register.inclusion_tag("dashboard/inc/pager.html", takes_context=True)
def pager(context: template.Context, page: NumberedPage[Any] | LogPage[Any]) -> dict[str, Any]:
    """The range of rows, and links to the other pages and page sizes."""
    query = context["request"].GET.copy()
    for place in _POSITION:
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


#: resource -> (actions without a text, actions with one, placeholder, what the text is)
_BULK: Mapping[str, tuple[Sequence[str], Sequence[str], str, str]] = {
    "nodes": (
        ("cordon", "uncordon", "drain"),
        ("taint", "untaint", "label", "annotate"),
        "key=value:NoSchedule or key=value",
        "A taint as key=value:Effect, or a label or an annotation as key=value",
    ),
    "pods": (
        ("evict",),
        ("label", "annotate"),
        "key=value",
        "A label or an annotation as key=value",
    ),
}
#: Actions that ask for confirmation.
_ASKING = ("drain", "evict")


@register.inclusion_tag("dashboard/inc/bulk_bar.html", takes_context=True)
def bulk_bar(context: template.Context, resource: str, page: NumberedPage[Any]) -> dict[str, Any]:
    """The actions on the selected rows of a list, or on all rows that its filter matches."""
    plain, with_text, hint, texts = _BULK[resource]
    return {
        "request": context["request"],
        "rejected": context["rejected"],
        "resource": resource,
        "page": page,
        "address": reverse(f"change-{resource}", args=[context["cluster"].name]),
        "plain": [(name, _label(name)) for name in plain],
        "with_text": [(name, _label(name)) for name in with_text],
        "hint": hint,
        "texts": texts,
    }


def _label(action: str) -> str:
    return f"{action.capitalize()}{'…' if action in _ASKING else ''}"
