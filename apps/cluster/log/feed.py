"""The latest changes of a cluster, read from the log once for all watches of a process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Final

from apps.cluster.log.changelog import LoggedChange

#: The changes that a feed holds; a watch that is further behind reads the log itself.
CAPACITY: Final = 1000


class ChangeFeed:
    """Consecutive changes of one cluster: all those after version `start`, up to `position`."""

    def __init__(self, version: int) -> None:
        self.start = version
        self.position = version
        self._changes: deque[LoggedChange] = deque()
        #: version -> what readers have encoded of the change, by their own keys
        self._encoded: dict[int, dict[Hashable, bytes]] = {}

    def extend(self, changes: Sequence[LoggedChange]) -> None:
        """Append the changes that follow `position`; the oldest ones are dropped."""
        if not changes:
            return
        self._changes.extend(changes)
        self.position = changes[-1].version
        while len(self._changes) > CAPACITY:
            self.start = self._changes.popleft().version
            self._encoded.pop(self.start, None)

    def after(self, version: int) -> list[LoggedChange] | None:
        """The changes after `version`; None if the feed does not reach back that far."""
        if version < self.start:
            return None
        changes: list[LoggedChange] = []
        for change in reversed(self._changes):
            if change.version <= version:
                break
            changes.append(change)
        changes.reverse()
        return changes

    def encode_once(self, version: int, key: Hashable, encode: Callable[[], bytes]) -> bytes:
        """`encode()` of a change, called once for all readers that use the same key."""
        encoded = self._encoded.setdefault(version, {})
        if key not in encoded:
            encoded[key] = encode()
        return encoded[key]
