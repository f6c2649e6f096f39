"""How work tells how far it is, and hears that it shall stop."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import zstandard
from django.db import connection

from apps.cluster.context import current_request_id
from apps.cluster.log.announce import announcer
from apps.cluster.log.listen import SITE
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor
from apps.controlplane.models import Operation

#: Rows and pages hear of progress no oftener.
_INTERVAL_SECONDS = 0.25

_TELL = """
    UPDATE controlplane_operation SET done = %s, total = %s, message = %s
    WHERE id = %s AND state = 'running' AND attempts = %s RETURNING cancel_requested
"""


class Cancelled(Exception):
    """Somebody cancelled the work, or it is not this worker's any more."""


class Progress:
    """One run of an operation, as its work sees it.

    It writes through a connection of its own: how far a transaction is can be read before it ends.
    """

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.actor = Actor(operation.user, operation.request_id or current_request_id())
        self._beside = connection.copy()
        self._told_at = 0.0
        self._message = ""

    @property
    def cluster(self) -> Cluster:
        """The cluster it is about, which it has from its start."""
        assert self.operation.cluster is not None
        return self.operation.cluster

    def argument(self, name: str) -> Any:
        return self.operation.arguments[name]

    def payload(self) -> Any:
        """What was uploaded."""
        packed = Operation.objects.values_list("payload", flat=True).get(pk=self.operation.pk)
        return msgspec.json.decode(zstandard.decompress(bytes(packed or b"")))

    def step(self, done: int, total: int, message: str = "") -> None:
        """Say how far it is; raises Cancelled, for the work to leave everything as it was."""
        now = time.monotonic()
        last = done >= total > 0
        if not last and message == self._message and now - self._told_at < _INTERVAL_SECONDS:
            return
        self._told_at, self._message = now, message
        with self._beside.cursor() as cursor:
            cursor.execute(
                _TELL, [done, total, message, self.operation.pk, self.operation.attempts]
            )
            row = cursor.fetchone()
        announce(self.operation)
        if row is None or row[0]:
            raise Cancelled

    def close(self) -> None:
        self._beside.close()


def packed(payload: Any) -> bytes:
    """An upload as the row keeps it."""
    return zstandard.compress(msgspec.json.encode(payload))


def announce(operation: Operation) -> None:
    """Let pages that show the operation look again."""
    cluster = operation.cluster
    if cluster is not None:
        announcer.committed(cluster.pk, cluster.resource_version, due=False)
    else:
        announcer.committed(SITE, 1, due=False)
