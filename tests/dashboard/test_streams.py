"""The stream of a live page sends the kinds that changed to authenticated users."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import connection
from django.test import Client

from apps.administration.clusters.lifecycle import create_cluster, delete_cluster
from apps.cluster import kinds
from apps.cluster.log.announce import announcer
from apps.cluster.models import Cluster
from apps.cluster.writing import store
from apps.dashboard.streams import CONTROL, TOPICS
from tests.api.asgi import StreamClient, request_stream
from tests.dashboard.conftest import ACTOR, pod

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cluster() -> Cluster:
    cluster = create_cluster("lab", user="alice", nodes=1)
    announcer.flush(5.0)
    return cluster


@pytest.fixture
def cookie(alice: Client) -> dict[str, str]:
    name = settings.SESSION_COOKIE_NAME
    return {"Cookie": f"{name}={alice.cookies[name].value}"}


def watch(
    path: str, cookie: dict[str, str], scene: Callable[[StreamClient], Awaitable[None]]
) -> StreamClient:
    """Run a scene with an open stream; returns the stream after the client disconnects."""

    async def play() -> StreamClient:
        stream = StreamClient(path, cookie)
        async with asyncio.timeout(20):
            running = asyncio.ensure_future(stream.run())
            await stream.lines(2)
            await scene(stream)
            stream.leave()
            await running
        return stream

    return asyncio.run(play())


@sync_to_async(thread_sensitive=False)
def in_thread(action: Callable[[], object]) -> None:
    action()
    announcer.flush(5.0)
    connection.close()


def add(cluster: Cluster, name: str) -> None:
    store.create(cluster, kinds.POD, pod(name), namespace="default", actor=ACTOR)


def test_a_page_receives_which_kinds_changed(cluster: Cluster, cookie: dict[str, str]) -> None:
    async def scene(stream: StreamClient) -> None:
        await in_thread(lambda: add(cluster, "web"))
        await stream.lines(2 + 8)

    stream = watch("/clusters/lab/live", cookie, scene)
    assert stream.status == 200
    assert stream.headers["content-type"].startswith("text/event-stream")
    cluster.refresh_from_db()
    version = cluster.resource_version
    events = stream.body.decode().split("\n\n")[1:3]
    assert events == [
        f"id: {version}\nevent: {topic}\ndata: {version}" for topic in (CONTROL, "pods")
    ]


def test_no_change_is_lost_between_the_page_and_its_stream(
    cluster: Cluster, cookie: dict[str, str]
) -> None:
    cluster.refresh_from_db()
    seen = cluster.resource_version
    add(cluster, "meanwhile")
    announcer.flush(5.0)

    async def scene(stream: StreamClient) -> None:
        await stream.lines(2 + 8)

    stream = watch(f"/clusters/lab/live?after={seen}", cookie, scene)
    assert b"event: pods" in stream.body
    assert b"event: nodes" not in stream.body


def test_many_changes_are_sent_together(cluster: Cluster, cookie: dict[str, str]) -> None:
    async def scene(stream: StreamClient) -> None:
        await in_thread(lambda: add(cluster, "first"))
        await stream.lines(2 + 8)
        for number in range(20):
            await in_thread(lambda number=number: add(cluster, f"more-{number}"))
        await stream.lines(2 + 16)

    stream = watch("/clusters/lab/live", cookie, scene)
    assert stream.body.count(b"event: pods") < 20


def test_the_stream_of_a_deleted_cluster_ends_with_an_event(
    cluster: Cluster, cookie: dict[str, str]
) -> None:
    async def scene(stream: StreamClient) -> None:
        await in_thread(lambda: delete_cluster(cluster))
        await in_thread(lambda: announcer.announce(cluster.pk, 1, due=False))
        await stream.lines(2 + 3)

    stream = watch("/clusters/lab/live", cookie, scene)
    assert b"event: deleted" in stream.body


@pytest.mark.parametrize(
    ("path", "known", "status"),
    [("/clusters/lab/live", False, 401), ("/clusters/nowhere/live", True, 404)],
)
def test_a_stream_requires_a_user_and_an_existing_cluster(
    cluster: Cluster, cookie: dict[str, str], path: str, known: bool, status: int
) -> None:
    headers = cookie if known else {}
    answered, _, body = asyncio.run(request_stream(path, headers))
    assert answered == status
    assert b"event:" not in body


def test_every_kind_has_a_topic() -> None:
    assert len(TOPICS) == len(set(TOPICS)) == len(kinds.ALL)
