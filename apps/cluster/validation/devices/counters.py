"""Counters that the devices of a pool share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.validation.causes import Causes, required, too_many
from apps.cluster.validation.devices.parts import name_of, validate_label

Body = Mapping[str, Any]

_MAX_COUNTERS: Final = 32


def validate_counter_set(counters: Body, path: str) -> Causes:
    """A set of counters with what is available."""
    if not name_of(counters):
        yield required(f"{path}.name")
    else:
        yield from validate_label(name_of(counters), f"{path}.name")
    yield from validate_counters(counters.get("counters") or {}, f"{path}.counters")


def validate_counters(counters: Body, path: str) -> Causes:
    """Counters by name: at least one."""
    if not counters:
        yield required(path)
    elif len(counters) > _MAX_COUNTERS:
        yield too_many(path, len(counters), _MAX_COUNTERS)
    else:
        for name in counters:
            yield from validate_label(name, path)
