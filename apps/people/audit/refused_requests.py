"""Requests of authenticated users that were not allowed."""

from __future__ import annotations

import threading
import time
from typing import Final

from apps.people.audit.caller import Caller
from apps.people.audit.recording import try_to_record
from apps.people.models import AuditEntry

#: A client that repeats a refused request is recorded once in so many seconds, by each process.
REPEAT_SECONDS: Final = 60.0
_KEPT: Final = 10_000
#: Different refusals of one user that are recorded in that time; a user cannot fill the audit log.
MOST_OF_A_USER: Final = 60

Key = tuple[str, str, str, str]


class RecentRefusals:
    """Which refusals were recorded lately; for all threads of a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recorded: dict[Key, float] = {}
        #: of each user, since when and how many were recorded
        self._numbers: dict[str, tuple[float, int]] = {}

    def is_repeated(self, key: Key) -> bool:
        """Whether the same refusal, or too many of this user, the key's first part, were recorded
        lately; if not, it counts as recorded now.
        """
        now = time.monotonic()
        with self._lock:
            last = self._recorded.get(key)
            if last is not None and now - last < REPEAT_SECONDS:
                return True
            since, number = self._numbers.get(key[0], (now, 0))
            if now - since >= REPEAT_SECONDS:
                since, number = now, 0
            if number >= MOST_OF_A_USER:
                return True
            if len(self._recorded) >= _KEPT:
                self._recorded.clear()
                self._numbers.clear()
            self._recorded[key] = now
            self._numbers[key[0]] = since, number + 1
        return False

    def clear(self) -> None:
        with self._lock:
            self._recorded.clear()
            self._numbers.clear()


recent = RecentRefusals()


def record_refusal(caller: Caller, method: str, path: str, cluster: str = "") -> None:
    """Record that a request was answered 403; nothing for strangers, and once per minute.

    Must not be called on the event loop.
    """
    name = caller.name
    if not name or recent.is_repeated((name, caller.token, method, path)):
        return
    try_to_record(
        AuditEntry.Action.REFUSED, caller=caller, target=f"{method} {path}", cluster=cluster
    )
