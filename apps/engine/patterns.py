"""Names in filters: whole, or a part of them with `*`."""

from __future__ import annotations


def match_name(pattern: str) -> dict[str, str]:
    """The condition on the column `name`: `web-*` and `*web*` match parts, others whole names."""
    part = pattern.strip("*")
    if pattern.startswith("*"):
        return {"name__contains" if pattern.endswith("*") else "name__endswith": part}
    return {"name__startswith" if pattern.endswith("*") else "name": part}
