"""Reports the progress of an operation, and detects its cancellation."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import msgspec
import zstandard
from django.db import DatabaseError, InterfaceError, connection, transaction

from apps.administration.operations.roles import check_role
from apps.cluster.context import current_request_id
from apps.cluster.log.announce import announcer
from apps.cluster.log.listen import SITE
from apps.cluster.models import Cluster
from apps.cluster.writes import SITE_MANAGER, Actor
from apps.engine.models import Operation

#: Minimum seconds between two progress reports.
_INTERVAL_SECONDS = 0.25

#: Interval at which the role of its user is checked: an operation ends so long after the role.
_ROLE_SECONDS = 5.0

_TELL = """
    UPDATE controlplane_operation SET done = %s, total = %s, message = %s
    WHERE id = %s AND state = 'running' AND attempts = %s RETURNING cancel_requested
"""


#: A worker that takes over the operation has to wait for the end of the transaction.
_HOLD = """
    SELECT 1 FROM controlplane_operation WHERE id = %s AND state = 'running' AND attempts = %s
    FOR SHARE
"""


class OperationCancelled(Exception):
    """The operation was cancelled, or given to another worker."""


class Progress:
    """One run of an operation.

    Writes through its own connection, so that progress is visible before the transaction ends.
    """

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        request_id = operation.request_id or current_request_id()
        self.actor = Actor(operation.user, request_id, SITE_MANAGER)
        self._beside = connection.copy()
        self._told_at = 0.0
        self._checked_at = time.monotonic()
        self._message = ""

    @property
    def cluster(self) -> Cluster:
        """The cluster of the operation, which is set from the start."""
        assert self.operation.cluster is not None
        return self.operation.cluster

    def argument(self, name: str) -> Any:
        return self.operation.arguments[name]

    def set_argument(self, name: str, value: Any) -> None:
        """Store something that this run has found out with the arguments of the operation."""
        self.operation.arguments[name] = value
        self.operation.save(update_fields=["arguments"])

    def payload(self) -> Any:
        """The uploaded data."""
        compressed = Operation.objects.values_list("payload", flat=True).get(pk=self.operation.pk)
        return msgspec.json.decode(zstandard.decompress(bytes(compressed or b"")))

    def step(self, done: int, total: int, message: str = "") -> None:
        """Report progress; raises OperationCancelled, so that the work is rolled back."""
        now = time.monotonic()
        last = done >= total > 0
        if not last and message == self._message and now - self._told_at < _INTERVAL_SECONDS:
            return
        self._told_at, self._message = now, message
        if now - self._checked_at > _ROLE_SECONDS:
            self._checked_at = now
            check_role(self.operation)
        with self._beside.cursor() as cursor:
            cursor.execute(
                _TELL, [done, total, message, self.operation.pk, self.operation.attempts]
            )
            row = cursor.fetchone()
        announce(self.operation)
        if row is None or row[0]:
            raise OperationCancelled

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A transaction that is committed only if this run still holds the operation.

        A worker that was stopped for some time has lost it; the block then raises
        OperationCancelled.
        """
        with ExitStack() as until_committed, transaction.atomic():
            yield
            until_committed.enter_context(self._holding())

    @contextmanager
    def _holding(self) -> Iterator[None]:
        """Lock the row of the operation beside the work, whose snapshot may be older."""
        self._beside.set_autocommit(False)
        try:
            with self._beside.cursor() as cursor:
                cursor.execute(_HOLD, [self.operation.pk, self.operation.attempts])
                if cursor.fetchone() is None:
                    raise OperationCancelled
            yield
        finally:
            # the work is committed by now, whatever happens to this connection
            with suppress(DatabaseError, InterfaceError):
                self._beside.rollback()
                self._beside.set_autocommit(True)

    def close(self) -> None:
        self._beside.close()


def compress_payload(payload: Any) -> bytes:
    """Compress an upload for its row."""
    return zstandard.compress(msgspec.json.encode(payload))


def announce(operation: Operation) -> None:
    """Notify the pages that show the operation."""
    cluster = operation.cluster
    if cluster is not None:
        announcer.announce(cluster.pk, cluster.resource_version, due=False)
    else:
        announcer.announce(SITE, 1, due=False)
