"""JSON merge patch, RFC 7386."""

from __future__ import annotations

from typing import Any

Body = dict[str, Any]


def merge(target: Any, patch: Body) -> Body:
    """`target` with the fields of `patch`; null removes a field, a list replaces the old list."""
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, dict):
            merged[name] = merge(merged.get(name), value)
        else:
            merged[name] = value
    return merged
