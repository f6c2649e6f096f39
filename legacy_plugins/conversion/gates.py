"""The feature gates of a converted configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from apps.scheduler.features import GATES, find_faults
from legacy_plugins.conversion.arguments import (
    BALANCE_ATTACHED_NODE_VOLUMES,
    VOLUME_CAPACITY_PRIORITY,
)
from legacy_plugins.conversion.written import Note

#: Gates that are now legacy plugins, or arguments of them.
_TRANSLATED: Final = frozenset({BALANCE_ATTACHED_NODE_VOLUMES, VOLUME_CAPACITY_PRIORITY})
_POP_FROM_BACKOFF: Final = "SchedulerPopFromBackoffQ"


def converted_gates(given: Mapping[str, bool], note: Note) -> dict[str, bool]:
    """The gates of 1.36 with which the queue works as before 1.33, and those of `given`."""
    note(
        f"featureGates.{_POP_FROM_BACKOFF} is false: before 1.33 a pod always completed its backoff"
    )
    gates = {_POP_FROM_BACKOFF: False}
    for name, value in given.items():
        if name in _TRANSLATED:
            continue
        if name not in GATES:
            note(f"feature gate {name} does not exist in 1.36 and is left out")
        elif find_faults({name: value}):
            note(f"feature gate {name} cannot be {str(value).lower()} in 1.36 and is left out")
        else:
            gates[name] = value
    return gates
