"""Sending the scheduling loop of a cluster to a worker.

Waking is level-triggered. Whoever changes a cluster makes it due (`Cluster.due_at`) in the same
transaction, and the one who made it so sends `run_loop` after the commit; while the loop is at
work nobody sends anything, since the cluster stays due until the loop has seen everything. What
was not sent, or was lost with a worker, is found by beat: a due cluster whose lease nobody holds.
"""

from __future__ import annotations

from celery import current_app
from django.db import connection, transaction

from apps.cluster.log.announce import announcer
from apps.controlplane.workers import heartbeat

RUN_LOOP = "apps.controlplane.tasks.run_loop"


def wake(
    cluster_id: int,
    *,
    expires: float | None = None,
    anywhere: bool = False,
    queue: str | None = None,
) -> None:
    """Send the loop of a cluster to the worker that has its engine warm, else to any.

    `anywhere`: to any worker in any case; `queue`: to this one. By the task's name, so that a
    process that only wakes need not load the scheduler.
    """
    if queue is None and not anywhere:
        queue = heartbeat.queue_of_holder(cluster_id)
    current_app.send_task(RUN_LOOP, (cluster_id,), queue=queue, expires=expires)


def make_due(cluster_id: int) -> None:
    """Make a cluster due now and wake its loop and its pages, though no object changed."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE cluster_cluster SET due_at = clock_timestamp() WHERE id = %s "
            "RETURNING resource_version",
            [cluster_id],
        )
        row = cursor.fetchone()
        if row is not None:
            transaction.on_commit(lambda: announcer.committed(cluster_id, row[0], due=True))
