"""Starting long work and cancelling it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import zstandard
from celery import current_app
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from apps.cluster.errors import ApiError, NotFound
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor
from apps.controlplane.models import Operation
from apps.controlplane.operations.progress import announce, packed

log = logging.getLogger(__name__)

RUN = "apps.controlplane.tasks.run_operation"


class Busy(ApiError):
    """Not now: other work is in the way, or this one is over."""

    code, reason = 409, "Conflict"


def start(
    kind: str,
    title: str,
    *,
    actor: Actor,
    cluster: Cluster | None = None,
    arguments: Mapping[str, Any] | None = None,
    payload: Any = None,
) -> Operation:
    """Note the work and send it to a worker; Busy while a drain of the cluster is at work."""
    try:
        with transaction.atomic():
            operation = Operation.objects.create(
                kind=kind,
                title=title,
                cluster=cluster,
                arguments=dict(arguments or {}),
                payload=None if payload is None else packed(payload),
                user=actor.user,
                request_id=actor.request_id,
            )
    except IntegrityError as error:
        raise Busy(_busy(cluster)) from error
    transaction.on_commit(lambda: send(operation))
    return operation


def send(operation: Operation) -> None:
    """Give it to a worker; while the broker is away it waits, and beat sends it later."""
    try:
        current_app.send_task(RUN, (operation.pk,))
    except Exception:
        log.warning("operation %s could not be sent", operation.pk, exc_info=True)
    announce(operation)


def cancel(operation: Operation) -> Operation:
    """Stop it: at once where it still waits, else at its next step; Busy when it is over."""
    waiting = Operation.objects.filter(pk=operation.pk, state=Operation.State.WAITING)
    stopped = waiting.update(
        state=Operation.State.CANCELLED,
        cancel_requested=True,
        message="cancelled before it began",
        payload=None,
        finished_at=timezone.now(),
    )
    if not stopped:
        running = Operation.objects.filter(pk=operation.pk, state=Operation.State.RUNNING)
        if not running.update(cancel_requested=True):
            raise Busy(f"task {operation.pk} is over: it has {operation.state}")
    operation.refresh_from_db(fields=["state", "cancel_requested", "message", "finished_at"])
    announce(operation)
    return operation


def operations() -> QuerySet[Operation]:
    """All of them, newest first, without what they carry."""
    return Operation.objects.defer("payload", "output").select_related("cluster").order_by("-pk")


def operation_numbered(number: int) -> Operation:
    """The operation of this number; NotFound when there is none."""
    found = operations().filter(pk=number).first() if number < 2**63 else None
    if found is None:
        raise NotFound("operations", str(number))
    return found


def output_of(number: int) -> tuple[str, bytes]:
    """Name and content of the file an operation wrote; NotFound when there is none."""
    operation = operation_numbered(number)
    compressed = Operation.objects.values_list("output", flat=True).get(pk=number)
    if compressed is None:
        raise NotFound("outputs of operations", str(number))
    return operation.output_name, zstandard.decompress(bytes(compressed))


def drain_at_work(cluster: Cluster) -> Operation | None:
    """The drain of one of its nodes that has not ended."""
    unfinished = (Operation.State.WAITING, Operation.State.RUNNING)
    return operations().filter(cluster=cluster, kind="drain", state__in=unfinished).first()


def _busy(cluster: Cluster | None) -> str:
    other = drain_at_work(cluster) if cluster is not None else None
    what = f"task {other.pk}: {other.title}" if other else "another drain"
    return f"one node is drained at a time, and another drain is at work ({what})"
