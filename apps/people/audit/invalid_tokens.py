"""Requests with invalid tokens, counted by address: strangers cannot fill the audit log.

The first request of an address in a minute is recorded at once; the number of those that followed
in that minute is recorded when it is over. Addresses beyond a limit are counted together.
"""

from __future__ import annotations

import threading
import time
from typing import Final

from apps.people.audit.caller import Caller
from apps.people.audit.recording import try_to_record
from apps.people.authentication import KEYWORDS, InvalidCredentials, user_of_authorization
from apps.people.models import AuditEntry

PERIOD_SECONDS: Final = 60.0
#: Addresses with entries of their own in a period, in each process.
MOST_ADDRESSES: Final = 100
#: Instead of an address.
OTHERS: Final = "others"


class AddressCounts:
    """How many requests of each address were refused in the present period; for all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._began = 0.0
        self._counts: dict[str, int] = {}

    def add(self, address: str) -> str | None:
        """Count a request; the address to record it with if it is the first, otherwise None."""
        with self._lock:
            if not self._counts:
                self._began = time.monotonic()
            if address not in self._counts and len(self._counts) >= MOST_ADDRESSES:
                address = OTHERS
            self._counts[address] = self._counts.get(address, 0) + 1
            return address if self._counts[address] == 1 else None

    def end_period(self) -> dict[str, int]:
        """Once the period is over: how many requests followed the first one of each address."""
        if not self._counts or time.monotonic() - self._began < PERIOD_SECONDS:
            return {}
        with self._lock:
            counts, self._counts = self._counts, {}
        return {address: count - 1 for address, count in counts.items() if count > 1}

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._counts.clear()


counts = AddressCounts()


def has_token(authorization: str) -> bool:
    """Whether an `Authorization` header has a token of the site or of a service account."""
    return authorization.partition(" ")[0].lower() in KEYWORDS


def record_invalid_token(address: str, authorization: str, method: str, path: str) -> None:
    """Record that a request was answered 401, if it had a token. Not for the event loop."""
    if not has_token(authorization):
        return
    if (recorded := counts.add(address)) is not None:
        _record(recorded, _reason(authorization), target=f"{method} {path}")


def record_ended_period() -> None:
    """Record how many requests followed in a period that is over."""
    for address, count in counts.end_period().items():
        _record(address, f"{count} more requests in the same minute", times=count)


def _record(address: str, reason: str, *, target: str = "", times: int = 1) -> None:
    try_to_record(
        AuditEntry.Action.TOKEN_REFUSED,
        caller=Caller("", address),
        target=target,
        details={"reason": reason, "requests": times},
    )


def _reason(authorization: str) -> str:
    """Why the token is invalid; the token itself is not recorded."""
    try:
        user_of_authorization(authorization)
    except InvalidCredentials as error:
        return str(error)
    return "the token is not valid for this address"
