"""Which policies and webhooks see an object again after others have changed it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

#: Reads a mutated object as one of its kind: with its defaults, without unknown fields.
Normalize = Callable[[dict[str, Any]], dict[str, Any]]


class Reinvocations:
    """What a second round of one sort, policies or webhooks, repeats.

    Those that ask for it are repeated if the object has changed after their call. There are at most
    two rounds.
    """

    def __init__(self) -> None:
        self.is_needed = False
        self._is_second = False
        self._called: set[Hashable] = set()
        self._again: set[Hashable] = set()
        self._last: Mapping[str, Any] | None = None

    def start_second(self) -> None:
        """The first round of all sorts is over."""
        self._is_second = True

    def begin(self, body: Mapping[str, Any] | None) -> None:
        """A round begins with this object, which another sort may have changed."""
        if self._is_second and body != self._last:
            self._repeat_called()

    def end(self, body: Mapping[str, Any] | None) -> None:
        """A round ends with this object."""
        self._last = body

    def includes(self, key: Hashable) -> bool:
        """Whether this round calls it."""
        return not self._is_second or key in self._again

    def note_call(self, key: Hashable) -> None:
        """It was called, and asks to be called again after changes."""
        self._called.add(key)

    def note_change(self) -> None:
        """The object was changed."""
        self._repeat_called()
        self.is_needed = True

    def _repeat_called(self) -> None:
        self._again |= self._called
        self._called.clear()
