"""The Celery tasks: the scheduling loop, and the periodic tasks."""

from __future__ import annotations

import logging
from collections.abc import Callable

from celery import current_app, shared_task
from django.db import connection

from apps.administration import auditing, retention
from apps.administration.operations import recovery, running
from apps.administration.webhooks import collecting, sending
from apps.cluster import storage
from apps.cluster.partitions import daily
from apps.engine.loop import clock
from apps.engine.loop.clock import NOW_SQL
from apps.engine.loop.engines import engines
from apps.engine.loop.starting import run_slice
from apps.engine.series import sampling, trimming
from apps.engine.workers import heartbeat
from apps.engine.workers.lease import HELD
from apps.engine.workers.waking import wake
from apps.people import sessions, throttling

log = logging.getLogger(__name__)

#: Messages in flight and the schedule have these names, which outlive a move of this module.
_NAMES = "apps.controlplane.tasks"
#: A wake-up of beat is obsolete when the next one is sent.
_EXPIRES_SECONDS = 5
#: After this time any worker may take a due cluster: its last holder is busy or stopped, and
#: waiting costs more than loading the engine again.
_PATIENCE_SECONDS = 2

#: No cluster is due so far in the future, unless the clock was set back.
_FAR_SECONDS = 60

_DUE = f"""
    SELECT c.id, coalesce(c.due_at < clock_timestamp() - interval '{_PATIENCE_SECONDS} s'
        OR c.timer_at < {NOW_SQL} - interval '{_PATIENCE_SECONDS} s', false)
    FROM cluster_cluster c JOIN controlplane_looplease l ON l.cluster_id = c.id
    WHERE NOT c.paused AND (l.expires_at {HELD}) IS NOT TRUE
"""


def _task(function: Callable[..., None]) -> Callable[..., None]:
    """A Celery task without a result."""
    name = f"{_NAMES}.{function.__name__}"
    task: Callable[..., None] = shared_task(name=name, ignore_result=True)(function)
    return task


@_task
def run_loop(cluster_id: int) -> None:
    """Schedule a cluster until nothing is left to do, unless another worker does.

    Without room on the disk it waits: the cluster stays due, and beat sends it again.
    """
    if storage.shortage():
        return
    run_slice(engines, cluster_id)


@_task
def wake_due_clusters() -> None:
    """Every second: clusters whose wake-up was lost, or whose timer has expired."""
    _wake(
        # an engine sets due_at a few seconds ahead; further ahead, the clock was set back since
        _DUE + f"AND (c.due_at NOT BETWEEN clock_timestamp() AND clock_timestamp() "
        f"+ interval '{_FAR_SECONDS} s' OR c.timer_at <= {NOW_SQL})",
    )


@_task
def move_clocks() -> None:
    """Every second: clocks that run at a speed of their own."""
    clock.move_running_clocks()


@_task
def flush_backoff() -> None:
    """Every second: clusters with a pod in backoffQ whose backoff has expired."""
    _wake(
        _DUE + "AND EXISTS (SELECT 1 FROM controlplane_queueentry q WHERE q.cluster_id = c.id "
        f"AND q.queue = 'backoff' AND q.backoff_expiry <= {NOW_SQL})",
    )


@_task
def flush_unschedulable() -> None:
    """Every 30 seconds: clusters with a pod that has been unschedulable for too long."""
    _wake(
        _DUE + "AND EXISTS (SELECT 1 FROM controlplane_queueentry q WHERE q.cluster_id = c.id "
        "AND q.queue = 'unschedulable' "
        f"AND q.timestamp < {NOW_SQL} "
        "- make_interval(secs => c.pod_max_in_unschedulable_pods_seconds))"
    )


@_task
def prepare_days() -> None:
    """Every hour: create the partitions of the next days."""
    for name in daily.prepare_all():
        log.info("created partition %s", name)


@_task
def retain() -> None:
    """Every ten minutes: delete history beyond the retention limits."""
    retention.run()
    collecting.forget_old()
    auditing.delete_expired()
    sessions.delete_expired()
    throttling.delete_expired()


@_task
def sample_series() -> None:
    """Every ten seconds: add the state of each cluster, and the counts since, to its series."""
    sampling.sample_all()


@_task
def trim_series() -> None:
    """Every ten minutes: delete the buckets of series beyond their retention."""
    trimming.trim()


@_task
def run_operation(number: int) -> None:
    """Run an operation, unless another worker has claimed it."""
    running.run(number)


@_task
def tend_operations() -> None:
    """Every 5 seconds: operations whose message was lost, or whose lease expired."""
    recovery.recover_operations()


@_task
def notify_webhooks() -> None:
    """Every 2 seconds: new events for webhooks, and deliveries that are due."""
    collecting.collect()
    for number in collecting.claim_due():
        current_app.send_task("apps.controlplane.tasks.send_delivery", (number,))


@_task
def send_delivery(number: int) -> None:
    """Post one delivery to its webhook."""
    sending.send(number)


@_task
def beat() -> None:
    """Every 5 seconds: sent by beat and run by a worker, which shows that both are alive."""
    heartbeat.touch("beat")


@_task
def forget_dead_workers() -> None:
    """Every minute: delete heartbeats and queues of workers that did not shut down properly."""
    for name in heartbeat.dead_workers():
        with current_app.connection_for_write() as broker:
            # declared first: a channel only deletes queues that it knows
            queue = current_app.amqp.queues.new_missing(name)(broker.default_channel)
            queue.declare()
            queue.delete()
        heartbeat.delete(name)
        log.info("deleted worker %s, which has sent no heartbeat", name)


def _wake(query: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(query)
        due_clusters = cursor.fetchall()
    for cluster_id, late in due_clusters:
        try:
            wake(cluster_id, expires=_EXPIRES_SECONDS, anywhere=late)
        except Exception:
            # the broker is unavailable or the connection broke; one cluster must not block the
            # others, and the next run finds them all again
            log.warning("could not wake cluster %s", cluster_id, exc_info=True)
