"""Sending the scheduling loop of a cluster to a worker.

Waking is level-triggered. Whoever changes a cluster makes it due (`Cluster.due_at`) in the same
transaction, and the one who made it so sends `run_loop` after the commit; while the loop is at
work nobody sends anything, since the cluster stays due until the loop has seen everything. What
was not sent, or was lost with a worker, is found by beat: a due cluster whose lease nobody holds.
"""

from __future__ import annotations

from celery import current_app

from apps.controlplane import heartbeat

RUN_LOOP = "apps.controlplane.tasks.run_loop"


def wake(cluster_id: int, *, expires: float | None = None) -> None:
    """Send the loop of a cluster to the worker that has its engine warm, else to any.

    By the task's name, so that a process that only wakes need not load the scheduler.
    """
    current_app.send_task(
        RUN_LOOP, (cluster_id,), queue=heartbeat.queue_of_holder(cluster_id), expires=expires
    )
