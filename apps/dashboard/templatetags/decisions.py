"""Filters for the pages of decisions."""

from __future__ import annotations

import re
from collections.abc import Iterable

from django import template

register = template.Library()

#: Lets browsers break long plugin names.
ZERO_WIDTH_SPACE = "\u200b"
_INNER_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


@register.filter
def score_heading(plugin: str, weight: int) -> str:
    """The heading of a plugin's column of scores: its name and weight."""
    return f"{_INNER_CAPITAL.sub(ZERO_WIDTH_SPACE, plugin)} × {weight}"


@register.filter
def in_order(words: Iterable[str]) -> list[str]:
    """Words in alphabetical order."""
    return sorted(words)
