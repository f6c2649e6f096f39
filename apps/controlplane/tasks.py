"""The Celery tasks: the scheduling loop, and the periodic tasks."""

from __future__ import annotations

import logging

from celery import current_app, shared_task
from django.db import connection

from apps.cluster import storage
from apps.cluster.partitions import daily
from apps.controlplane import auditing
from apps.controlplane.history import retention
from apps.controlplane.loop import clock
from apps.controlplane.loop.clock import NOW_SQL
from apps.controlplane.loop.engines import engines
from apps.controlplane.loop.starting import run_slice
from apps.controlplane.operations import running, tending
from apps.controlplane.series import sampling, trimming
from apps.controlplane.webhooks import collecting, sending
from apps.controlplane.workers import heartbeat
from apps.controlplane.workers.lease import HELD
from apps.controlplane.workers.waking import wake
from apps.people import sessions, throttling

log = logging.getLogger(__name__)

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


@shared_task(ignore_result=True)
def run_loop(cluster_id: int) -> None:
    """Schedule a cluster until nothing is left to do, unless another worker does.

    Without room on the disk it waits: the cluster stays due, and beat sends it again.
    """
    if storage.shortage():
        return
    run_slice(engines, cluster_id)


@shared_task(ignore_result=True)
def wake_due_clusters() -> None:
    """Every second: clusters whose wake-up was lost, or whose timer has expired."""
    _wake(
        # an engine sets due_at a few seconds ahead; further ahead, the clock was set back since
        _DUE + f"AND (c.due_at NOT BETWEEN clock_timestamp() AND clock_timestamp() "
        f"+ interval '{_FAR_SECONDS} s' OR c.timer_at <= {NOW_SQL})",
    )


@shared_task(ignore_result=True)
def move_clocks() -> None:
    """Every second: clocks that run at a speed of their own."""
    clock.move_running_clocks()


@shared_task(ignore_result=True)
def flush_backoff() -> None:
    """Every second: clusters with a pod in backoffQ whose backoff has expired."""
    _wake(
        _DUE + "AND EXISTS (SELECT 1 FROM controlplane_queueentry q WHERE q.cluster_id = c.id "
        f"AND q.queue = 'backoff' AND q.backoff_expiry <= {NOW_SQL})",
    )


@shared_task(ignore_result=True)
def flush_unschedulable() -> None:
    """Every 30 seconds: clusters with a pod that has been unschedulable for too long."""
    _wake(
        _DUE + "AND EXISTS (SELECT 1 FROM controlplane_queueentry q WHERE q.cluster_id = c.id "
        "AND q.queue = 'unschedulable' "
        f"AND q.timestamp < {NOW_SQL} "
        "- make_interval(secs => c.pod_max_in_unschedulable_pods_seconds))"
    )


@shared_task(ignore_result=True)
def prepare_days() -> None:
    """Every hour: create the partitions of the next days."""
    for name in daily.prepare_all():
        log.info("created partition %s", name)


@shared_task(ignore_result=True)
def retain() -> None:
    """Every ten minutes: delete history beyond the retention limits."""
    retention.run()
    collecting.forget_old()
    auditing.delete_expired()
    sessions.delete_expired()
    throttling.delete_expired()


@shared_task(ignore_result=True)
def sample_series() -> None:
    """Every ten seconds: add the state and the happenings of each cluster to its series."""
    sampling.sample_all()


@shared_task(ignore_result=True)
def trim_series() -> None:
    """Every ten minutes: delete the buckets of series beyond their retention."""
    trimming.trim()


@shared_task(ignore_result=True)
def run_operation(number: int) -> None:
    """Run an operation, unless another worker has claimed it."""
    running.run(number)


@shared_task(ignore_result=True)
def tend_operations() -> None:
    """Every 5 seconds: operations whose message was lost, or whose lease expired."""
    tending.tend()


@shared_task(ignore_result=True)
def notify_webhooks() -> None:
    """Every 2 seconds: new events for webhooks, and deliveries that are due."""
    collecting.collect()
    for number in collecting.claim_due():
        current_app.send_task("apps.controlplane.tasks.send_delivery", (number,))


@shared_task(ignore_result=True)
def send_delivery(number: int) -> None:
    """Post one delivery to its webhook."""
    sending.send(number)


@shared_task(ignore_result=True)
def beat() -> None:
    """Every 5 seconds: sent by beat and run by a worker, which shows that both are alive."""
    heartbeat.touch("beat")


@shared_task(ignore_result=True)
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
        found = cursor.fetchall()
    for cluster_id, late in found:
        try:
            wake(cluster_id, expires=_EXPIRES_SECONDS, anywhere=late)
        except Exception:
            # the broker is unavailable or the connection broke; one cluster must not block the
            # others, and the next run finds them all again
            log.warning("could not wake cluster %s", cluster_id, exc_info=True)
