"""What the templates of decisions say in one word."""

from __future__ import annotations

import re
from collections.abc import Iterable

from django import template

register = template.Library()

#: Long names of plugins may be broken there.
ZERO_WIDTH_SPACE = "\u200b"
_INNER_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


@register.filter
def score_heading(plugin: str, weight: int) -> str:
    """A plugin's column among the scores: its name and what its scores are multiplied with."""
    return f"{_INNER_CAPITAL.sub(ZERO_WIDTH_SPACE, plugin)} × {weight}"


@register.filter
def in_order(words: Iterable[str]) -> list[str]:
    """Words in alphabetical order."""
    return sorted(words)
