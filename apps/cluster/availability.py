"""Distinguishes an unavailable database from an internal error."""

from __future__ import annotations

from django.db import InterfaceError, OperationalError
from psycopg.errors import DeadlockDetected, IdleInTransactionSessionTimeout
from psycopg.errors import DiskFull as DiskFullError

from apps.cluster.errors import ApiError
from apps.cluster.storage import DiskFull


class DatabaseUnavailable(ApiError):
    """The database is unavailable; the same request may succeed when retried."""

    code, reason = 503, "ServiceUnavailable"

    def __init__(self, note: str = "") -> None:
        super().__init__(
            f"the server is currently unable to handle the request{note}",
            details={"retryAfterSeconds": 1},
        )


#: For a write whose connection was lost: its commit may have succeeded.
UNCERTAIN = (
    ": the connection to the database was lost, and the change may have been committed; read the "
    "object before you send the request again, or repeat a creation with the same Idempotency-Key"
)
#: Messages of psycopg about connections that were never established.
_NOT_CONNECTED = ("connection failed", "connection is bad", "couldn't get a connection")


def refusal_for(error: BaseException, *, writes: bool) -> ApiError:
    """The response to a request that failed because of the database.

    Says whether the change of one that writes may have been made.
    """
    if isinstance(error, DiskFullError) or isinstance(error.__cause__, DiskFullError):
        return DiskFull("the disk of the database is full")
    if not writes or any(words in str(error) for words in _NOT_CONNECTED):
        return DatabaseUnavailable()
    return DatabaseUnavailable(UNCERTAIN)


def is_database_unavailable(error: BaseException) -> bool:
    """Whether `error` means that the server is down, is restarting, or closed our connection."""
    if isinstance(error, (OperationalError, InterfaceError)):
        return True
    return isinstance(error.__cause__, IdleInTransactionSessionTimeout)


def is_deadlock(error: BaseException) -> bool:
    """Whether the database has ended a transaction because of a deadlock: nothing is written."""
    return isinstance(error, DeadlockDetected) or isinstance(error.__cause__, DeadlockDetected)
