"""Undoes an action on many nodes or pods, in batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from apps.administration.clusters import undoing
from apps.administration.clusters.bulk import count
from apps.administration.clusters.undoing import UndoResult
from apps.administration.operations import service
from apps.administration.operations.bulk import FIRST_VERSION
from apps.administration.operations.progress import Progress
from apps.cluster import kinds
from apps.cluster.errors import BadRequest
from apps.cluster.writes import Actor
from apps.engine.models import Operation

KIND: Final = "undo"
#: Actions whose earlier values the change log has.
_UNDONE = frozenset({"cordon", "uncordon", "taint", "untaint", "label", "annotate"})
_KINDS = {"nodes": kinds.NODE, "pods": kinds.POD}
#: The result lists at most so many fields that stay as they are, and lost pods.
_MAX_MESSAGES = 3


def can_be_undone(operation: Operation) -> bool:
    """Whether it is a bulk action that has written something and can be reversed."""
    arguments = operation.arguments
    return (
        operation.kind == "bulk"
        and operation.state == Operation.State.SUCCEEDED
        and arguments["action"] in _UNDONE
        and FIRST_VERSION in arguments
    )


def start_undo(operation: Operation, *, actor: Actor) -> Operation:
    """Start the operation that undoes a bulk action; BadRequest for any other operation."""
    if not can_be_undone(operation):
        raise BadRequest(f"operation {operation.pk} cannot be undone: {operation.title}")
    return service.start(
        KIND,
        f"Undo: {operation.title}",
        actor=actor,
        cluster=operation.cluster,
        arguments={
            "resource": operation.arguments["resource"],
            "first_version": operation.arguments[FIRST_VERSION],
            "request": operation.request_id,
        },
    )


def run(work: Progress) -> str:
    """`resource`, and the `request` whose writes since `first_version` are undone."""
    result = undoing.undo_request(
        work.cluster,
        _KINDS[work.argument("resource")],
        work.argument("first_version"),
        work.argument("request"),
        actor=work.actor,
        progress=work.step,
    )
    return describe(result, work.argument("resource"))


def describe(result: UndoResult, resource: str) -> str:
    """What was restored, what was not, and which pods stay evicted, in sentences."""
    sentences = ["Nothing was undone"]
    if result.names:
        restored = ", ".join(result.restored)
        sentences = [f"Undone on {count(len(result.names), resource)}: {restored}"]
    if result.kept:
        sentences.append(f"Not restored: {_shorten(result.kept)}")
    evicted = result.evictions
    if evicted.replaced:
        number = count(len(evicted.replaced), "pods")
        sentences.append(f"{number} evicted in between; controllers recreate them")
    if evicted.lost:
        names = _shorten([pod.key for pod in evicted.lost])
        sentences.append(f"Evicted in between, and not recreated by a controller: {names}")
    return ". ".join(sentences)


def _shorten(texts: Sequence[str]) -> str:
    more = len(texts) - _MAX_MESSAGES
    shown = ", ".join(texts[:_MAX_MESSAGES])
    return f"{shown} and {more:,} more" if more > 0 else shown
