"""References to objects by kind and name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.cluster.validation import names
from apps.cluster.validation.causes import Causes, all_invalid, required


def validate_reference(reference: Mapping[str, Any], path: str) -> Causes:
    """Check `kind` and `name`: each is required, and one segment of a path."""
    for field in ("kind", "name"):
        value = reference.get(field, "")
        if not value:
            yield required(f"{path}.{field}")
        else:
            yield from all_invalid(f"{path}.{field}", value, names.path_segment(value))
