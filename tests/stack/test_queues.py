"""The queues of the default broker: created once, with listeners only for readers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from kombu import Connection, Consumer, Producer, Queue
from kombu.exceptions import OperationalError
from psycopg.conninfo import make_conninfo
from pytest_django import DjangoDbBlocker

from schedweb import broker, pgmq
from schedweb.celery import app
from schedweb.front.listening import listen

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def database_url(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    """The test database, with pgmq's schema as `prepare` installs it."""
    with django_db_blocker.unblock():
        broker.install()
        at = connection.settings_dict
        yield make_conninfo(host=at["HOST"], user=at["USER"], dbname=at["NAME"], port="5432")
        with connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA pgmq CASCADE")


#: How many connections wait for notifications of queues.
LISTENING = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN \"pgmq%'"


def connected(database_url: str) -> Connection:
    return Connection(
        "pgmq://localhost",
        transport=pgmq.TRANSPORT,
        transport_options={"visibility_timeout": 60, **pgmq.transport_options(database_url)},
    )


def send(database_url: str, queue: str, text: str) -> None:
    with connected(database_url) as to_broker, to_broker.channel() as channel:
        Producer(channel).publish(text, routing_key=queue, declare=[Queue(queue)])


def received(to_broker: Connection, seconds: float) -> None:
    """Run the consumer until a message arrives; fails the test after `seconds`."""
    try:
        to_broker.drain_events(timeout=seconds)
    except TimeoutError:
        pytest.fail("no message came")


def run(database_url: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(database_url, autocommit=True) as direct:
        return direct.execute(statement).fetchall()


# kombu silences this warning of pgmq's for the moment, which threads undo for each other
@pytest.mark.filterwarnings(r"ignore:list_queues\(\) now returns:UserWarning")
def test_processes_that_start_together_create_a_queue_without_a_deadlock(database_url: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        for round_of in range(3):
            queue = f"together_{round_of}"
            list(pool.map(lambda n, queue=queue: send(database_url, queue, str(n)), range(8)))
            [(count,)] = run(database_url, f"SELECT count(*) FROM pgmq.q_{queue}")
            assert count == 8


def test_connections_have_all_parameters_of_the_database_url(database_url: str) -> None:
    """Such as `sslmode=verify-full` and `target_session_attrs=read-write`."""
    address = make_conninfo(database_url, application_name="of-the-url")
    named = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'of-the-url'"
    with connected(address) as to_broker, Consumer(to_broker, [Queue("named")], no_ack=True):
        with pytest.raises(socket.timeout):
            to_broker.drain_events(timeout=0.1)
        pools = run(database_url, f"{named} AND query NOT LIKE 'LISTEN%'")
        listening = run(database_url, f"{named} AND query LIKE 'LISTEN%'")
    assert pools > [(0,)] and listening == [(1,)]
    assert run(database_url, named) == [(0,)], "a connection stays open"


def test_a_broker_that_is_back_is_noticed_at_once() -> None:
    """However long it was away."""
    waits: list[float] = []
    nowhere = {"visibility_timeout": 60, **pgmq.transport_options("host=/nowhere")}
    nowhere["pool_timeout"] = 0.05

    def send() -> None:
        raise psycopg.OperationalError("lost")

    def note(error: Exception, wait: float) -> None:
        waits.append(wait)

    away = app.amqp.Connection(
        "pgmq://localhost", transport=pgmq.TRANSPORT, transport_options=nowhere
    )
    with away, pytest.raises(OperationalError):
        away.ensure_connection(note, max_retries=3)
    # as a message that is sent
    with away, pytest.raises(OperationalError):
        away.ensure(away, send, note, max_retries=1, interval_start=0.1)()
    assert max(waits) <= 1.0


def test_a_sender_does_not_listen(database_url: str) -> None:
    with connected(database_url) as to_broker, to_broker.channel() as channel:
        Producer(channel).publish("x", routing_key="sent", declare=[Queue("sent")])
        assert run(database_url, LISTENING) == [(0,)]


def test_a_reader_whose_queue_was_dropped_creates_it_again(database_url: str) -> None:
    heard: list[str] = []
    with connected(database_url) as to_broker:
        consumer = Consumer(to_broker, [Queue("dropped")], no_ack=True)
        consumer.register_callback(lambda body, message: heard.append(body))
        with consumer:
            run(database_url, "SELECT pgmq.drop_queue('dropped')")
            with pytest.raises(socket.timeout):
                to_broker.drain_events(timeout=0.1)
            send(database_url, "dropped", "again")
            received(to_broker, 10)
    assert heard == ["again"]


def test_a_reader_is_notified_of_a_message_at_once(database_url: str) -> None:
    """Not only at the next poll of the table, a second later."""
    heard: list[str] = []
    with connected(database_url) as to_broker, ThreadPoolExecutor(1) as pool:
        consumer = Consumer(to_broker, [Queue("quick")], no_ack=True)
        consumer.register_callback(lambda body, message: heard.append(body))
        with consumer:
            while run(database_url, LISTENING) == [(0,)]:
                with pytest.raises(socket.timeout):
                    to_broker.drain_events(timeout=0.1)
            to_broker.transport.polling_interval = 60
            sending = pool.submit(send, database_url, "quick", "now")
            received(to_broker, 20)
            sending.result()
    assert heard == ["now"]


def test_a_stalled_valkey_counts_as_unavailable() -> None:
    """Its port still accepts connections; no client may wait for a response forever."""
    with listen("127.0.0.1", 0) as standing_still:
        url = f"redis://127.0.0.1:{standing_still.getsockname()[1]}/0"
        options = settings.VALKEY_OPTIONS | {"socket_timeout": 0.2}
        with Connection(url, transport_options=options) as there, pytest.raises(OperationalError):
            there.ensure_connection(max_retries=1, timeout=2)
