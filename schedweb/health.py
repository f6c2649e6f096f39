"""Is the whole house at work? Answers for people, load balancers and the supervisor."""

from __future__ import annotations

import logging
from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from kombu.exceptions import OperationalError

from apps.controlplane.workers import heartbeat, readiness
from schedweb.celery import app

log = logging.getLogger(__name__)

#: Beat shows its life each 5 s, through a worker.
BEAT_STALE_SECONDS = 15.0


class NotWell(Exception):
    """A part of the house does not work; the text says what is known."""


def check_database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def check_broker() -> None:
    if settings.CONFIG.broker_url:
        with app.connection_for_write() as broker:
            broker.ensure_connection(max_retries=1, timeout=2)
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('pgmq.meta')")
        if cursor.fetchone() == (None,):
            raise NotWell("its schema is not installed")


def check_worker() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM controlplane_heartbeat WHERE name LIKE 'loop\\_%%' "
            "AND at > clock_timestamp() - make_interval(secs => %s) LIMIT 1",
            [heartbeat.STALE_SECONDS],
        )
        if cursor.fetchone() is None:
            raise NotWell("no worker has shown life lately")


def check_beat() -> None:
    age = heartbeat.age("beat")
    if age is None:
        raise NotWell("beat has never been seen")
    if age > BEAT_STALE_SECONDS:
        raise NotWell(f"beat was last seen {age:.0f} s ago")


def check_loop() -> None:
    """Signs of life are not enough: clusters with work have to be taken."""
    late = readiness.overdue()
    if late:
        seconds = late[0][1]
        raise NotWell(f"{len(late)} clusters have had work and no worker, one for {seconds:.0f} s")


CHECKS: dict[str, Callable[[], None]] = {
    "database": check_database,
    "broker": check_broker,
    "worker": check_worker,
    "beat": check_beat,
    "loop": check_loop,
}


def checks() -> dict[str, str]:
    """Every part's state: "" when it works, else what is wrong with it."""
    return {name: _run(check) for name, check in CHECKS.items()}


@login_not_required
@require_safe
def alive(request: HttpRequest) -> HttpResponse:
    """200 as long as this process answers."""
    return HttpResponse("ok", content_type="text/plain")


@login_not_required
@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """200 when database, broker, worker, beat and loop all work, else 503; one line for each."""
    found = checks()
    lines = [f"[-]{name} {fault}" if fault else f"[+]{name} ok" for name, fault in found.items()]
    status = 503 if any(found.values()) else 200
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain", status=status)


def _run(check: Callable[[], None]) -> str:
    try:
        check()
    except NotWell as fault:
        return str(fault)
    except (
        DatabaseError,
        OperationalError,
        *app.connection_for_write().connection_errors,
    ) as error:
        log.warning("not ready: %s", error)
        # What strangers may read tells nothing of addresses.
        return "does not answer"
    return ""
