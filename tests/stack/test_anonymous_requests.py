"""Every URL and every stream rejects anonymous requests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import get_resolver, resolve

from schedweb.front.streams import STREAMS, Front

pytestmark = pytest.mark.django_db

#: Public URLs; static files are not served by Django's URL patterns.
OPEN = {
    *("/healthz", "/livez", "/readyz"),
    # ways to log in
    *("/login", "/login/openid", "/login/openid/callback", "/set-password/lab/lab"),
}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

_ARGUMENTS = {
    **dict.fromkeys(("number", "pk", "revision", "status", "version", "view"), "1"),
    "uid": "00000000-0000-4000-8000-000000000001",
    "path": "api/v1/pods",
}

#: A URL of each stream; a stream without one fails the test.
_STREAM_ADDRESSES = {
    STREAMS[0].path: ("/k8s/lab/api/v1/pods", b"watch=true"),
    STREAMS[1].path: ("/k8s/lab/api/v1/watch/pods", b""),
    STREAMS[2].path: ("/clusters/lab/live", b""),
    STREAMS[3].path: ("/live", b""),
}


def every_address() -> Iterator[str]:
    """One URL of every pattern of the site."""
    routes = get_resolver().reverse_dict
    for key in routes:
        for possibilities, *_ in routes.getlist(key):
            for template, parameters in possibilities:
                arguments = {name: _ARGUMENTS.get(name, "lab") for name in parameters}
                yield "/" + template % arguments


ADDRESSES = sorted(set(every_address()))


def test_every_url_of_the_site_is_tested() -> None:
    served = {resolve(address).func.__module__.split(".")[1] for address in ADDRESSES}
    assert served >= {"health", "api", "dashboard"}
    assert set(ADDRESSES) >= OPEN


@pytest.mark.parametrize("address", [each for each in ADDRESSES if each not in OPEN])
def test_an_anonymous_request_is_rejected(client: Client, address: str) -> None:
    for method in METHODS:
        answer = client.generic(method, address)
        turned_away = answer.status_code == 401 or _is_sent_to_login(answer)
        assert turned_away, f"{method}: {answer.status_code}"


def _is_sent_to_login(answer: Any) -> bool:
    return answer.status_code == 302 and answer.headers["Location"].startswith("/login")


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.path)
def test_an_anonymous_stream_is_rejected(transactional_db: None, stream: Any) -> None:
    address, query = _STREAM_ADDRESSES[stream.path]
    sent = asyncio.run(_ask(address, query))
    assert [message["status"] for message in sent if "status" in message] == [401]


async def _ask(address: str, query: bytes) -> list[dict[str, Any]]:
    """The front's response to a GET without credentials."""
    sent: list[dict[str, Any]] = []

    async def keep(message: Any) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def other(*asked: Any) -> None:
        raise AssertionError(f"{address} is no stream")

    scope = {
        "type": "http",
        "method": "GET",
        "path": address,
        "query_string": query,
        "headers": [(b"host", b"localhost")],
    }
    await Front(other)(scope, receive, keep)
    return sent
