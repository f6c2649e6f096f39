"""Counts the open streams of this process, all of them and those of each user."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Final

TOO_MANY_STREAMS: Final = (
    "too many streams are open (SCHEDWEB_USER_STREAMS, SCHEDWEB_MAX_STREAMS); try again later"
)


class StreamCounts:
    """The number of streams that are open; limits of 0 mean no limit."""

    def __init__(self, most: int, most_of_user: int) -> None:
        self._most = most
        self._most_of_user = most_of_user
        self._of_user: Counter[str] = Counter()

    def has_room_for(self, user: str) -> bool:
        """Whether the user may open another stream."""
        own = not self._most_of_user or self._of_user[user] < self._most_of_user
        return own and (not self._most or self._of_user.total() < self._most)

    @contextlib.contextmanager
    def count(self, user: str) -> Iterator[None]:
        """Count a stream of the user while the block runs."""
        self._of_user[user] += 1
        try:
            yield
        finally:
            self._of_user[user] -= 1
            if not self._of_user[user]:
                del self._of_user[user]
