"""What a worker does with an operation: claim it, run it, write how it ended."""

from __future__ import annotations

import logging
from typing import Any

from django.db.models import F
from django.utils import timezone

from apps.cluster.errors import ApiError
from apps.controlplane.models import Operation
from apps.controlplane.operations.progress import Cancelled, Progress, announce
from apps.controlplane.operations.registry import WORK
from apps.controlplane.workers.lease import PROCESS

log = logging.getLogger(__name__)


def run(number: int) -> None:
    """Run an operation unless somebody else does, or did."""
    operation = _claimed(number)
    if operation is None:
        return
    announce(operation)
    progress = Progress(operation)
    try:
        message = WORK[operation.kind](progress)
        _end(operation, Operation.State.SUCCEEDED, message=message)
    except Cancelled:
        _end(operation, Operation.State.CANCELLED, message=_left_behind(operation))
    except ApiError as refusal:
        _end(operation, Operation.State.FAILED, cause=refusal.message)
    except Exception as error:
        log.exception("operation %s failed", number)
        _end(operation, Operation.State.FAILED, cause=f"{type(error).__name__}: {error}")
    finally:
        progress.close()
    announce(operation)


def _claimed(number: int) -> Operation | None:
    """The operation, if it was waiting and is ours now."""
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
    """Write the outcome, unless the operation was given to another worker meanwhile."""
    changes: dict[str, Any] = {"message": message} if message else {}
    if state == Operation.State.SUCCEEDED:
        changes |= {"done": F("total")}
    Operation.objects.filter(
        pk=operation.pk, state=Operation.State.RUNNING, attempts=operation.attempts
    ).update(
        state=state,
        cause=cause,
        payload=None,
        cluster_id=operation.cluster_id,
        finished_at=timezone.now(),
        **changes,
    )
    operation.state = state


def _left_behind(operation: Operation) -> str:
    if operation.kind == "drain":
        return "cancelled: the node stays cordoned, and pods that were evicted are gone from it"
    return "cancelled: nothing of it was written"
