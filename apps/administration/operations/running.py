"""Runs an operation in a worker: claims it, runs it and records the outcome."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from apps.administration.operations.progress import OperationCancelled, Progress, announce
from apps.administration.operations.registry import WORK
from apps.administration.operations.renewal import keep_renewed
from apps.administration.operations.roles import check_role
from apps.cluster.availability import DatabaseUnavailable, is_database_unavailable
from apps.cluster.errors import ApiError
from apps.engine.models import Operation
from apps.engine.workers.lease import process_name

log = logging.getLogger(__name__)

#: After this many attempts that were interrupted, by the worker or the database, it fails.
MOST_ATTEMPTS = 3
#: The outcome is recorded at this interval while the database is unavailable, and for this time.
RETRY_SECONDS = 0.5
PATIENCE_SECONDS = 60.0


def run(number: int) -> None:
    """Run an operation, unless another worker has claimed it."""
    operation = _claim(number)
    if operation is None:
        return
    announce(operation)
    with keep_renewed(operation):
        record = _run(operation)
        _retry_without_database(record)
    announce(operation)


def _run(operation: Operation) -> Callable[[], None]:
    """Do the work; returns what records its outcome."""
    progress = Progress(operation)
    try:
        check_role(operation)
        message = WORK[operation.kind](progress)
        return partial(_end, operation, Operation.State.SUCCEEDED, message=message)
    except OperationCancelled:
        message = _cancel_message(operation)
        return partial(_end, operation, Operation.State.CANCELLED, message=message)
    except Exception as error:
        if _lost_database(error) and operation.attempts < MOST_ATTEMPTS:
            log.warning("operation %s lost the database", operation.pk, exc_info=True)
            return partial(_put_back, operation)
        if isinstance(error, ApiError):
            return partial(_end, operation, Operation.State.FAILED, cause=error.message)
        log.exception("operation %s failed", operation.pk)
        cause = f"{type(error).__name__}: {error}"
        return partial(_end, operation, Operation.State.FAILED, cause=cause)
    finally:
        with suppress(DatabaseError, InterfaceError):
            progress.close()


def _lost_database(error: Exception) -> bool:
    causes = (error, error.__cause__)
    return any(isinstance(each, DatabaseUnavailable) for each in causes) or any(
        is_database_unavailable(each) for each in causes if each is not None
    )


def _retry_without_database(record: Callable[[], None]) -> None:
    """Record an outcome, and wait for the database for some time if it is unavailable.

    If it stays unavailable, the lease expires, and the operation starts again.
    """
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return record()
        except (OperationalError, InterfaceError):
            if time.monotonic() > deadline:
                raise
            # the next attempt has a new connection
            connection.close()
            time.sleep(RETRY_SECONDS)


def _claim(number: int) -> Operation | None:
    """Claim a waiting operation; None if it is not waiting."""
    claimed = Operation.objects.filter(pk=number, state=Operation.State.WAITING).update(
        state=Operation.State.RUNNING,
        worker=process_name(),
        attempts=F("attempts") + 1,
        started_at=timezone.now(),
        renewed_at=Now(),
    )
    if not claimed:
        return None
    operations = Operation.objects.defer("payload", "output").select_related("cluster")
    return operations.get(pk=number)


def _put_back(operation: Operation) -> None:
    """Let the operation wait again, unless another worker has taken it over; beat sends it."""
    operation.state = Operation.State.WAITING
    _of_this_run(operation).update(
        state=operation.state, message="the database was unavailable; it starts again"
    )


def _of_this_run(operation: Operation) -> QuerySet[Operation]:
    """The row, while this run holds it."""
    running = Operation.objects.filter(pk=operation.pk, state=Operation.State.RUNNING)
    return running.filter(attempts=operation.attempts)


def _end(
    operation: Operation, state: Operation.State, *, message: str = "", cause: str = ""
) -> None:
    """Record the outcome, unless another worker has taken over the operation."""
    changes: dict[str, Any] = {"message": message} if message else {}
    if state == Operation.State.SUCCEEDED:
        changes |= {"done": F("total")}
    if state != Operation.State.FAILED or not operation.can_be_corrected:
        changes |= {"payload": None}
    _of_this_run(operation).update(
        state=state,
        cause=cause,
        cluster_id=operation.cluster_id,
        finished_at=timezone.now(),
        **changes,
    )
    operation.state = state


def _cancel_message(operation: Operation) -> str:
    if operation.kind == "drain":
        return "cancelled: nodes stay cordoned, and evicted pods are not restored"
    if operation.kind == "bulk":
        return "cancelled: objects that were already changed remain changed"
    return "cancelled: nothing was changed"
