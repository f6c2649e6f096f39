"""The web front: requests in threads and streams on the loop, over http and https."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import http.client
import json
import re
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.context import current_request_id
from apps.cluster.log.listen import listener
from apps.cluster.roles import Role
from apps.people import members
from apps.people.models import AccessToken
from apps.people.tokens import create_token
from schedweb import tls
from schedweb.front import credentials
from schedweb.front.bodies import LARGEST_BODY, LARGEST_OBJECT
from schedweb.front.listening import listen
from schedweb.front.server import Site
from schedweb.front.streams import Front, StreamRoute
from schedweb.front.threads import NO_LIMITS, PIECE, Limits, WsgiInThreads
from schedweb.front.trust import STRANGERS_BYTES
from tests.stack.running_site import wait_until


def echo(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """A WSGI application that returns its request."""
    told = {name: value for name, value in environ.items() if isinstance(value, str)}
    told["body"] = environ["wsgi.input"].read().decode()
    start_response("200 OK", [("Content-Type", "application/json"), ("Set-Cookie", "a=1")])
    if environ["PATH_INFO"] == "/large":
        return [b"x" * PIECE, b"y" * PIECE, b"z"]
    return [json.dumps(told).encode()]


async def counting(scope: Any, receive: Any, send: Any, match: re.Match[str], user: User) -> None:
    """A stream that sends a greeting and then waits for the end of the client or the server."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    hello = f"{user.username} {match['name']} {current_request_id()}\n".encode()
    await send({"type": "http.response.body", "body": hello, "more_body": True})
    await asyncio.Event().wait()


STREAMS = (
    StreamRoute(r"/streams/(?P<name>\w+)", f"{__name__}.counting", flag="watch"),
    StreamRoute(r"/failing/(?P<when>\w+)", f"{__name__}.failing"),
    StreamRoute(r"/clusters/(?P<cluster>[^/]+)/live", "apps.dashboard.streams.live"),
)


class Running:
    """A site in a thread of its own."""

    def __init__(
        self, folder: Path, application: Any = echo, limits: Limits = NO_LIMITS, threads: int = 2
    ) -> None:
        sockets = [listen("127.0.0.1", 0), listen("127.0.0.1", 0)]
        self.port, self.tls_port = (listener.getsockname()[1] for listener in sockets)
        self._threads = WsgiInThreads(application, threads=threads, limits=limits)
        self.front = Front(self._threads, STREAMS)
        self._site = Site(
            self.front,
            plain=sockets[0],
            secure=sockets[1],
            data=folder,
            names=tls.server_names(),
        )
        self.certificates = tls.files(folder)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self._loop.run_until_complete(self._site.run())
        self._loop.close()

    def connections(self) -> int:
        """The number of connections to the http port."""
        return len(self._site._ports[0][0].server_state.connections)

    def subscribe(self, cluster_id: int) -> None:
        """Begin to listen for changes, as a stream of a page or a watch does."""
        began = threading.Event()

        async def stream() -> None:
            async with listener().subscribe(cluster_id) as subscription:
                began.set()
                await subscription.wait(60)

        asyncio.run_coroutine_threadsafe(stream(), self._loop)
        assert began.wait(20)

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._site.end)
            self._thread.join(10)
        assert not self._thread.is_alive()
        self._threads.close()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Running]:
    running = Running(tmp_path)
    yield running
    running.stop()


@pytest.fixture
def web(site: Running) -> Iterator[http.client.HTTPConnection]:
    connection = http.client.HTTPConnection("localhost", site.port, timeout=10)
    yield connection
    connection.close()


@pytest.fixture
def key(transactional_db: None) -> str:
    return create_token(User.objects.create_superuser("alice"), "test").key


def test_a_request_reaches_the_application_whole(web: http.client.HTTPConnection) -> None:
    headers = {"Content-Type": "text/x", "X-Test": "1", "Cookie": "a=1"}
    web.request("POST", "/caf%C3%A9/a%2Fb?q=%20", body="some text", headers=headers)
    response = web.getresponse()
    told = json.load(response)
    assert response.headers["Set-Cookie"] == "a=1"
    assert told["PATH_INFO"].encode("latin-1").decode() == "/café/a/b"
    assert told["QUERY_STRING"] == "q=%20"
    assert (told["REQUEST_METHOD"], told["body"]) == ("POST", "some text")
    assert (told["CONTENT_TYPE"], told["HTTP_X_TEST"], told["HTTP_COOKIE"]) == (
        "text/x",
        "1",
        "a=1",
    )
    assert told["wsgi.url_scheme"] == "http"


def test_a_header_cannot_spoof_another_one(web: http.client.HTTPConnection) -> None:
    web.request("GET", "/", headers={"X_Forwarded_Proto": "https"})
    assert "HTTP_X_FORWARDED_PROTO" not in json.load(web.getresponse())


def test_a_small_response_is_not_delayed(web: http.client.HTTPConnection) -> None:
    """In two packets without TCP_NODELAY, the second waits 40 ms for the client's receipt."""
    took = []
    for _ in range(20):
        asked = time.perf_counter()
        web.request("GET", "/")
        web.getresponse().read()
        took.append(time.perf_counter() - asked)
    # the first few responses on a connection are acknowledged at once
    assert min(took[10:]) < 0.03


def test_a_large_response_arrives_whole(web: http.client.HTTPConnection) -> None:
    web.request("GET", "/large")
    assert web.getresponse().read() == b"x" * PIECE + b"y" * PIECE + b"z"


def test_a_large_body_is_read_only_after_its_user_is_known(
    web: http.client.HTTPConnection, transactional_db: None
) -> None:
    web.putrequest("POST", "/")
    web.putheader("Content-Length", str(STRANGERS_BYTES + 1))
    web.endheaders()
    # nothing of the body is sent
    assert web.getresponse().status == http.HTTPStatus.UNAUTHORIZED


def test_headers_that_never_end_are_refused(site: Running) -> None:
    with socket.create_connection(("localhost", site.port), timeout=10) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
        with contextlib.suppress(OSError):
            for _ in range(64):
                client.sendall(b"x" * 64 * 1024)
        with contextlib.suppress(OSError):
            answer = client.recv(100)
            assert not answer or b" 431 " in answer


def test_https_only_covers_streams_and_believes_only_trusted_proxies(
    web: http.client.HTTPConnection, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "SECURE_SSL_REDIRECT", True)
    authorization = {"Authorization": f"Bearer {key}"}
    forwarded = {**authorization, "X-Forwarded-Proto": "https"}

    def status(headers: dict[str, str]) -> int:
        connection = http.client.HTTPConnection("localhost", web.port, timeout=10)
        connection.request("GET", "/streams/news?watch=true", headers=headers)
        found = connection.getresponse().status
        connection.close()
        return found

    assert status(authorization) == http.HTTPStatus.FORBIDDEN
    assert status(forwarded) == http.HTTPStatus.OK
    monkeypatch.setattr(settings, "CONFIG", replace(settings.CONFIG, trusted_proxies=()))
    assert status(forwarded) == http.HTTPStatus.FORBIDDEN


def test_a_body_that_is_too_large_is_refused(web: http.client.HTTPConnection, key: str) -> None:
    web.putrequest("POST", "/")
    web.putheader("Authorization", f"Bearer {key}")
    web.putheader("Content-Length", str(LARGEST_BODY + 1))
    web.endheaders()
    piece = b"x" * 1024 * 1024
    for _ in range(LARGEST_BODY // len(piece)):
        web.send(piece)
    web.send(b"x")
    assert web.getresponse().status == http.HTTPStatus.REQUEST_ENTITY_TOO_LARGE


def test_an_object_that_is_too_large_is_refused_like_by_kube_apiserver(
    web: http.client.HTTPConnection, key: str
) -> None:
    body, headers = b"x" * (LARGEST_OBJECT + 1), {"Authorization": f"Bearer {key}"}
    web.request("PUT", "/k8s/c1/api/v1/nodes/n", body=body, headers=headers)
    response = web.getresponse()
    assert response.status == http.HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    assert json.load(response)["reason"] == "RequestEntityTooLarge"


@pytest.mark.parametrize(
    ("limits", "length"), [(Limits(0, 1000), 0), (Limits(10, 1000), 1001), (Limits(10, 0), 1)]
)
def test_requests_beyond_the_limits_are_to_be_sent_again(limits: Limits, length: int) -> None:
    sent = asyncio.run(_post(WsgiInThreads(echo, threads=1, limits=limits), b"x" * length))
    assert sent[0]["status"] == http.HTTPStatus.TOO_MANY_REQUESTS
    assert (b"retry-after", b"1") in sent[0]["headers"]


def test_requests_within_the_limits_are_answered_one_after_the_other() -> None:
    threads = WsgiInThreads(echo, threads=1, limits=Limits(1, 3))
    for _ in range(2):
        assert asyncio.run(_post(threads, b"abc"))[0]["status"] == http.HTTPStatus.OK
    threads.close()


async def _post(application: WsgiInThreads, body: bytes) -> list[Any]:
    """The messages of the response."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "method": "POST",
        "path": "/x",
        "raw_path": b"/x",
        "query_string": b"",
        "http_version": "1.1",
        "scheme": "http",
        "headers": [(b"content-length", str(len(body)).encode())],
    }
    await application(scope, receive, send)
    return sent


def test_clients_that_trust_the_authority_trust_https(site: Running) -> None:
    context = ssl.create_default_context(cafile=site.certificates.authority)
    for name in ("localhost", "127.0.0.1"):
        web = http.client.HTTPSConnection(name, site.tls_port, context=context, timeout=10)
        web.request("GET", "/")
        assert json.load(web.getresponse())["wsgi.url_scheme"] == "https"
        web.close()


def test_a_stream_knows_its_user_and_its_request(web: http.client.HTTPConnection, key: str) -> None:
    headers = {"Authorization": f"Bearer {key}", "X-Request-ID": "mine"}
    web.request("GET", "/streams/news?watch=true", headers=headers)
    response = web.getresponse()
    assert response.headers["X-Request-ID"] == "mine"
    assert response.readline() == b"alice news mine\n"


def test_a_certificate_is_renewed_while_it_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls, "SERVER_DAYS", tls.RENEW_DAYS - 1)
    monkeypatch.setattr(tls, "LOOK_SECONDS", 0.2)
    site = Running(tmp_path)
    expiring = _served_certificate(site)
    monkeypatch.setattr(tls, "SERVER_DAYS", 365)
    wait_until(lambda: _served_certificate(site) != expiring)
    assert ssl.PEM_cert_to_DER_cert(site.certificates.server.read_text()) == (
        _served_certificate(site)
    )
    site.stop()


def _served_certificate(site: Running) -> bytes:
    context = ssl.create_default_context(cafile=site.certificates.authority)
    with (
        socket.create_connection(("localhost", site.tls_port), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as client,
    ):
        return client.getpeercert(binary_form=True) or b""


def test_a_front_that_ends_leaves_no_connection_to_the_database(site: Running, key: str) -> None:
    cluster = create_cluster("c1", user="alice")
    before = _database_connections()
    web = http.client.HTTPConnection("localhost", site.port, timeout=20)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    body = json.dumps({"metadata": {"name": "m"}})
    web.request("POST", "/k8s/c1/api/v1/namespaces/default/configmaps", body, headers)
    assert web.getresponse().status == http.HTTPStatus.CREATED
    web.close()
    site.subscribe(cluster.pk)
    assert _database_connections() - before
    site.stop()
    wait_until(lambda: not _database_connections() - before)


def _database_connections() -> set[int]:
    """The process ids of all connections; those of earlier tests may still be ending."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
        return {pid for (pid,) in cursor.fetchall()}


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer unknown"}])
def test_a_stream_refuses_anonymous_requests(
    web: http.client.HTTPConnection, headers: dict[str, str], transactional_db: None
) -> None:
    web.request("GET", "/streams/news?watch=1", headers=headers)
    response = web.getresponse()
    assert response.status == http.HTTPStatus.UNAUTHORIZED
    assert json.load(response)["reason"] == "Unauthorized"


def test_a_stream_refuses_a_host_that_is_not_ours(
    web: http.client.HTTPConnection, key: str
) -> None:
    headers = {"Authorization": f"Bearer {key}", "Host": "evil.example"}
    web.request("GET", "/streams/news?watch=1", headers=headers)
    assert web.getresponse().status == http.HTTPStatus.BAD_REQUEST


def test_without_its_flag_a_stream_is_an_ordinary_request(web: http.client.HTTPConnection) -> None:
    web.request("GET", "/streams/news?watch=false")
    assert json.load(web.getresponse())["PATH_INFO"] == "/streams/news"


def test_streams_end_properly_when_the_server_does(
    site: Running, web: http.client.HTTPConnection, key: str
) -> None:
    web.request("GET", "/streams/a?watch=1", headers={"Authorization": f"Bearer {key}"})
    response = web.getresponse()
    assert response.readline()
    site.stop()
    assert response.read() == b""


def test_streams_end_when_their_token_session_or_user_is_no_longer_valid(
    site: Running, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "CHECK_SECONDS", 0.1)
    bob = create_token(User.objects.create_superuser("bob"), "test").key
    browser = Client()
    browser.force_login(User.objects.get(username="alice"))
    cookie = f"{settings.SESSION_COOKIE_NAME}={browser.session.session_key}"
    with contextlib.ExitStack() as stack:
        streams = [
            stack.enter_context(open_stream(site, headers))
            for headers in (
                {"Authorization": f"Bearer {key}"},
                {"Cookie": cookie},
                {"Authorization": f"Bearer {bob}"},
            )
        ]
        by_token, by_session, of_bob = streams
        browser.logout()
        assert by_session.read() == b""
        assert not has_data(by_token) and not has_data(of_bob)
        AccessToken.objects.filter(user__username="alice").delete()
        assert by_token.read() == b""
        assert not has_data(of_bob)
        User.objects.filter(username="bob").update(is_active=False)
        assert of_bob.read() == b""
    web = http.client.HTTPConnection("localhost", site.port, timeout=10)
    web.request("GET", "/streams/a?watch=1", headers={"Authorization": f"Bearer {bob}"})
    assert web.getresponse().status == http.HTTPStatus.UNAUTHORIZED
    web.close()


def test_streams_end_with_the_role_and_are_limited(
    site: Running, key: str, web: http.client.HTTPConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(credentials, "CHECK_SECONDS", 0.1)
    lab = create_cluster("lab", user="command line")
    eve = create_token(User.objects.create_user("eve"), "test").key
    member = members.add_member(lab, user="eve", role=Role.VIEWER, actor="alice")
    headers = {"Authorization": f"Bearer {eve}"}
    with open_stream(site, headers, "/clusters/lab/live") as stream:
        stream.readline()
        assert not has_data(stream)
        monkeypatch.setattr(site.front._counts, "_most_of_user", 1)
        web.request("GET", "/clusters/lab/live", headers=headers)
        more = web.getresponse()
        assert (more.status, more.headers["Retry-After"]) == (429, "10")
        assert json.loads(more.read())["reason"] == "TooManyRequests"
        members.remove_member(lab, member.pk, actor="alice")
        assert stream.read() == b""
    web.request("GET", "/clusters/lab/live", headers=headers)
    refused = web.getresponse()
    assert refused.status == http.HTTPStatus.NOT_FOUND
    assert json.loads(refused.read())["message"] == 'clusters "lab" not found'


@contextlib.contextmanager
def open_stream(
    site: Running, headers: dict[str, str], path: str = "/streams/a?watch=1"
) -> Iterator[http.client.HTTPResponse]:
    """A stream whose greeting has been read."""
    web = http.client.HTTPConnection("localhost", site.port, timeout=10)
    web.request("GET", path, headers=headers)
    response = web.getresponse()
    assert response.readline()
    yield response
    web.close()


def has_data(response: http.client.HTTPResponse) -> bool:
    """Whether something was sent, or the stream has ended, within some checks."""
    assert response.fp is not None
    return bool(select.select([response.fp.fileno()], [], [], 0.3)[0])


async def failing(scope: Any, receive: Any, send: Any, match: re.Match[str], user: User) -> None:
    """A stream that loses the database: at once, or after its greeting."""
    if match["when"] == "later":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"hello\n", "more_body": True})
    raise OperationalError("the connection is lost")


def test_a_stream_that_cannot_start_without_the_database_returns_retry_after(
    site: Running, web: http.client.HTTPConnection, key: str
) -> None:
    web.request("GET", "/failing/now", headers={"Authorization": f"Bearer {key}"})
    response = web.getresponse()
    assert (response.status, response.headers["Retry-After"]) == (503, "1")
    assert json.load(response)["reason"] == "ServiceUnavailable"


def test_a_stream_that_loses_the_database_ends_properly(
    site: Running, web: http.client.HTTPConnection, key: str
) -> None:
    web.request("GET", "/failing/later", headers={"Authorization": f"Bearer {key}"})
    # an incomplete response would raise here
    assert web.getresponse().read() == b"hello\n"


def open_websocket(site: Running, path: str, key: str = "", **options: Any) -> ClientConnection:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    address = f"ws://127.0.0.1:{site.port}{path}"
    return connect(address, additional_headers=headers, proxy=None, **options)


@pytest.mark.django_db(transaction=True)
def test_a_stream_over_websocket_has_a_frame_for_each_line(site: Running, key: str) -> None:
    with open_websocket(site, "/streams/pods?watch=1", key) as client:
        text = str(client.recv(10))
        assert text.startswith("alice pods ") and text.endswith("\n")
        assert client.response is not None
        assert text.split()[2] == client.response.headers["X-Request-Id"]
    # browsers cannot set headers
    encoded = base64.urlsafe_b64encode(key.encode()).decode().rstrip("=")
    subprotocols = [f"base64url.bearer.authorization.k8s.io.{encoded}", "base64.binary.k8s.io"]
    with open_websocket(site, "/streams/pods?watch=1", subprotocols=subprotocols) as client:
        assert client.subprotocol == "base64.binary.k8s.io"
        assert str(client.recv(10)).startswith("alice pods ")


@pytest.mark.django_db(transaction=True)
def test_a_websocket_that_is_refused_gets_the_response_as_over_http(
    site: Running, key: str
) -> None:
    for wrong in ("", "wrong"):
        with pytest.raises(InvalidStatus) as refused:
            open_websocket(site, "/streams/pods?watch=1", wrong)
        assert refused.value.response.status_code == 401
        assert json.loads(refused.value.response.body or b"")["reason"] == "Unauthorized"


@pytest.mark.django_db(transaction=True)
def test_a_page_of_another_site_cannot_watch_with_the_cookie(site: Running, key: str) -> None:
    client = Client()
    client.force_login(User.objects.get())
    cookie = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={client.session.session_key}"}
    address = f"ws://127.0.0.1:{site.port}/streams/pods?watch=1"
    own = f"http://127.0.0.1:{site.port}"
    with connect(address, additional_headers=cookie, origin=Origin(own), proxy=None) as watching:
        assert str(watching.recv(10)).startswith("alice pods ")
    with pytest.raises(InvalidStatus):
        connect(
            address, additional_headers=cookie, origin=Origin("https://example.org"), proxy=None
        )
