"""/readyz tells the truth about each part; /healthz and /livez only about the process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client
from pytest_django import DjangoDbBlocker

from schedweb import broker, health

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


def test_ready_when_everything_has_been_seen_lately(client: Client) -> None:
    seen("beat", 3)
    seen("loop_a", 1)
    response = client.get("/readyz")
    assert response.status_code == 200
    assert response.content.decode().count("[+]") == 4


def test_a_house_without_worker_and_beat_is_not_ready(client: Client) -> None:
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.content.decode().splitlines() == [
        "[+]database ok",
        "[+]broker ok",
        "[-]worker no worker has shown life lately",
        "[-]beat beat has never been seen",
    ]


def test_old_signs_of_life_do_not_count() -> None:
    seen("beat", 60)
    seen("loop_a", 60)
    found = health.checks()
    assert found["worker"] == "no worker has shown life lately"
    assert found["beat"] == "beat was last seen 60 s ago"


def test_a_missing_broker_schema_is_noticed() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA pgmq CASCADE")
    assert health.checks()["broker"] == "its schema is not installed"


def test_installing_the_broker_twice_does_nothing() -> None:
    assert not broker.install()


def test_a_broker_schema_of_another_version_of_ours_is_replaced() -> None:
    with connection.cursor() as cursor:
        cursor.execute("COMMENT ON SCHEMA pgmq IS 'pgmq for schedweb, version 0.1'")
    assert broker.install()
    assert not broker.install()


def test_a_broker_schema_of_somebody_else_is_left_alone() -> None:
    with connection.cursor() as cursor:
        cursor.execute("COMMENT ON SCHEMA pgmq IS 'the extension'")
    assert not broker.install()


def test_queues_of_dead_workers_are_swept_and_others_kept() -> None:
    seen("loop_alive", 1)
    with connection.cursor() as cursor:
        for name in ("loop_alive", "loop_dead", "schedweb"):
            cursor.execute("SELECT pgmq.create(%s)", [name])
        cursor.execute("UPDATE pgmq.meta SET created_at = created_at - interval '1 hour'")
        assert broker.sweep() == 1
        cursor.execute("SELECT queue_name FROM pgmq.list_queues() ORDER BY 1")
        assert cursor.fetchall() == [("loop_alive",), ("schedweb",)]


@pytest.mark.parametrize("path", ["/healthz", "/livez"])
def test_a_process_that_answers_is_alive(client: Client, path: str) -> None:
    assert client.get(path).status_code == 200
    assert client.post(path).status_code == 405
