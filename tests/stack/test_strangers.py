"""Whoever does not say who he is gets nothing: every address and every stream is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import get_resolver, resolve

from schedweb.front.streams import STREAMS, Front

pytestmark = pytest.mark.django_db

#: What anybody may see; static files are no address of Django's.
OPEN = {"/healthz", "/livez", "/readyz", "/login"}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

_ARGUMENTS = {
    **dict.fromkeys(("number", "pk", "revision", "status", "version"), "1"),
    "uid": "00000000-0000-4000-8000-000000000001",
    "path": "api/v1/pods",
}

#: An address of each stream; a stream without one fails the test.
_STREAM_ADDRESSES = {
    STREAMS[0].path: ("/k8s/lab/api/v1/pods", b"watch=true"),
    STREAMS[1].path: ("/k8s/lab/api/v1/watch/pods", b""),
    STREAMS[2].path: ("/clusters/lab/live", b""),
    STREAMS[3].path: ("/live", b""),
}


def every_address() -> Iterator[str]:
    """One address of every URL pattern of the site, whoever serves it."""
    routes = get_resolver().reverse_dict
    for key in routes:
        for possibilities, *_ in routes.getlist(key):
            for template, parameters in possibilities:
                arguments = {name: _ARGUMENTS.get(name, "lab") for name in parameters}
                yield "/" + template % arguments


ADDRESSES = sorted(set(every_address()))


def test_the_addresses_are_those_of_the_whole_site() -> None:
    served = {resolve(address).func.__module__.split(".")[1] for address in ADDRESSES}
    assert served >= {"health", "api", "dashboard"}
    assert set(ADDRESSES) >= OPEN


@pytest.mark.parametrize("address", [each for each in ADDRESSES if each not in OPEN])
def test_a_stranger_is_turned_away(client: Client, address: str) -> None:
    for method in METHODS:
        answer = client.generic(method, address)
        turned_away = answer.status_code == 401 or _is_sent_to_login(answer)
        assert turned_away, f"{method}: {answer.status_code}"


def _is_sent_to_login(answer: Any) -> bool:
    return answer.status_code == 302 and answer.headers["Location"].startswith("/login")


@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.path)
def test_a_stranger_hears_nothing(transactional_db: None, stream: Any) -> None:
    address, query = _STREAM_ADDRESSES[stream.path]
    sent = asyncio.run(_ask(address, query))
    assert [message["status"] for message in sent if "status" in message] == [401]


async def _ask(address: str, query: bytes) -> list[dict[str, Any]]:
    """What the front sends to a GET without credentials."""
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
