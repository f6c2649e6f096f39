"""Filters and tags for figures, times, states, charts and links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import msgspec
from django import template
from django.conf import settings
from django.templatetags.static import static
from django.urls import reverse
from django.utils import dateformat, timezone
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.administration.clusters.summaries import Use
from apps.cluster import kinds
from apps.cluster.field_differences import FieldDifference
from apps.cluster.kinds import Kind
from apps.cluster.models import Change, Cluster
from apps.cluster.partitions.daily import ROWS_OF_A_DAY
from apps.dashboard import browsers, charts, figures, navigation
from apps.dashboard.forms.manifest import dump_yaml
from apps.dashboard.links import object_url
from apps.dashboard.preferences import wants_full_times
from apps.dashboard.queries.usage import NodeUse
from apps.dashboard.zones import chosen_zone
from apps.people.models import AuditEntry
from apps.studies.history.story import StoryEntry

register = template.Library()

#: Values of so many characters are shown in the lists of changes.
_SHORT = 24

#: State -> (icon, colour class, label)
STATES = {
    "active": ("play", "blue", "activeQ"),
    "backoff": ("clock", "amber", "backoffQ"),
    "unschedulable": ("x", "red", "unschedulable"),
    "gated": ("lock", "violet", "gated"),
    "permit": ("clock", "teal", "held by Permit"),
    "in_flight": ("play", "teal", "in flight"),
    "bound": ("check", "teal", "bound"),
    "succeeded": ("check", "quiet", "succeeded"),
    "failed": ("x", "red", "failed"),
    "deleted": ("x", "quiet", "deleted"),
    "scheduled": ("check", "teal", "scheduled"),
    "error": ("triangle-alert", "red", "error"),
    "ready": ("check", "teal", "ready"),
    "not-ready": ("x", "red", "not ready"),
    "cordoned": ("ban", "amber", "cordoned"),
    "running": ("play", "teal", "running"),
    "paused": ("pause", "amber", "paused"),
    "others": ("clock", "quiet", "other schedulers"),
    "waiting": ("clock", "quiet", "waiting"),
    "cancelled": ("ban", "amber", "cancelled"),
    "Normal": ("check", "quiet", "Normal"),
    "Warning": ("triangle-alert", "amber", "Warning"),
}

register.filter("cpu", figures.cpu)
register.filter("memory", figures.memory)
register.filter("amount", figures.amount)
register.filter("nanoseconds", figures.nanoseconds)
register.filter("clock", figures.clock)
register.filter("utc_clock", figures.utc_clock)
register.filter("reasons", figures.reasons)
register.filter("yaml", dump_yaml)


@register.filter
def count(value: int) -> str:
    """An integer with thousands separators."""
    return f"{value:,}"


@register.simple_tag
def short_number(number: int) -> str:
    """The number of a decision among those of its day; the whole number is its title."""
    return format_html('<span title="{}">{}</span>', number, number % ROWS_OF_A_DAY)


@register.filter
def browser(agent: str) -> str:
    """The program that a `User-Agent` header names, in words."""
    return browsers.describe(agent)


@register.filter
def item(mapping: Mapping[Any, Any], key: Any) -> Any:
    """The value of a key, for a key in a template variable."""
    return mapping.get(key)


@register.filter
def compact(value: Any) -> str:
    """A field's value on one line: text as it is, other values as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


@register.filter
def short_values(field: FieldDifference) -> str:
    """The values of a field before and after a change; "" unless a line has room for both."""
    if any(isinstance(value, (Mapping, list)) for value in (field.before, field.after)):
        return ""
    texts = [
        "not set" if value is None else compact(value) for value in (field.before, field.after)
    ]
    return " → ".join(texts) if all(len(text) <= _SHORT for text in texts) else ""


@register.filter
def audit_details(entry: AuditEntry) -> str:
    """What an entry of the audit log says besides its target, without what is false or empty."""
    told = []
    for name, value in entry.details.items():
        words = name.replace("_", " ")
        if entry.action == AuditEntry.Action.SETTINGS_CHANGED:
            before, after = value
            told.append(f"{words}: {compact(before)} → {compact(after)}")
        elif name == "change":
            told.append(compact(value))
        elif value is True:
            told.append(words)
        elif isinstance(value, list) and value:
            told.append(f"{words}: {comma_separated(map(compact, value))}")
        elif value not in (False, None, "", [], {}):
            told.append(f"{words}: {compact(value)}")
    return "; ".join(told)


@register.filter(expects_localtime=True)
def story_time(at: datetime, times: str) -> str:
    """The time of an entry of a timeline; `times` is the preference of the viewer."""
    return dateformat.format(at, "Y-m-d H:i:s T" if times == "full" else "M j H:i:s")


@register.filter
def moment(text: str | None) -> datetime | None:
    """The datetime of a timestamp; None for an empty one."""
    return parse_datetime(text) if text else None


@register.inclusion_tag("dashboard/inc/ago.html", takes_context=True)
def ago(context: template.Context, at: datetime | None, by_system: bool = False) -> dict[str, Any]:
    """The time since `at` by the clock of the page's cluster, with the full time as title.

    `by_system`: by the system's clock, for what users and workers did. A script updates it on the
    page, unless the clock is stopped.
    """
    if at is None:
        return {"at": None}
    now, running = (timezone.now(), True) if by_system else _clock(context)
    return {
        "at": at,
        "title": _describe_fully(at),
        "text": figures.span(now - at),
        "running": running,
        "full": _writes_times_out(context),
    }


@register.inclusion_tag("dashboard/inc/when.html", takes_context=True)
def when(context: template.Context, at: datetime | None) -> dict[str, Any]:
    """A time in the viewer's zone, with the time since then by the clock of the page's cluster."""
    if at is None:
        return {"at": None}
    now, running = _clock(context)
    full = _writes_times_out(context)
    return {
        "at": at,
        "title": figures.utc_clock(at),
        "clock": figures.clock(at) if full else figures.short_clock(at, now),
        "full": full,
        "text": figures.span(now - at),
        "running": running,
    }


@register.simple_tag(takes_context=True)
def distance(context: template.Context, at: datetime) -> SafeString:
    """How far away a time is by the clock of the page's cluster: `5 min ago`, `in 3 h`."""
    now, running = _clock(context)
    # changes of one moment have times that are microseconds apart
    ahead = at - now >= timedelta(seconds=1)
    text = figures.span(abs(at - now))
    moving = ("data-until" if ahead else "data-ago") if running else ""
    shown = format_html('<time {} datetime="{}">{}</time>', moving, at.isoformat(), text)
    return format_html("in {}", shown) if ahead else format_html("{} ago", shown)


@register.simple_tag
def full_time(at: datetime) -> SafeString:
    """A date and time in the viewer's zone, with the time in UTC as title."""
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        at.isoformat(),
        figures.utc_clock(at),
        figures.clock(at),
    )


@register.simple_tag(takes_context=True)
def time_beside(context: template.Context, at: datetime, other: datetime) -> SafeString:
    """A time in a table about the moment `other`, without the date if it is of the same day."""
    full = _writes_times_out(context)
    text = figures.clock(at) if full else figures.short_clock(at, other)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', at.isoformat(), _describe_fully(at), text
    )


@register.inclusion_tag("dashboard/inc/zone.html", takes_context=True)
def viewer_zone(context: template.Context) -> dict[str, Any]:
    """Which zone the times of the page are in, and the version; a new browser reports its zone."""
    request = context.get("request")
    return {
        "name": timezone.get_current_timezone_name(),
        "version": settings.VERSION,
        "offset": figures.offset(timezone.now()),
        "request": request,
        "full": request is not None and wants_full_times(request),
        "unknown": request is not None and request.method == "GET" and not chosen_zone(request),
    }


@register.inclusion_tag("dashboard/inc/until.html", takes_context=True)
def until(context: template.Context, at: datetime | None) -> dict[str, Any]:
    """The time until `at` by the clock of the page's cluster, as a countdown."""
    if at is None:
        return {"at": None}
    now, running = _clock(context)
    return {
        "at": at,
        "title": _describe_fully(at),
        "text": figures.span(at - now),
        "running": running,
        "full": _writes_times_out(context),
    }


def _describe_fully(at: datetime) -> str:
    here, utc = figures.clock(at), figures.utc_clock(at)
    return here if here == utc else f"{here}, {utc}"


def _writes_times_out(context: template.Context) -> bool:
    request = getattr(context, "request", None) or context.get("request")
    return request is not None and wants_full_times(request)


def _clock(context: template.Context) -> tuple[datetime, bool]:
    """The time of the page's cluster (or real time), and whether its clock is running."""
    cluster = context.get("cluster")
    if isinstance(cluster, Cluster):
        return cluster.now(), cluster.manual_time is None
    return timezone.now(), True


@register.simple_tag
def duration(begin: datetime, end: datetime) -> str:
    """The time between two datetimes: `1.3 ms`, `48 s`, `5 min`."""
    time = end - begin
    if time >= timedelta(minutes=2):
        return figures.span(time)
    return figures.nanoseconds(int(time.total_seconds() * 1e9))


@register.inclusion_tag("dashboard/inc/state.html")
def state(name: str, words: str = "") -> dict[str, str]:
    """An icon and a label in a colour; colour is never the only sign of a state."""
    icon, colour, known = STATES.get(name, ("clock", "quiet", name))
    return {"icon": icon, "colour": colour, "words": words or known}


@register.inclusion_tag("dashboard/inc/use.html")
def use(of: Use, resource: str, *, brief: bool = False) -> dict[str, Any]:
    """A bar of the requested share; `brief` omits the amounts, where they are shown beside it."""
    return {
        "brief": brief,
        "use": of,
        "requested": figures.amount(of.requested, resource),
        "allocatable": figures.amount(of.allocatable, resource),
        "free": figures.amount(of.free, resource),
        "width": min(100, of.percent),
    }


@register.inclusion_tag("dashboard/inc/chart.html")
def spread(nodes: Sequence[NodeUse], resource: str) -> dict[str, Any]:
    """A chart of the share of a resource that is requested on each node, in descending order.

    Nodes that have none of it are left out.
    """
    uses = [node.of(resource) for node in nodes]
    shares = [use.share for use in uses if use.allocatable or use.requested]
    return {"path": charts.spread(shares), "words": charts.summary(shares)}


@register.inclusion_tag("dashboard/inc/chart.html")
def bar_chart(values: Sequence[float], words: str) -> dict[str, Any]:
    """A bar chart; `words` is its text alternative."""
    return {"path": charts.bars(values), "words": words}


@register.simple_tag(takes_context=True)
def current(context: template.Context, page: str) -> SafeString:
    """`aria-current` for a link to a page of the site: on that page, and on those below it."""
    request = context.get("request")
    address = reverse(page)
    if request is None or not f"{request.path}/".startswith(f"{address}/"):
        return SafeString("")
    value = "page" if request.path == address else "true"
    return format_html('aria-current="{}"', value)


@register.inclusion_tag("dashboard/inc/sections.html", takes_context=True)
def sections(context: template.Context, cluster: Cluster) -> dict[str, Any]:
    """The navigation between a cluster's pages; of a deleted cluster, those of its history."""
    path = context["request"].path
    groups = navigation.groups_of(cluster)
    return {
        "cluster": cluster,
        "groups": groups,
        "here": navigation.find_section(path, groups),
        "path": path,
        "keys": context.get("keys"),
    }


@register.simple_tag(takes_context=True)
def section_here(context: template.Context, cluster: Cluster) -> navigation.Section | None:
    """The section above a page of a cluster; None on the first page of a section."""
    path = context["request"].path
    section = navigation.find_section(path, navigation.groups_of(cluster))
    return None if path == reverse(section.page, args=[cluster.name]) else section


@register.simple_tag
@cache
def icon(name: str, label: str = "") -> SafeString:
    """An icon of static/icons.svg; without a label it says nothing to a screen reader."""
    says = format_html('role="img" aria-label="{}"', label) if label else 'aria-hidden="true"'
    return format_html(
        '<svg class="icon" width="16" height="16" {}><use href="{}#{}" /></svg>',
        SafeString(says),
        static("icons.svg"),
        name,
    )


@register.simple_tag
def url_of(cluster: Cluster, kind: str | Kind, namespace: str = "", name: str = "") -> str:
    """The address of an object's page; empty for an unknown name of a kind."""
    known_kind = (
        kind if isinstance(kind, Kind) else {each.name: each for each in kinds.ALL}.get(kind)
    )
    return object_url(cluster, known_kind, namespace, name) if known_kind is not None else ""


@register.simple_tag
def url_of_changed(cluster: Cluster, change: Change) -> str:
    """The page of the object that a change is about; for a pod its timeline, also if deleted."""
    if change.kind == kinds.POD.name:
        return reverse("pod-story", args=[cluster.name, change.uid])
    return url_of(cluster, change.kind, change.namespace, change.name)


@register.simple_tag
def timeline_url(cluster: Cluster, entry: StoryEntry) -> str:
    """The page of an attempt's decision or of a change; empty for other entries of a timeline."""
    pages = {
        "attempt": "decision",
        "preemption": "decision",
        "change": "change",
        "activation": "profile",
    }
    page = pages.get(entry.kind)
    if page is None or entry.number is None:
        return ""
    return reverse(page, args=[cluster.name, entry.number])


@register.simple_tag
def pod_url(cluster: Cluster, key: str) -> str:
    """The page of a pod given as `namespace/name`, also if it is deleted."""
    namespace, _, name = key.partition("/")
    return reverse("pod", args=[cluster.name, namespace, name])


@register.simple_tag
def qualified_name(namespace: str, name: str) -> str:
    """`namespace/name`; only the name in the namespace "default"."""
    return name if namespace in ("", "default") else f"{namespace}/{name}"


@register.simple_tag
def action_url(view: str, cluster: Cluster, resource: str, namespace: str, name: str) -> str:
    """The page that edits or deletes an object of any kind."""
    if namespace:
        return reverse(f"{view}-namespaced-object", args=[cluster.name, resource, namespace, name])
    return reverse(f"{view}-object", args=[cluster.name, resource, name])


@register.filter
def node_state(node: NodeUse) -> str:
    """The state of a node: "ready", "not-ready" or "cordoned"."""
    if not node.ready:
        return "not-ready"
    return "cordoned" if node.unschedulable else "ready"


@register.filter
def split(text: str) -> list[str]:
    """The words of a text."""
    return text.split()


@register.filter
def comma_separated(words: Iterable[str]) -> str:
    """The words, separated by commas."""
    return ", ".join(words)
