"""Sends the scheduling loop of a cluster to a worker.

Waking is level-triggered. A transaction that changes a cluster makes it due (`Cluster.due_at`), and
if it was not due before, announces that after the commit. The worker process that has the engine of
the cluster in memory listens, and starts; only if there is none, `run_loop` is sent to any. While
the loop runs nothing is announced, because the cluster stays due until the loop has handled
everything. Beat finds lost announcements and messages: a due cluster whose lease is free.
"""

from __future__ import annotations

from celery import current_app
from django.db import connection, transaction

from apps.cluster.log.announce import announcer
from apps.engine.workers import heartbeat

RUN_LOOP = "apps.controlplane.tasks.run_loop"


def wake(
    cluster_id: int,
    *,
    expires: float | None = None,
    anywhere: bool = False,
    queue: str | None = None,
) -> None:
    """Send the loop of a cluster to the worker that has its engine in memory, or to any.

    `anywhere`: always to any worker; `queue`: to this one. Uses the name of the task, so that a
    process that only wakes need not load the scheduler.
    """
    if queue is None and not anywhere:
        queue = heartbeat.queue_of_holder(cluster_id)
    current_app.send_task(RUN_LOOP, (cluster_id,), queue=queue, expires=expires)


def wake_unless_held(cluster_id: int) -> None:
    """Send the loop of a cluster to any worker, unless a live one has its engine and listens."""
    if heartbeat.queue_of_holder(cluster_id) is None:
        wake(cluster_id, anywhere=True)


def make_due(cluster_id: int) -> None:
    """Make a cluster due now, and wake its loop and its pages, without a change of an object."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE cluster_cluster SET due_at = clock_timestamp() WHERE id = %s "
            "RETURNING resource_version",
            [cluster_id],
        )
        row = cursor.fetchone()
        if row is not None:
            transaction.on_commit(lambda: announcer.announce(cluster_id, row[0], due=True))
