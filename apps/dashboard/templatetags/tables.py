"""Tags for tables, see `apps.dashboard.tables`: region, filters, table, selection, pager."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django import template
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html

from apps.cluster.models import Cluster
from apps.dashboard.alike import Alike, Named, group_alike
from apps.dashboard.paging import SIZES, LogPage, NumberedPage
from apps.dashboard.tables import Field, Sorting
from apps.engine.periods import PARAMETERS, PRESETS, Period

register = template.Library()

#: Parameters of the position in a list; links to another filter or order omit them.
_POSITION = ("page", "before", "after")


@register.inclusion_tag("dashboard/inc/filter_form.html", takes_context=True)
def filter_form(context: template.Context, region: str, fields: Sequence[Field]) -> dict[str, Any]:
    """The filter form of the table in the region with this id."""
    request = context["request"]
    names = {field.name for field in fields}
    if any(field.period for field in fields):
        names |= {"since", "until"}
    hidden = [
        (name, value)
        for name, value in request.GET.items()
        if name not in names and name not in _POSITION and value
    ]
    values = [(field, request.GET.get(field.name, "")) for field in fields]
    until_alone = "until" in names and not request.GET.get("since") and request.GET.get("until")
    return {
        "region": region,
        "path": request.path,
        "fields": values,
        "used": sum(bool(value) for _, value in values) + bool(until_alone),
        "until": request.GET.get("until", ""),
        "chosen": _describe_period(request),
        "presets": _build_presets(request),
        "zone": timezone.get_current_timezone_name(),
        "hidden": hidden,
    }


@register.inclusion_tag("dashboard/inc/period.html", takes_context=True)
def period(context: template.Context, region: str, selected: Period) -> dict[str, Any]:
    """The period that a list shows, in full and relative to the cluster's clock.

    Also updates the filter form of the region, which an htmx request does not replace.
    """
    request, cluster = context["request"], context.get("cluster")
    return {
        "region": region,
        "period": selected,
        "cluster": cluster,
        "chosen": _describe_period(request) if request.htmx else "",
        "others": _list_others(request, cluster) if cluster and selected else [],
        "fixed": _fix_period(request, cluster, selected) if selected else "",
    }


def _fix_period(request: HttpRequest, cluster: Cluster | None, selected: Period) -> str:
    """The address of the list with its period as times in UTC, until now if it is open."""
    query = request.GET.copy()
    for name in (*_POSITION, *PARAMETERS):
        query.pop(name, None)
    now = cluster.now() if cluster else timezone.now()
    # rows of this moment are in the list, and a period ends before its limit
    end = max(now, selected.since or now) + timedelta(seconds=1)
    fixed = replace(selected, until=selected.until or end.replace(microsecond=0))
    rest = f"{query.urlencode()}&" if query else ""
    return f"{request.path}?{rest}{urlencode(fixed.parameters())}"


#: (what happened in a period, route, parameters besides the period)
_LOGS: Sequence[tuple[str, str, Mapping[str, str]]] = (
    ("decisions", "decisions", {}),
    ("queue history", "queue-history", {}),
    ("changes", "changes", {}),
    ("events", "events", {"expired": "true"}),
    ("charts", "charts", {}),
)


def _list_others(request: HttpRequest, cluster: Cluster) -> list[tuple[str, str]]:
    """(label, address) of the other pages about the period of this one, as it was written."""
    given = {name: request.GET[name] for name in PARAMETERS if request.GET.get(name)}
    here = request.resolver_match.url_name if request.resolver_match else ""
    # charts are of present clusters, and of periods that have a start
    left_out = {here} if "since" in given and not cluster.deleted_at else {here, "charts"}
    return [
        (label, f"{reverse(route, args=[cluster.name])}?{urlencode({**given, **more})}")
        for label, route, more in _LOGS
        if route not in left_out
    ]


def _build_presets(request: HttpRequest) -> list[dict[str, str]]:
    """The presets with the addresses of the list for these periods."""
    query = request.GET.copy()
    for name in (*_POSITION, "since", "until"):
        query.pop(name, None)
    presets = (("Any time", "", ""), *PRESETS)
    rest = f"{query.urlencode()}&" if query else ""
    return [
        {
            "label": label,
            "since": since,
            "until": until,
            "address": "?" + rest + urlencode({"since": since, "until": until}),
        }
        for label, since, until in presets
    ]


def _describe_period(request: HttpRequest) -> str:
    """The label of a preset, or the limits as they were written."""
    since, until = (request.GET.get(name, "").strip() for name in ("since", "until"))
    for label, first, last in PRESETS:
        if (first, last) == (since, until):
            return label
    if since and until:
        return f"{since} to {until}"
    return f"since {since}" if since else f"until {until}" if until else "any time"


@register.simple_tag
def live(*events: str) -> str:
    """The attributes of a region that is read again after one of these events of `streams`."""
    # what several changes announce at once is read once
    trigger = ", ".join(f"sse:{event} delay:60ms" for event in events)
    return format_html('hx-get="" hx-trigger="{}" hx-swap="morph:outerHTML"', trigger)


@register.simple_block_tag
def table(
    content: str, *caption: object, css: str = "", columns: str = "", focusable: bool = False
) -> str:
    """A table that scrolls sideways where it is wider than its panel; its head and body are inside.

    `columns` names the columns that a user can hide. A table without links is `focusable`, so that
    keys can scroll it.
    """
    label = "".join(map(str, caption))
    region = format_html(' tabindex="0" role="region" aria-label="{}"', label) if focusable else ""
    kinds = f"data {css}".strip()
    marked = format_html(' data-columns="{}"', columns) if columns else ""
    return format_html(
        '<div class="scroll"{}><table class="{}"{}><caption class="visually-hidden">{}</caption>'
        "{}</table></div>",
        *(region, kinds, marked, label, content),
    )


@register.filter
def alike(rows: Iterable[Named], names: str) -> Sequence[Alike[Named]]:
    """The rows about pods in groups of those in which these attributes (a b) are equal."""
    return group_alike(rows, lambda row: tuple(str(getattr(row, name)) for name in names.split()))


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
        "key=value[:NoSchedule]",
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


@register.simple_block_tag(takes_context=True)
def choosing(
    context: template.Context, content: str, resource: str, page: NumberedPage[Any]
) -> str:
    """A list with actions on its selected rows, or on all rows that its filter matches."""
    plain, with_text, hint, texts = _BULK[resource]
    shown = {
        "rejected": context["rejected"],
        "resource": resource,
        "page": page,
        "address": reverse(f"change-{resource}", args=[context["cluster"].name]),
        "plain": [(name, _label(name)) for name in plain],
        "with_text": [(name, _label(name)) for name in with_text],
        "hint": hint,
        "texts": texts,
        "content": content,
    }
    return render_to_string("dashboard/inc/choosing.html", shown, context["request"])


@register.simple_tag
def choose_all() -> str:
    """The cell above `choose`."""
    return format_html(
        '<td class="box"><input type="checkbox" data-choose-all aria-label="{}" hidden></td>',
        "Select all on this page",
    )


@register.simple_tag(takes_context=True)
def choose(context: template.Context, parameter: str, value: str, label: str, key: object) -> str:
    """The cell that selects a row; `key` is the identity of the row when the list is read again."""
    checked = " checked" if value in context["rejected"].names else ""
    return format_html(
        '<td class="box"><input type="checkbox" name="{}" value="{}" id="choose-{}-{}"'
        ' aria-label="Select {}"{}></td>',
        *(parameter, value, parameter, key, label, checked),
    )


def _label(action: str) -> str:
    return f"{action.capitalize()}{'…' if action in _ASKING else ''}"
