"""What the templates of changes say in one word."""

from __future__ import annotations

from typing import Any

import msgspec
from django import template

register = template.Library()


@register.filter
def compact(value: Any) -> str:
    """A field's value on one line."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
