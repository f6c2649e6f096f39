"""Links to the pages of plugins."""

from __future__ import annotations

import re
from collections.abc import Iterable

from django import template
from django.template.context import Context
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from apps.cluster.models import Cluster
from apps.engine.models import SchedulingDecision
from apps.engine.profiles.plugins import registry

register = template.Library()

_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


@register.simple_tag
def plugin_link(name: str, words: str = "") -> SafeString:
    """A link to a plugin's page; the name alone for what is no plugin, such as an extender."""
    if name not in registry():
        return format_html("{}", words or name)
    label = format_html(' aria-label="About {}"', name) if words else ""
    return format_html(
        '<a href="{}"{}>{}</a>', reverse("plugin", args=[name]), label, words or name
    )


@register.simple_tag
def plugin_links(names: Iterable[str]) -> SafeString:
    """Links to the pages of plugins, separated by commas."""
    return format_html_join(", ", "{}", ((plugin_link(name),) for name in names))


@register.filter
def link_plugins(text: str) -> SafeString:
    """The text; the name after each "plugin" is a link to the plugin's page."""
    parts = re.split(r"(?<=plugin )([A-Za-z]+)", text)
    shown = (plugin_link(part) if n % 2 else part for n, part in enumerate(parts))
    return format_html_join("", "{}", ((part,) for part in shown))


@register.simple_tag(takes_context=True)
def figures_link(
    context: Context,
    name: str,
    row: SchedulingDecision | None = None,
    node: str = "",
    *,
    breaks: bool = False,
) -> SafeString:
    """A link to a plugin's page with its figures in a decision of the page's cluster.

    With `breaks` a narrow column may break the name between its words, such as Node and Resources.
    """
    cluster = context.get("cluster")
    if row is None or not isinstance(cluster, Cluster) or name not in registry():
        return plugin_link(name)
    address = reverse("decision-plugin", args=[cluster.name, row.pk, name])
    query = format_html("?node={}", node) if node else ""
    return format_html(
        '<a href="{}{}" title="Figures of {} in this decision">{}</a>',
        address,
        query,
        name,
        format_html_join(mark_safe("<wbr>"), "{}", ((word,) for word in _WORD.split(name)))
        if breaks
        else name,
    )
