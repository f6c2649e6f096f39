"""Beat's part: what was not sent is sent again, and what a dead worker had gets another."""

from __future__ import annotations

from datetime import timedelta

from django.db import connection
from django.utils import timezone

from apps.controlplane.models import Operation
from apps.controlplane.operations.service import operations, send
from apps.controlplane.workers.heartbeat import STALE_SECONDS

#: After so many workers died of it, it is not tried again.
MOST_ATTEMPTS = 3
#: Finished ones are kept so long, ...
KEPT_DAYS = 30
#: ... and one that waits is sent again after so long.
_LOST_AFTER = timedelta(seconds=10)

_ABANDONED = """
    SELECT o.id FROM controlplane_operation o
    LEFT JOIN controlplane_heartbeat h ON h.name = o.worker
        AND h.at > clock_timestamp() - make_interval(secs => %s)
    WHERE o.state = 'running' AND h.name IS NULL
        AND o.started_at < clock_timestamp() - make_interval(secs => %s)
"""


def tend() -> None:
    """Look after all that is not finished."""
    for number in _abandoned():
        _take_from_dead_worker(number)
    waiting = operations().filter(state=Operation.State.WAITING)
    for operation in waiting.filter(created_at__lt=timezone.now() - _LOST_AFTER):
        send(operation)
    old = timezone.now() - timedelta(days=KEPT_DAYS)
    Operation.objects.filter(finished_at__lt=old).delete()


def _abandoned() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(_ABANDONED, [STALE_SECONDS, STALE_SECONDS])
        return [row[0] for row in cursor.fetchall()]


def _take_from_dead_worker(number: int) -> None:
    """Let it wait again, or end it where worker after worker died."""
    running = Operation.objects.filter(pk=number, state=Operation.State.RUNNING)
    again = running.filter(attempts__lt=MOST_ATTEMPTS)
    if again.update(state=Operation.State.WAITING, message="its worker died; it begins again"):
        send(operations().get(pk=number))
        return
    running.update(
        state=Operation.State.FAILED,
        cause=f"its worker died while it was at work, {MOST_ATTEMPTS} times",
        payload=None,
        finished_at=timezone.now(),
    )
