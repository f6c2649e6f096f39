"""Health checks of the site, for people, load balancers and the supervisor."""

from __future__ import annotations

import logging
from collections.abc import Callable

import psycopg
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from kombu.exceptions import OperationalError

from apps.cluster import storage
from apps.engine.workers import heartbeat, readiness
from schedweb.celery import app

log = logging.getLogger(__name__)

#: The least that libpq waits for.
CONNECT_SECONDS = 2
#: Beat sends a heartbeat every 5 s, through a worker.
BEAT_STALE_SECONDS = 15.0
#: A heartbeat further in the future was sent before the clock was set back.
_CLOCK_STEP_SECONDS = 1.0


class CheckFailed(Exception):
    """A part of the site does not work; the message describes the problem."""


def check_database() -> None:
    """With a new connection: a database that is shutting down keeps the ones that are open."""
    parameters = connection.get_connection_params() | {"connect_timeout": CONNECT_SECONDS}
    with connection.wrap_database_errors, psycopg.connect(**parameters) as database:
        database.execute("SELECT 1")


def check_broker() -> None:
    if settings.CONFIG.broker_url:
        with app.connection_for_write() as broker:
            broker.ensure_connection(max_retries=1, timeout=2)
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('pgmq.meta')")
        if cursor.fetchone() == (None,):
            raise CheckFailed("its schema is not installed")


def check_worker() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM controlplane_heartbeat WHERE name LIKE 'loop\\_%' "
            f"AND at {heartbeat.RECENT} LIMIT 1"
        )
        if cursor.fetchone() is None:
            raise CheckFailed("no worker has sent a heartbeat recently")


def check_beat() -> None:
    age = heartbeat.age("beat")
    if age is None:
        raise CheckFailed("beat has never sent a heartbeat")
    if age > BEAT_STALE_SECONDS:
        raise CheckFailed(f"the last heartbeat of beat was {age:.0f} s ago")
    if age < -_CLOCK_STEP_SECONDS:
        raise CheckFailed("beat has sent no heartbeat since the clock was set back")


def check_loop() -> None:
    """Heartbeats are not enough: a worker must process the clusters that have work."""
    late = readiness.overdue_clusters()
    if late:
        seconds = late[0][1]
        raise CheckFailed(f"{len(late)} clusters have waited for a worker, one for {seconds:.0f} s")


def check_disk() -> None:
    """The disk of the embedded database has room for changes."""
    if shortage := storage.shortage():
        raise CheckFailed(shortage)


CHECKS: dict[str, Callable[[], None]] = {
    "database": check_database,
    "broker": check_broker,
    "worker": check_worker,
    "beat": check_beat,
    "loop": check_loop,
    "disk": check_disk,
}


def run_checks() -> dict[str, str]:
    """The result of each check: "" if it passes, otherwise the problem.

    Without the database the parts that need it count as not working, instead of waiting for it.
    """
    apart = {"disk", "broker"} if settings.CONFIG.broker_url else {"disk"}
    faults: dict[str, str] = {}
    for name, check in CHECKS.items():
        lost = "" if name in apart else faults.get("database", "")
        faults[name] = lost or _run(check)
    return faults


@login_not_required
@require_safe
def alive(request: HttpRequest) -> HttpResponse:
    """200 and the version, as long as this process responds."""
    return HttpResponse(f"ok\nschedweb {settings.VERSION}\n", content_type="text/plain")


@login_not_required
@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """200 if database, broker, worker, beat and loop all work, otherwise 503; one line for each."""
    faults = run_checks()
    lines = [f"[-]{name} {fault}" if fault else f"[+]{name} ok" for name, fault in faults.items()]
    status = 503 if any(faults.values()) else 200
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain", status=status)


def _run(check: Callable[[], None]) -> str:
    try:
        check()
    except CheckFailed as fault:
        return str(fault)
    except (
        DatabaseError,
        OperationalError,
        *app.connection_for_write().connection_errors,
    ) as error:
        log.warning("not ready: %s", error)
        # The response is public, so it must not contain addresses.
        return "does not respond"
    return ""
