"""The Celery tasks: the scheduling loop, and what beat sends to keep it going."""

from __future__ import annotations

import logging

from celery import current_app, shared_task
from django.db import connection

from apps.controlplane.history import retention
from apps.controlplane.loop.clock import NOW_SQL
from apps.controlplane.loop.engines import engines
from apps.controlplane.operations import running, tending
from apps.controlplane.partitions import daily
from apps.controlplane.workers import heartbeat, lease
from apps.controlplane.workers.waking import wake

log = logging.getLogger(__name__)

#: A wake-up that beat sends is worthless when the next one comes.
_EXPIRES_SECONDS = 5
#: A due cluster whose last holder has not come for so long is anybody's: the holder may be busy
#: with others, or stopped, and what is warm with it is worth less than the time it takes.
_PATIENCE_SECONDS = 2

_DUE = f"""
    SELECT c.id, coalesce(c.due_at < clock_timestamp() - interval '{_PATIENCE_SECONDS} s'
        OR c.timer_at < {NOW_SQL} - interval '{_PATIENCE_SECONDS} s', false)
    FROM cluster_cluster c JOIN controlplane_looplease l ON l.cluster_id = c.id
    WHERE NOT c.paused AND (l.expires_at IS NULL OR l.expires_at < clock_timestamp())
"""


@shared_task(ignore_result=True)
def run_loop(cluster_id: int) -> None:
    """Schedule a cluster until nothing is left to do, if nobody else does.

    After a slice of a cluster that is busy for longer, one of several such in this process goes
    to a worker that has none.
    """
    if not engines.run(cluster_id):
        return
    idle = heartbeat.idle_worker() if engines.runs_other_clusters(cluster_id) else None
    if idle is not None:
        lease.let_go(cluster_id)
    wake(cluster_id, queue=idle)


@shared_task(ignore_result=True)
def wake_due_clusters() -> None:
    """Each second: clusters that changed and whose wake-up was lost, or whose timer ran out."""
    _wake(
        _DUE + f"AND (c.due_at <= clock_timestamp() OR c.timer_at <= {NOW_SQL})",
    )


@shared_task(ignore_result=True)
def flush_backoff() -> None:
    """Each second: clusters in whose backoffQ a pod's time is over."""
    _wake(
        _DUE + "AND EXISTS (SELECT 1 FROM controlplane_queueentry q WHERE q.cluster_id = c.id "
        f"AND q.queue = 'backoff' AND q.backoff_expiry <= {NOW_SQL})",
    )


@shared_task(ignore_result=True)
def flush_unschedulable() -> None:
    """Each 30 seconds: clusters with a pod that no event has helped for as long as they allow."""
    _wake(
        _DUE + "AND EXISTS (SELECT 1 FROM controlplane_queueentry q WHERE q.cluster_id = c.id "
        "AND q.queue = 'unschedulable' "
        f"AND q.timestamp < {NOW_SQL} "
        "- make_interval(secs => c.pod_max_in_unschedulable_pods_seconds))"
    )


@shared_task(ignore_result=True)
def prepare_days() -> None:
    """Each hour: the partitions that rows of the next days will go to."""
    for name in daily.prepare_all():
        log.info("made %s", name)


@shared_task(ignore_result=True)
def retain() -> None:
    """Every ten minutes: forget what is older, or more, than is to be kept."""
    retention.run()


@shared_task(ignore_result=True)
def run_operation(number: int) -> None:
    """Long work that somebody asked for, if nobody has it yet."""
    running.run(number)


@shared_task(ignore_result=True)
def tend_operations() -> None:
    """Each 5 seconds: long work whose message was lost, or whose worker died."""
    tending.tend()


@shared_task(ignore_result=True)
def beat() -> None:
    """Each 5 seconds: beat sent this and a worker ran it, so both are alive."""
    heartbeat.touch("beat")


@shared_task(ignore_result=True)
def forget_dead_workers() -> None:
    """Each minute: heartbeats and queues of workers that died without a farewell."""
    for name in heartbeat.dead():
        with current_app.connection_for_write() as broker:
            # declared first: a channel deletes only what it knows
            queue = current_app.amqp.queues.new_missing(name)(broker.default_channel)
            queue.declare()
            queue.delete()
        heartbeat.forget(name)
        log.info("forgot the worker %s, of which nothing was heard any more", name)


def _wake(query: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(query)
        found = cursor.fetchall()
    for cluster_id, late in found:
        try:
            wake(cluster_id, expires=_EXPIRES_SECONDS, anywhere=late)
        except Exception:
            # the broker is away or its connection broke; one cluster must not keep the others
            # waiting, and in a second they are all found again
            log.warning("cluster %s could not be woken", cluster_id, exc_info=True)
