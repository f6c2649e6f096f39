"""Runs an operation in a worker: claims it, runs it and records the outcome."""

from __future__ import annotations

import logging
from typing import Any

from django.db.models import F
from django.utils import timezone

from apps.cluster.errors import ApiError
from apps.controlplane.models import Operation
from apps.controlplane.operations.progress import OperationCancelled, Progress, announce
from apps.controlplane.operations.registry import WORK
from apps.controlplane.workers.lease import PROCESS

log = logging.getLogger(__name__)


def run(number: int) -> None:
    """Run an operation, unless another worker has claimed it."""
    operation = _claim(number)
    if operation is None:
        return
    announce(operation)
    progress = Progress(operation)
    try:
        message = WORK[operation.kind](progress)
        _end(operation, Operation.State.SUCCEEDED, message=message)
    except OperationCancelled:
        _end(operation, Operation.State.CANCELLED, message=_cancel_message(operation))
    except ApiError as refusal:
        _end(operation, Operation.State.FAILED, cause=refusal.message)
    except Exception as error:
        log.exception("operation %s failed", number)
        _end(operation, Operation.State.FAILED, cause=f"{type(error).__name__}: {error}")
    finally:
        progress.close()
    announce(operation)


def _claim(number: int) -> Operation | None:
    """Claim a waiting operation; None if it is not waiting."""
    claimed = Operation.objects.filter(pk=number, state=Operation.State.WAITING).update(
        state=Operation.State.RUNNING,
        worker=PROCESS,
        attempts=F("attempts") + 1,
        started_at=timezone.now(),
    )
    if not claimed:
        return None
    found = Operation.objects.defer("payload", "output").select_related("cluster")
    return found.get(pk=number)


def _end(
    operation: Operation, state: Operation.State, *, message: str = "", cause: str = ""
) -> None:
    """Record the outcome, unless another worker has taken over the operation."""
    changes: dict[str, Any] = {"message": message} if message else {}
    if state == Operation.State.SUCCEEDED:
        changes |= {"done": F("total")}
    if state != Operation.State.FAILED or not operation.can_be_corrected:
        changes |= {"payload": None}
    Operation.objects.filter(
        pk=operation.pk, state=Operation.State.RUNNING, attempts=operation.attempts
    ).update(
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
