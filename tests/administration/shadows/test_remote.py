"""What ends a watch loses nothing: it goes on where it ended, or the kind is listed again."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from typing import Any

from apps.administration.shadows.remote import Changed, Failed, Fetch, Listed, News, Remote
from apps.cluster.kinds import NODE

Answer = tuple[int, list[Any]]


class Response(io.BytesIO):
    """A response of an API server: its status, and a JSON text for each line."""

    def __init__(self, status: int, lines: list[Any]) -> None:
        super().__init__("".join(json.dumps(line) + "\n" for line in lines).encode())
        self.status = status


def node(version: int) -> dict[str, Any]:
    return {"metadata": {"name": "n", "uid": "u", "resourceVersion": str(version)}}


def listed(version: int) -> Answer:
    return 200, [{"items": [node(version)], "metadata": {"resourceVersion": str(version)}}]


def follow(answers: list[Answer], count: int) -> tuple[list[News], list[Mapping[str, str]]]:
    """The first news about nodes from an API server with these answers, and what it was asked."""
    asked: list[Mapping[str, str]] = []

    def fetch(path: str, query: Mapping[str, str]) -> Response:
        assert path == "/api/v1/nodes"
        asked.append(query)
        return Response(*(answers.pop(0) if answers else (200, [])))

    connect: Callable[[], Fetch] = lambda: fetch  # noqa: E731
    remote = Remote(connect, (NODE,))
    remote.start()
    news = [remote.news.get(timeout=10) for _ in range(count)]
    remote.stop()
    return news, asked


def test_a_watch_that_ends_goes_on_after_its_last_change() -> None:
    change = {"type": "MODIFIED", "object": node(7)}
    later = {"type": "DELETED", "object": node(9)}
    news, asked = follow([listed(5), (200, [change]), (200, [later])], 3)
    assert isinstance(news[0], Listed)
    changes = [(e.version, e.is_deleted) for e in news if isinstance(e, Changed)]
    assert changes == [(7, False), (9, True)]
    assert [q["resourceVersion"] for q in asked[1:3]] == ["5", "7"]


def test_an_expired_version_lists_again() -> None:
    expired = {"type": "ERROR", "object": {"kind": "Status", "code": 410}}
    for answer in ((200, [expired]), (410, [{"kind": "Status", "code": 410}])):
        news, _ = follow([listed(5), answer, listed(8)], 2)
        versions = [each.bodies[0]["metadata"]["resourceVersion"] for each in news]  # type: ignore[union-attr]
        assert versions == ["5", "8"]


def test_a_kind_that_is_forbidden_is_named_until_it_is_allowed() -> None:
    refused = (403, [{"message": 'nodes is forbidden: User "viewer" cannot list resource'}])
    news, _ = follow([refused, listed(5)], 3)
    assert isinstance(news[0], Failed) and "cannot list" in news[0].message
    assert isinstance(news[1], Listed)
    assert news[2] == Failed(NODE, "")
