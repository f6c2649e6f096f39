"""Telling a database that is away from a fault of ours."""

from __future__ import annotations

from django.db import InterfaceError, OperationalError
from psycopg.errors import IdleInTransactionSessionTimeout

from apps.cluster.errors import ApiError


class DatabaseAway(ApiError):
    """The database did not do its part; the same request may succeed in a moment."""

    code, reason = 503, "ServiceUnavailable"

    def __init__(self) -> None:
        super().__init__(
            "the server is currently unable to handle the request", details={"retryAfterSeconds": 1}
        )


def database_is_away(error: BaseException) -> bool:
    """Whether `error` says that the server is down, restarts, or closed our connection.

    It also closes the one of a process that stood still in the middle of a transaction, so that
    nobody waits for its locks any longer.
    """
    if isinstance(error, (OperationalError, InterfaceError)):
        return True
    return isinstance(error.__cause__, IdleInTransactionSessionTimeout)
