"""The Celery application. ``python -m schedweb.worker`` runs it.

Every worker process reads two queues: the common one, and its own. The loop task of a cluster is
sent to the queue of the process that has the cluster's engine in memory.
"""

from __future__ import annotations

import logging
import os
from typing import Any

from celery import Celery
from celery.signals import celeryd_after_setup, worker_ready, worker_shutdown, worker_shutting_down
from kombu.exceptions import OperationalError

from schedweb import alive, gate
from schedweb.reconnecting import SteadyBroker

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "schedweb.settings")

# pgmq would read this variable, which many hosting platforms set, and prefer it.
os.environ.pop("DATABASE_URL", None)

log = logging.getLogger(__name__)

app = Celery("schedweb", amqp=SteadyBroker)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@celeryd_after_setup.connect
def read_own_queue(instance: Any, **signal: Any) -> None:
    from apps.engine.workers.lease import process_name

    gate.wait()
    instance.app.amqp.queues.select_add(process_name())


@worker_ready.connect
def send_heartbeat(sender: Any, **signal: Any) -> None:
    from apps.engine.loop.engines import engines
    from apps.engine.loop.starting import Starter
    from apps.engine.workers.guard import Guard
    from apps.engine.workers.lease import process_name
    from apps.engine.workers.pulse import HeartbeatSender

    sender.starter = Starter(engines)
    sender.starter.start()
    sender.pulse = HeartbeatSender(process_name())
    sender.pulse.start()
    sender.guard = Guard()
    sender.guard.start()
    sender.living = alive.Living()
    sender.living.start()
    # by the thread that also sends tasks again, so that a stuck worker is noticed
    sender.timer.call_repeatedly(alive.INTERVAL_SECONDS, sender.living.note_work)


@worker_shutting_down.connect
def stop_runs(**signal: Any) -> None:
    """Stop the runs after their current batch; their clusters stay due for another worker."""
    from apps.engine.loop.engines import engines

    engines.stop()


@worker_shutdown.connect
def delete_heartbeat(sender: Any, **signal: Any) -> None:
    """Delete the heartbeat, which leads to the removal of the queue; beat sends due tasks again."""
    from apps.engine.loop.engines import engines

    consumer = sender.consumer
    _stop(consumer, "starter")
    engines.close()
    for part in ("pulse", "guard", "living"):
        _stop(consumer, part)


def _stop(consumer: Any, part: str) -> None:
    """Stop a thread of a worker, which may have ended before it was ready."""
    started = getattr(consumer, part, None)
    if started is not None:
        started.stop()


def connect_producer() -> None:
    """Connect to the broker in advance; the first message would otherwise wait 250 ms."""
    try:
        with app.producer_or_acquire() as producer:
            producer.maybe_declare(app.amqp.queues[app.conf.task_default_queue])
    except (OperationalError, *app.connection_for_write().connection_errors) as error:
        log.warning("the broker does not respond yet: %s", error)
