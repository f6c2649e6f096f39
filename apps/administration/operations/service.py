"""Starts and cancels operations."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
import zstandard
from celery import current_app
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.administration.operations.progress import announce, compress_payload
from apps.cluster.access import confidential
from apps.cluster.access.grants import AnyUser
from apps.cluster.access.reach import reach_of
from apps.cluster.access.scopes import is_limited
from apps.cluster.errors import ApiError, NotFound, TooManyRequests
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor
from apps.engine.models import Operation
from apps.engine.profiles.private_keys import visible_to

log = logging.getLogger(__name__)

T = TypeVar("T")

RUN = "apps.controlplane.tasks.run_operation"


class OperationConflict(ApiError):
    """Another operation is running, or this one has ended."""

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
    """Create an operation and send it to a worker.

    Raises OperationConflict during another drain, TooManyRequests if the user has started too
    many that have not ended.
    """
    check_number(actor.user, settings.CONFIG.user_operations, "SCHEDWEB_USER_OPERATIONS")
    try:
        with transaction.atomic():
            operation = Operation.objects.create(
                kind=kind,
                title=title,
                cluster=cluster,
                arguments=dict(arguments or {}),
                payload=None if payload is None else compress_payload(payload),
                user=actor.user,
                request_id=actor.request_id,
            )
    except IntegrityError as error:
        raise OperationConflict(_conflict_message(cluster)) from error
    transaction.on_commit(lambda: send(operation))
    return operation


def send(operation: Operation) -> None:
    """Send it to a worker; while the broker is unavailable it waits, and beat sends it later."""
    try:
        current_app.send_task(RUN, (operation.pk,))
    except Exception:
        log.warning("could not send operation %s", operation.pk, exc_info=True)
    announce(operation)


def cancel(operation: Operation) -> Operation:
    """Cancel it at once if it waits, otherwise at its next step; OperationConflict if ended."""
    waiting = Operation.objects.filter(pk=operation.pk, state=Operation.State.WAITING)
    stopped = waiting.update(
        state=Operation.State.CANCELLED,
        cancel_requested=True,
        message="cancelled before it started",
        payload=None,
        finished_at=timezone.now(),
    )
    if not stopped:
        running = Operation.objects.filter(pk=operation.pk, state=Operation.State.RUNNING)
        if not running.update(cancel_requested=True):
            raise OperationConflict(f"operation {operation.pk} has ended: {operation.state}")
    operation.refresh_from_db(fields=["state", "cancel_requested", "message", "finished_at"])
    announce(operation)
    return operation


def operations() -> QuerySet[Operation]:
    """All operations, newest first, without payload and output."""
    return Operation.objects.defer("payload", "output").select_related("cluster").order_by("-pk")


def operations_for(user: AnyUser) -> QuerySet[Operation]:
    """Those of the clusters that a user sees, and the user's own that have no cluster yet.

    A token that reaches only some clusters does not reach the latter.
    """
    reach = reach_of(user)
    if reach.ids is None:
        return operations()
    seen = Q(cluster__in=reach.ids)
    if not is_limited(user):
        seen |= Q(cluster=None, user=user.get_username())
    return operations().filter(seen)


def get_operation(number: int) -> Operation:
    """The operation with this number; NotFound if there is none."""
    operation = operations().filter(pk=number).first() if number < 2**63 else None
    if operation is None:
        raise NotFound("operations", str(number))
    return operation


def get_operation_of(cluster: Cluster, kind: str, number: int) -> Operation:
    """The operation of this kind about this cluster; NotFound ("replays" ...) if there is none."""
    operation = get_operation(number)
    if operation.kind != kind or operation.cluster_id != cluster.pk:
        raise NotFound(f"{kind}s", str(number))
    return operation


def read_result(operation: Operation, kind: type[T]) -> T | None:
    """What an operation wrote as JSON, if it has succeeded."""
    if operation.state != Operation.State.SUCCEEDED:
        return None
    _, text = output_of(operation)
    return msgspec.json.decode(text, type=kind)


def start_export(cluster: Cluster, *, user: AnyUser, actor: Actor) -> Operation:
    """Start an export of the cluster as YAML, of the kinds that the user reads."""
    return start(
        "export",
        f"Export cluster {cluster.name} as YAML",
        actor=actor,
        cluster=cluster,
        arguments={"without": list(confidential.hidden_kinds(user, cluster))},
    )


def download(number: int, *, user: AnyUser) -> tuple[str, bytes]:
    """`output_of`, for a user; Forbidden if it may have kinds that the user does not read."""
    operation = get_operation(number)
    output = output_of(operation)
    if operation.kind == "preview" and operation.cluster_id is not None:
        # the result of a preview has the configuration
        name, text = output
        result = msgspec.json.decode(text)
        shown = visible_to(user, operation.cluster_id, result["configuration"])
        return name, msgspec.json.encode({**result, "configuration": shown})
    if operation.kind == "export" and operation.cluster is not None:
        hidden = confidential.hidden_kinds(user, operation.cluster)
        for key in set(hidden) - set(operation.arguments.get("without", ())):
            confidential.require_reading(user, operation.cluster, key)
    return output


def output_of(operation: Operation) -> tuple[str, bytes]:
    """Name and content of the file an operation wrote; NotFound when there is none."""
    compressed = Operation.objects.values_list("output", flat=True).get(pk=operation.pk)
    if compressed is None:
        raise NotFound("outputs of operations", str(operation.pk))
    return operation.output_name, zstandard.decompress(bytes(compressed))


def content_type_of(name: str) -> str:
    """The media type of a file that an operation wrote."""
    return "application/json" if name.endswith(".json") else "application/yaml"


def upload_of(operation: Operation) -> Any:
    """The data that was uploaded for a failed operation; NotFound if there is none."""
    compressed = Operation.objects.values_list("payload", flat=True).get(pk=operation.pk)
    if compressed is None:
        raise NotFound("uploads of operations", str(operation.pk))
    return msgspec.json.decode(zstandard.decompress(bytes(compressed)))


def running_drain(cluster: Cluster) -> Operation | None:
    """The drain of one of the cluster's nodes that has not ended."""
    unfinished = (Operation.State.WAITING, Operation.State.RUNNING)
    return operations().filter(cluster=cluster, kind="drain", state__in=unfinished).first()


def check_number(user: str, most: int, setting: str = "", *, kind: str = "") -> None:
    """TooManyRequests if the user has `most` operations of a kind that have not ended; 0: any."""
    unfinished = (Operation.State.WAITING, Operation.State.RUNNING)
    unfinished_ones = Operation.objects.filter(user=user, state__in=unfinished)
    if most and (unfinished_ones.filter(kind=kind) if kind else unfinished_ones).count() >= most:
        what = f"operations of the kind {kind}" if kind else "operations"
        raise TooManyRequests(
            f"{user} has {most} {what} that have not ended, which is the limit of this site"
            + (f" ({setting})" if setting else ""),
            details={"retryAfterSeconds": 10},
        )


def _conflict_message(cluster: Cluster | None) -> str:
    other = running_drain(cluster) if cluster is not None else None
    what = f"operation {other.pk}: {other.title}" if other else "another drain"
    return f"only one node can be drained at a time, and another drain is running ({what})"
