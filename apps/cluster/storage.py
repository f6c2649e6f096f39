"""Free space for the embedded database: changes are refused before its disk is full.

PostgreSQL stops when it cannot extend its log. Below the limit nothing is scheduled and requests
that write are refused, while reads go on; with room again everything continues by itself.
"""

from __future__ import annotations

import os
import time
from typing import Final

from django.conf import settings

from apps.cluster.errors import ApiError

#: The disk is looked at so often.
_SECONDS: Final = 1.0


class DiskFull(ApiError):
    """There is no room to store a change; reads go on."""

    code, reason = 507, "InsufficientStorage"

    def __init__(self, message: str) -> None:
        super().__init__(
            f"{message}: changes are refused until there is room, reads go on",
            details={"retryAfterSeconds": 5},
        )


class _Disk:
    def __init__(self) -> None:
        self._until = 0.0
        self._message = ""

    def shortage(self) -> str:
        """What is missing on the disk of the embedded database; "" if there is room."""
        now = time.monotonic()
        if now >= self._until:
            self._message = _look()
            self._until = now + _SECONDS
        return self._message


def free_megabytes() -> int | None:
    """The free space in MiB for the embedded database; None if the database is elsewhere."""
    # `make up` connects by a socket, and has the data in its folder
    if not str(settings.DATABASES["default"]["HOST"]).startswith("/"):
        return None
    try:
        filesystem = os.statvfs(settings.DATA_DIR / "postgres")
    except OSError:
        return None
    return filesystem.f_bavail * filesystem.f_frsize // 2**20


def _look() -> str:
    limit: int = settings.MIN_FREE_MEGABYTES
    free = free_megabytes()
    if free is None or free >= limit:
        return ""
    return f"the disk of the database is full ({free} MiB are free, {limit} MiB are needed)"


shortage = _Disk().shortage
