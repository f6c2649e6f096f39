"""Filters for the pages of decisions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django import template

from apps.dashboard import figures
from apps.engine.ledger.grouping import Dimension

register = template.Library()


@register.filter
def score_heading(plugin: str, weight: int) -> str:
    """The heading of a plugin's column of scores: its name and weight."""
    return f"{plugin} ×\u00a0{weight}"


@register.filter
def microseconds(value: int) -> str:
    """A duration given in microseconds."""
    return figures.nanoseconds(1000 * value)


@register.simple_tag
def group_text(dimension: Dimension, text: str) -> str:
    """The key of a group; of an hour or a day its start, with the zone if it occurs twice."""
    formats = {"hour": "%Y-%m-%d %H:%M", "day": "%Y-%m-%d"}
    if dimension.name not in formats:
        return text
    start = figures.local(datetime.fromisoformat(text))
    return f"{start.strftime(formats[dimension.name])}{figures.name_zone_if_ambiguous(start)}"


@register.filter
def in_order(words: Iterable[str]) -> list[str]:
    """Words in alphabetical order."""
    return sorted(words)


@register.filter
def zipped(first: Iterable[Any], second: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Pairs of the elements of two sequences of the same length."""
    return list(zip(first, second, strict=True))
