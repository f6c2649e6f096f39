"""Streams are notified of changes, also after a lost connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from apps.cluster.log.announce import CHANNEL
from apps.cluster.log.listen import Subscription, listener
from apps.cluster.models import Cluster

pytestmark = pytest.mark.django_db(transaction=True)


def run(scene: Callable[[], Awaitable[None]]) -> None:
    async def play() -> None:
        async with asyncio.timeout(10):
            await scene()

    asyncio.run(play())


@sync_to_async
def execute(statement: str, *parameters: str) -> None:
    """Execute SQL in a thread, which closes its connection."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
    connection.close()


async def announce(cluster_id: int, version: int) -> None:
    await execute("SELECT pg_notify(%s, %s)", CHANNEL, f"{cluster_id} {version}")


async def break_connections() -> None:
    await execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE query = %s AND datname = current_database()",
        f"LISTEN {CHANNEL}",
    )


async def settle(subscription: Subscription) -> None:
    """Consume the notifications that a new connection sends to every subscriber."""
    while await subscription.wait(timeout=0.05) is not None:
        pass


def test_a_stream_is_notified_of_its_own_cluster_only() -> None:
    async def scene() -> None:
        async with listener().subscribe(1) as mine, listener().subscribe(2) as other:
            await settle(mine)
            await settle(other)
            await announce(1, 7)
            assert await mine.wait(timeout=5) == 7
            assert await other.wait(timeout=0.1) is None

    run(scene)


def test_accumulated_announcements_are_one_notification() -> None:
    async def scene() -> None:
        async with listener().subscribe(1) as mine, listener().subscribe(1) as beside:
            await settle(mine)
            for version in (3, 4, 5):
                await announce(1, version)
            while await beside.wait(timeout=5) != 5:
                pass
            assert await mine.wait(timeout=5) == 5
            assert await mine.wait(timeout=0.1) is None

    run(scene)


def test_after_a_reconnect_every_subscriber_is_notified() -> None:
    async def scene() -> None:
        async with listener().subscribe(1) as mine:
            await settle(mine)
            await break_connections()
            assert await mine.wait(timeout=8) is not None
            await announce(1, 9)
            assert await mine.wait(timeout=5) == 9

    run(scene)


def test_a_change_that_was_not_announced_is_found() -> None:
    async def scene() -> None:
        cluster = await sync_to_async(make_cluster)()
        async with listener().subscribe(cluster.pk) as mine:
            await settle(mine)
            await execute(
                "UPDATE cluster_cluster SET resource_version = 42 WHERE id = %s", str(cluster.pk)
            )
            while await mine.wait(timeout=5) != 42:
                pass

    run(scene)


def make_cluster() -> Cluster:
    cluster = Cluster.objects.create(name="quiet")
    connection.close()
    return cluster


def test_an_unexpected_message_is_ignored() -> None:
    async def scene() -> None:
        async with listener().subscribe(1) as mine:
            await settle(mine)
            await execute("SELECT pg_notify(%s, %s)", CHANNEL, "hello")
            await announce(1, 7)
            assert await mine.wait(timeout=5) == 7

    run(scene)


def test_an_announcement_that_no_feed_reads_is_passed_on_without_a_task() -> None:
    """A task would cost one more round of the event loop before a loop that waits is woken."""

    async def scene() -> None:
        versions: list[int] = []
        tasks = set()

        def note(version: int, due: int | None) -> None:
            versions.append(version)
            tasks.add(asyncio.current_task())

        async with listener().subscribe(1, note) as subscription:
            await settle(subscription)
            tasks.clear()
            await announce(1, 8)
            assert await subscription.wait(timeout=5) == 8
            assert versions[-1] == 8
            assert tasks == {None}

    run(scene)
