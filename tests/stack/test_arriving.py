"""Requests that are slow, endless or ambiguous, sent over real connections."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from apps.people.audit import invalid_tokens
from apps.people.models import AuditEntry
from apps.people.tokens import create_token
from schedweb.front import arriving, crowds, listening
from schedweb.front.threads import PIECE, Limits
from tests.stack.running_site import wait_until
from tests.stack.test_front import Running, echo

HEAD = b"POST /login HTTP/1.1\r\nHost: localhost\r\n"

Opener = Callable[..., socket.socket]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path)
    yield running
    running.stop()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch, site: Running) -> Running:
    """A site that waits for half a second where it would wait for 20 s."""
    assert (arriving.HEAD_SECONDS, arriving.BODY_SECONDS) == (20.0, 20.0)
    assert arriving.BODY_RATE == 4096, "docs/operations.md says so"
    monkeypatch.setattr(arriving, "HEAD_SECONDS", 0.5)
    monkeypatch.setattr(arriving, "BODY_SECONDS", 0.5)
    return site


@pytest.fixture
def connect() -> Iterator[Opener]:
    """Opens a connection to a site, and sends something; all are closed at the end."""
    with contextlib.ExitStack() as stack:

        def open_connection(site: Running, sent: bytes = b"") -> socket.socket:
            client = socket.create_connection(("localhost", site.port), timeout=10)
            client.sendall(sent)
            return stack.enter_context(client)

        yield open_connection


def unfinished(address: str = "127.0.0.1") -> bytes:
    """A request whose body never ends."""
    return HEAD + b"X-Forwarded-For: %s\r\nContent-Length: 100\r\n\r\nuser" % address.encode()


def received(client: socket.socket) -> bytes:
    """All that a connection receives until the site closes it."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := client.recv(65536):
            found += piece
    return found


def status(site: Running, path: str, body: bytes | None = None, address: str = "") -> int:
    """The status of a request, from another address if it is given."""
    web = http.client.HTTPConnection("localhost", site.port, timeout=10)
    headers = {"X-Forwarded-For": address} if address else {}
    web.request("GET" if body is None else "POST", path, body, headers)
    found = web.getresponse().status
    web.close()
    return found


def test_unfinished_bodies_keep_nobody_out(tmp_path: Path, connect: Opener) -> None:
    site = Running(tmp_path, limits=Limits(10, 1024 * 1024))
    for number in range(90):
        connect(site, unfinished(f"10.0.0.{number % 3}"))
    for path in ("/healthz", "/readyz", "/"):
        assert status(site, path) == 200
    assert status(site, "/login", b"username=alice") == 200
    site.stop()


def test_an_address_has_so_many_unfinished_bodies_and_no_more(
    site: Running, connect: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(settings.CONFIG, max_requests_inflight=40)
    monkeypatch.setattr(settings, "CONFIG", config)
    held = [connect(site, unfinished("10.0.0.1")) for _ in range(10)]
    refused = connect(site, unfinished("10.0.0.1"))
    assert received(refused).startswith(b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\n")
    other = connect(site, unfinished("10.0.0.2"))
    other.sendall(b"x" * 96)
    assert other.recv(15) == b"HTTP/1.1 200 OK"
    held[0].sendall(b"x" * 96)
    assert held[0].recv(15) == b"HTTP/1.1 200 OK"
    again = connect(site, unfinished("10.0.0.1"))
    again.sendall(b"x" * 96)
    assert again.recv(15) == b"HTTP/1.1 200 OK"


def test_an_address_has_so_many_connections_and_a_few_more_for_health(
    site: Running, connect: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(settings.CONFIG, address_connections=3, trusted_proxies=())
    monkeypatch.setattr(settings, "CONFIG", config)
    asks = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"
    held = [connect(site, asks % b"/") for _ in range(3)]
    assert all(each.recv(15) == b"HTTP/1.1 200 OK" for each in held)
    assert received(connect(site, asks % b"/login")).startswith(b"HTTP/1.1 429 Too Many Requests")
    health = received(connect(site, asks % b"/healthz"))
    assert health.startswith(b"HTTP/1.1 200 OK") and b"connection: close" in health
    idle = [connect(site) for _ in range(crowds.SPARE)]
    assert received(connect(site, asks % b"/healthz")) == b""
    for each in (*held, *idle):
        each.close()
    wait_until(lambda: site.connections() == 0)
    assert status(site, "/") == 200


def test_the_connections_of_a_proxy_are_not_counted(
    site: Running, connect: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "CONFIG", replace(settings.CONFIG, address_connections=1))
    asks = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    held = [connect(site, asks) for _ in range(3)]
    assert all(each.recv(15) == b"HTTP/1.1 200 OK" for each in held)


def test_the_addresses_of_one_network_are_one(
    site: Running, connect: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = replace(settings.CONFIG, max_requests_inflight=4)
    monkeypatch.setattr(settings, "CONFIG", config)
    connect(site, unfinished("2001:db8::1"))
    assert b" 429 " in received(connect(site, unfinished("2001:db8::ffff:2")))
    other = connect(site, unfinished("2001:db8:0:1::1") + b"x" * 96)
    assert other.recv(15) == b"HTTP/1.1 200 OK"


def test_a_body_that_stops_is_cut_off(impatient: Running, connect: Opener) -> None:
    began = time.monotonic()
    client = connect(impatient, unfinished())
    assert received(client).startswith(b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\n")
    assert 0.4 < time.monotonic() - began < 5


def test_a_body_that_trickles_is_cut_off(impatient: Running, connect: Opener) -> None:
    client = connect(impatient, HEAD + b"Content-Length: 100000\r\n\r\n")
    client.settimeout(0.05)
    cut_off = False
    for _ in range(100):
        with contextlib.suppress(TimeoutError):
            client.sendall(b"x")
            cut_off = b" 408 " in client.recv(100)
            break
    assert cut_off


def test_a_slow_body_may_take_long(
    impatient: Running, connect: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arriving, "BODY_RATE", 1000)
    client = connect(impatient, HEAD + b"Content-Length: 6000\r\n\r\n")
    client.settimeout(0.1)
    for _ in range(20):
        with pytest.raises(TimeoutError):
            client.recv(1)
        client.sendall(b"x" * 300)
    client.settimeout(10)
    assert client.recv(15) == b"HTTP/1.1 200 OK"


def test_what_follows_an_answer_is_not_read_for_ever(impatient: Running, connect: Opener) -> None:
    client = connect(impatient, b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")
    assert b" 408 " in received(client)
    health = connect(
        impatient, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"
    )
    assert received(health).startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize("sent", [b"", b"\r\n", b"GET / HT", b"GET / HTTP/1.1\r\nHost: loc"])
def test_a_head_that_never_ends_is_cut_off(
    impatient: Running, connect: Opener, sent: bytes
) -> None:
    assert received(connect(impatient, sent)) == b""
    used = connect(impatient, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert used.recv(65536).startswith(b"HTTP/1.1 200 OK")
    if sent:
        used.sendall(sent)
        received(used)


def test_trailers_that_never_end_are_refused(site: Running, key: str, connect: Opener) -> None:
    client = connect(site, _chunked(key) + b"3\r\nabc\r\n0\r\nX-Long: ")
    with contextlib.suppress(OSError):
        for _ in range(64):
            client.sendall(b"x" * 64 * 1024)
    with contextlib.suppress(OSError):
        assert b" 431 " in client.recv(100)
    assert received(client) == b""


def test_a_response_that_nobody_reads_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert listening.UNREAD_SECONDS == 60, "docs/operations.md says so"
    monkeypatch.setattr(listening, "UNREAD_SECONDS", 1)
    site = Running(tmp_path)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("localhost", site.port))
        client.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until(lambda: site.connections() == 1)
        wait_until(lambda: site.connections() == 0, seconds=20)
        assert len(received(client)) < 2 * PIECE
    site.stop()


class Busy:
    """An application that responds to `/` once it may, and to all else at once."""

    def __init__(self) -> None:
        self.may_end = threading.Event()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        if environ["PATH_INFO"] == "/":
            self.may_end.wait(30)
        return echo(environ, start_response)


def test_one_address_cannot_take_all_places_and_health_needs_none(
    tmp_path: Path, connect: Opener
) -> None:
    busy = Busy()
    site = Running(tmp_path, busy, Limits(8, 1024), threads=7)
    ask = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 10.0.0.%d\r\n\r\n"
    running = [connect(site, ask % 1) for _ in range(6)]
    wait_until(lambda: status(site, "/other", address="10.0.0.1") == 429)
    assert status(site, "/other", address="10.0.0.2") == 200
    running += [connect(site, ask % 2) for _ in range(2)]
    wait_until(lambda: status(site, "/other", address="10.0.0.3") == 429)
    for path in ("/healthz", "/livez", "/readyz"):
        assert status(site, path, address="10.0.0.1") == 200
    busy.may_end.set()
    for client in running:
        assert client.recv(15) == b"HTTP/1.1 200 OK"
    site.stop()


@pytest.fixture
def key(transactional_db: None) -> str:
    return create_token(User.objects.create_superuser("alice"), "test").key


def _chunked(key: str, path: str = "/x") -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        f"Authorization: Bearer {key}\r\nTransfer-Encoding: chunked\r\n\r\n"
    ).encode()


TRAILERS = (
    b"3\r\nabc\r\n0\r\nX-Forwarded-For: 9.9.9.9\r\nAuthorization: Bearer %s\r\nX-A: b\r\n\r\n"
)


def test_trailers_are_no_headers(site: Running, key: str, connect: Opener) -> None:
    client = connect(site, _chunked(key) + TRAILERS % b"other")
    told = json.loads(received(client).partition(b"\r\n\r\n")[2].splitlines()[1])
    assert told["body"] == "abc"
    assert told["HTTP_AUTHORIZATION"] == f"Bearer {key}"
    assert told["REMOTE_ADDR"] == "127.0.0.1"
    assert not {"HTTP_X_FORWARDED_FOR", "HTTP_X_A"} & told.keys()


@pytest.mark.parametrize("path", ["/x", "/k8s/lab/api/v1/nodes"])
def test_trailers_authenticate_nobody_and_do_not_reach_the_audit_log(
    site: Running, key: str, connect: Opener, path: str
) -> None:
    invalid_tokens.counts.clear()
    client = connect(site, _chunked("wrong", path) + TRAILERS % key.encode())
    assert b" 401 " in received(client).splitlines()[0]
    entry = AuditEntry.objects.get(action=AuditEntry.Action.TOKEN_REFUSED)
    assert entry.address == "127.0.0.1"


@pytest.mark.parametrize(
    "lines",
    [
        b"",
        b"Host: localhost\r\nHost: other",
        b"Host : localhost",
        b"Host: localhost\r\nX-A: 1\r\n X-B: 2",
        b"Host: localhost\r\nX-A: 1\rX-B: 2",
        b"Host: localhost\r\nX-A: a\x00b",
        b"Host: localhost\r\nX-\x00A: a",
        b"Host: localhost\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b",
        b"Host: localhost\r\nContent-Type: text/a\r\nContent-Type: text/b",
        b"Host: localhost\r\nContent-Length: 3\r\nContent-Length: 4",
        b"Host: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked",
        b"Host: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 3",
        b"Host: localhost\r\nTransfer-Encoding: gzip, chunked",
        b"Host: localhost\r\nTransfer-Encoding: xchunked",
        b"Host: localhost\r\nContent-Length: +3",
        b"Host: localhost\r\nContent-Length: 99999999999999999999",
        b"Host: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 3",
    ],
)
def test_a_request_with_two_meanings_is_refused(
    site: Running, connect: Opener, lines: bytes
) -> None:
    client = connect(site, b"POST /x HTTP/1.1\r\n" + lines + b"\r\n\r\nabc")
    answer = received(client)
    assert not answer or answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")


@pytest.mark.parametrize("target", [b"http://evil.example", b"evil.example:80", b"/\x00", b"/\xff"])
def test_a_target_that_is_no_path_is_refused(site: Running, connect: Opener, target: bytes) -> None:
    client = connect(site, b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert received(client).startswith(b"HTTP/1.1 400 Bad Request\r\n")


def test_the_host_of_a_target_counts(site: Running, connect: Opener) -> None:
    head = b"GET http://evil.example:80/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    told = json.loads(received(connect(site, head)).partition(b"\r\n\r\n")[2].splitlines()[1])
    assert (told["HTTP_HOST"], told["PATH_INFO"]) == ("evil.example:80", "/x")


def test_names_with_underscores_are_no_headers(site: Running, connect: Opener) -> None:
    lines = b"X_Forwarded_For: 9.9.9.9\r\nX_Forwarded_Proto: https\r\nRemote_Addr: 9.9.9.9\r\n"
    head = b"GET /x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + lines + b"\r\n"
    answer = received(connect(site, head))
    assert b"9.9.9.9" not in answer and b"FORWARDED" not in answer
