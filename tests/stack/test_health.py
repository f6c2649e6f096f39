"""/readyz reports each part of the site; /healthz and /livez only the process."""

from __future__ import annotations

import dataclasses
import socket
import subprocess
import sys
from collections.abc import Iterator
from functools import partial

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from kombu import Connection
from pytest_django import DjangoDbBlocker

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.models import Cluster
from apps.engine.workers import heartbeat, lease
from schedweb import broker, health
from schedweb.celery import app

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module", autouse=True)
def _broker_schema(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """pgmq's schema in the test database, as `prepare` installs it."""
    with django_db_blocker.unblock():
        broker.install()
        yield
        with connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA pgmq CASCADE")


def seen(name: str, seconds_ago: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO controlplane_heartbeat (name, at) "
            "VALUES (%s, clock_timestamp() - make_interval(secs => %s))",
            [name, seconds_ago],
        )


def test_ready_when_all_heartbeats_are_recent(client: Client) -> None:
    # the first request loads all views, and heartbeats grow old
    client.get("/healthz")
    seen("beat", 3)
    seen("loop_a", 1)
    response = client.get("/readyz")
    assert response.content.decode().count("[+]") == 6, response.content.decode()
    assert response.status_code == 200


def test_a_site_without_worker_and_beat_is_not_ready(client: Client) -> None:
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.content.decode().splitlines() == [
        "[+]database ok",
        "[+]broker ok",
        "[-]worker no worker has sent a heartbeat recently",
        "[-]beat beat has never sent a heartbeat",
        "[+]loop ok",
        "[+]disk ok",
    ]


def test_old_heartbeats_do_not_count() -> None:
    seen("beat", 60)
    seen("loop_a", 60)
    found = health.run_checks()
    assert found["worker"] == "no worker has sent a heartbeat recently"
    assert found["beat"] == "the last heartbeat of beat was 60 s ago"


def test_heartbeats_from_before_the_clock_was_set_back_do_not_count() -> None:
    seen("beat", -3600)
    seen("loop_a", -3600)
    found = health.run_checks()
    assert found["worker"] == "no worker has sent a heartbeat recently"
    assert found["beat"] == "beat has sent no heartbeat since the clock was set back"
    heartbeat.touch("beat")
    heartbeat.touch("loop_a")
    assert not any(health.run_checks().values())


BEAT = """
from datetime import timedelta
from schedweb.beat import app
from schedweb.reconnecting import SteadyBroker
from celery.beat import Scheduler

assert type(app.amqp) is SteadyBroker

scheduler = Scheduler(app)
sent = []
scheduler.apply_entry = lambda entry, producer=None: sent.append(entry.name)
before = scheduler.tick()
machine = app.now
app.now = lambda: machine() - timedelta(hours=1)
assert scheduler.tick() <= before <= 1.0, "the next task is sent as if nothing had happened"
app.now = lambda: machine() + timedelta(hours=1)
scheduler.tick()
assert not sent, "and none is sent early"
print("steady")
"""


def test_beat_goes_on_when_the_clock_is_set() -> None:
    run = subprocess.run(
        [sys.executable, "-c", BEAT], capture_output=True, text=True, cwd=settings.BASE_DIR
    )
    assert run.stdout == "steady\n", run.stderr


def test_a_missing_broker_schema_is_noticed() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA pgmq CASCADE")
    assert health.run_checks()["broker"] == "its schema is not installed"


def test_installing_the_broker_twice_does_nothing() -> None:
    assert not broker.install()


def test_a_broker_schema_of_another_version_of_ours_is_replaced() -> None:
    with connection.cursor() as cursor:
        cursor.execute("COMMENT ON SCHEMA pgmq IS 'pgmq for schedweb, version 0.1'")
    assert broker.install()
    assert not broker.install()


def test_another_owners_broker_schema_is_not_changed() -> None:
    with connection.cursor() as cursor:
        cursor.execute("COMMENT ON SCHEMA pgmq IS 'the extension'")
    assert not broker.install()


def test_only_the_queues_of_dead_workers_are_dropped() -> None:
    seen("loop_alive", 1)
    with connection.cursor() as cursor:
        for name in ("loop_alive", "loop_dead", "schedweb"):
            cursor.execute("SELECT pgmq.create(%s)", [name])
        cursor.execute("UPDATE pgmq.meta SET created_at = created_at - interval '1 hour'")
        assert broker.drop_orphaned_queues() == 1
        cursor.execute("SELECT queue_name FROM pgmq.list_queues() ORDER BY 1")
        assert cursor.fetchall() == [("loop_alive",), ("schedweb",)]


@pytest.mark.parametrize("path", ["/healthz", "/livez"])
def test_a_process_that_responds_is_alive(client: Client, path: str) -> None:
    assert client.get(path).status_code == 200
    assert client.post(path).status_code == 405


def due_for(cluster: Cluster, seconds: float) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE cluster_cluster SET due_at = clock_timestamp() - make_interval(secs => %s) "
            "WHERE id = %s",
            [seconds, cluster.pk],
        )


def test_a_cluster_without_a_worker_fails_its_readiness_and_the_sites(
    admin_client: Client,
) -> None:
    waiting = create_cluster("waiting", user="tests")
    create_cluster("quiet", user="tests")
    due_for(waiting, 3)
    assert health.run_checks()["loop"] == ""
    due_for(waiting, 90)
    assert health.run_checks()["loop"] == "1 clusters have waited for a worker, one for 90 s"
    assert admin_client.get("/k8s/quiet/readyz").status_code == 200
    response = admin_client.get("/k8s/waiting/readyz")
    assert response.status_code == 500
    assert response.content.decode().splitlines() == [
        "[+]ping ok",
        "[-]scheduler failed: no worker has taken this cluster for 90 s",
        "readyz check failed",
    ]
    assert admin_client.get("/k8s/waiting/livez").content == b"ok"
    assert admin_client.get("/k8s/waiting/readyz?exclude=scheduler").content == b"ok"


def test_a_cluster_at_work_and_a_paused_one_are_not_waiting() -> None:
    held = create_cluster("held", user="tests")
    paused = create_cluster("paused", user="tests", paused=True)
    for cluster in (held, paused):
        due_for(cluster, 90)
    assert lease.acquire(held.pk) is not None
    assert health.run_checks()["loop"] == ""


def test_a_clusters_probes_name_their_checks(admin_client: Client) -> None:
    create_cluster("lab", user="tests")
    verbose = admin_client.get("/k8s/lab/readyz?verbose").content.decode()
    assert verbose == "[+]ping ok\n[+]scheduler ok\nreadyz check passed\n"
    assert admin_client.get("/k8s/lab/readyz/scheduler").content == b"ok"
    assert admin_client.get("/k8s/lab/livez/scheduler").status_code == 404


def test_a_broker_that_does_not_respond_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"redis://127.0.0.1:{nobody.getsockname()[1]}/0"
        config = dataclasses.replace(settings.CONFIG, broker_url=url)
        monkeypatch.setattr(settings, "CONFIG", config)
        monkeypatch.setattr(app, "connection_for_write", partial(Connection, url))
        assert health.run_checks()["broker"] == "does not respond"
