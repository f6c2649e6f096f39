"""Sends unsent operations again, and recovers those whose lease expired; called by beat."""

from __future__ import annotations

from datetime import timedelta

from django.db import connection
from django.utils import timezone

from apps.administration.operations.running import MOST_ATTEMPTS
from apps.administration.operations.service import operations, send
from apps.engine.models import Operation
from apps.engine.workers.heartbeat import RECENT

#: Retention of finished operations, ...
KEPT_DAYS = 30
#: ... and the time after which a waiting one is sent again.
_LOST_AFTER = timedelta(seconds=10)

#: Not right after a start of the database, during which no worker could renew.
_ABANDONED = f"""
    SELECT id FROM controlplane_operation
    WHERE state = 'running' AND (renewed_at {RECENT}) IS NOT TRUE
        AND (pg_postmaster_start_time() {RECENT}) IS NOT TRUE
"""


def recover_operations() -> None:
    """Recover unfinished operations and delete old ones."""
    for number in _find_abandoned():
        _take_from_worker(number)
    waiting = operations().filter(state=Operation.State.WAITING)
    now = timezone.now()
    # created in the future: the clock was set back since
    for operation in waiting.exclude(created_at__range=(now - _LOST_AFTER, now + _LOST_AFTER)):
        send(operation)
    old = timezone.now() - timedelta(days=KEPT_DAYS)
    Operation.objects.filter(finished_at__lt=old).delete()


def _find_abandoned() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(_ABANDONED)
        return [row[0] for row in cursor.fetchall()]


def _take_from_worker(number: int) -> None:
    """Make it wait again, or fail it after too many interrupted attempts."""
    running = Operation.objects.filter(pk=number, state=Operation.State.RUNNING)
    again = running.filter(attempts__lt=MOST_ATTEMPTS)
    if again.update(state=Operation.State.WAITING, message="its worker stopped; it starts again"):
        send(operations().get(pk=number))
        return
    running.update(
        state=Operation.State.FAILED,
        cause=f"its worker stopped while it was running, {MOST_ATTEMPTS} times",
        payload=None,
        finished_at=timezone.now(),
    )
