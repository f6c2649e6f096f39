"""The Celery application. ``python -m schedweb.worker`` runs it.

Every worker process reads two queues: the common one, and one of its own. A cluster's loop is
sent to the queue of the process that has the cluster's engine warm.
"""

from __future__ import annotations

import logging
import os
from typing import Any

from celery import Celery
from celery.signals import celeryd_after_setup, worker_ready, worker_shutdown, worker_shutting_down
from kombu.exceptions import OperationalError

from schedweb import gate

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "schedweb.settings")

# pgmq reads this variable of many hosting platforms behind our back, and it would win.
os.environ.pop("DATABASE_URL", None)

log = logging.getLogger(__name__)

app = Celery("schedweb")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


@celeryd_after_setup.connect
def read_own_queue(instance: Any, **signal: Any) -> None:
    from apps.controlplane.workers.lease import PROCESS

    gate.wait()
    instance.app.amqp.queues.select_add(PROCESS)


@worker_ready.connect
def show_life(sender: Any, **signal: Any) -> None:
    from apps.controlplane.workers.heartbeat import Pulse
    from apps.controlplane.workers.lease import PROCESS

    sender.pulse = Pulse(PROCESS)
    sender.pulse.start()


@worker_shutting_down.connect
def end_runs(**signal: Any) -> None:
    """Let a run end after its current batch; the cluster stays due, for another worker."""
    from apps.controlplane.loop.engines import engines

    engines.stop()


@worker_shutdown.connect
def leave_nothing(sender: Any, **signal: Any) -> None:
    """Take back the heartbeat; the queue follows, and what it still holds, beat finds due."""
    from apps.controlplane.loop.engines import engines

    engines.close()
    pulse = getattr(sender.consumer, "pulse", None)
    if pulse is not None:
        pulse.stop()


def connect_producer() -> None:
    """Connect to the broker ahead of the first message, which would wait a quarter second."""
    try:
        with app.producer_or_acquire() as producer:
            producer.maybe_declare(app.amqp.queues[app.conf.task_default_queue])
    except (OperationalError, *app.connection_for_write().connection_errors) as error:
        log.warning("the broker does not answer yet: %s", error)
