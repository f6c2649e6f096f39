"""The data that plugins store for one pod between extension points."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from apps.scheduler.framework.status import StatusError, error

if TYPE_CHECKING:
    from apps.scheduler.framework.intents import Intent
    from apps.scheduler.objects import Pod


class StateData(Protocol):
    """A plugin's per-cycle data.

    ``clone`` returns a copy on which AddPod/RemovePod may be called without changing the
    original; data that never changes after PreFilter returns itself.
    """

    def clone(self) -> StateData: ...


T = TypeVar("T")


class CycleState(msgspec.Struct, eq=False):
    """Per-cycle data keyed by a plugin-chosen string, e.g. ``PreFilterNodeResourcesFit``."""

    #: names of plugins whose PreFilter returned Skip: neither Filter nor AddPod/RemovePod run
    skip_filter: set[str] = set()
    #: names of plugins whose PreScore returned Skip: their Score is not run
    skip_score: set[str] = set()
    #: extension point -> nanoseconds it took
    durations: dict[str, int] = {}
    #: extension point -> plugin -> nanoseconds, of the plugins that ran
    plugin_durations: dict[str, dict[str, int]] = {}
    #: see framework.intents and framework.activation
    intents: list[Intent] = []
    pods_to_activate: dict[str, Pod] = {}
    _data: dict[str, StateData] = {}

    def write(self, key: str, data: StateData) -> None:
        self._data[key] = data

    def restore(self, entries: Iterable[tuple[str, StateData]]) -> None:
        """Store copies of what plugins stored for another pod."""
        for key, data in entries:
            self._data[key] = data.clone()

    def entries(self) -> dict[str, object]:
        """What plugins have stored so far, by key."""
        return dict(self._data)

    def read(self, key: str, kind: type[T]) -> T:
        """The data stored under ``key``; StatusError (an internal error) when it is missing."""
        data: Any = self._data.get(key)
        if not isinstance(data, kind):
            raise StatusError(error(f'cannot read "{key}" from cycleState'))
        return data

    def find(self, key: str, kind: type[T]) -> T | None:
        """The data stored under ``key``, or None."""
        data: Any = self._data.get(key)
        return data if isinstance(data, kind) else None

    def keys(self) -> frozenset[str]:
        return frozenset(self._data)

    def written_since(self, keys: frozenset[str]) -> dict[str, StateData]:
        """What was stored under other keys than these."""
        return {key: data for key, data in self._data.items() if key not in keys}

    def clone(self) -> CycleState:
        """A copy for a dry run: changes made through AddPod/RemovePod stay in the copy."""
        copy = CycleState()
        copy._data = {key: data.clone() for key, data in self._data.items()}
        copy.skip_filter = set(self.skip_filter)
        copy.skip_score = set(self.skip_score)
        copy.intents = list(self.intents)
        copy.pods_to_activate = self.pods_to_activate
        return copy
