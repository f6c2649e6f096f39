"""Distinguishes an unavailable database from an internal error."""

from __future__ import annotations

from django.db import InterfaceError, OperationalError
from psycopg.errors import IdleInTransactionSessionTimeout

from apps.cluster.errors import ApiError


class DatabaseUnavailable(ApiError):
    """The database is unavailable; the same request may succeed when retried."""

    code, reason = 503, "ServiceUnavailable"

    def __init__(self) -> None:
        super().__init__(
            "the server is currently unable to handle the request", details={"retryAfterSeconds": 1}
        )


def is_database_unavailable(error: BaseException) -> bool:
    """Whether `error` means that the server is down, is restarting, or closed our connection."""
    if isinstance(error, (OperationalError, InterfaceError)):
        return True
    return isinstance(error.__cause__, IdleInTransactionSessionTimeout)
