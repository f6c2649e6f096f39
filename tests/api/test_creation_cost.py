"""What the creation of a pod may cost: a lost optimization fails here, on a busy machine too."""

from __future__ import annotations

import asyncio
import cProfile
import pstats
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from django.db import connection

from apps.cluster.connections import Channel
from apps.cluster.models import Change, Cluster, Pod
from apps.cluster.writing import loop_announcer
from tests.api.conftest import Kube
from tests.api.objects import PODS, pod
from tests.api.test_creation import CreationClient, do, play

pytestmark = pytest.mark.django_db(transaction=True)

BATCH = 16
#: A pod of about 2 KB; its text does not compress well.
PADDING = {"annotations": {"padding": "".join(chr(97 + i * i % 26) for i in range(1500))}}


@dataclass
class Work:
    """What was sent to the database and encoded as JSON."""

    statements: list[str] = field(default_factory=list)
    encoded: int = 0

    @property
    def creations(self) -> int:
        return sum("counter AS MATERIALIZED" in each for each in self.statements)

    @property
    def announcements(self) -> int:
        return sum("pg_notify" in each for each in self.statements)


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Iterator[Work]:
    found = Work()
    execute, encode = Channel.execute, msgspec.json.encode

    def counted_execute(self: Channel, statement: Any, values: Any, on_outcome: Any) -> None:
        found.statements.append(statement.sql.decode())
        execute(self, statement, values, on_outcome)

    def counted_encode(value: Any, **options: Any) -> bytes:
        text = encode(value, **options)
        found.encoded += len(text)
        return text

    monkeypatch.setattr(Channel, "execute", counted_execute)
    monkeypatch.setattr(msgspec.json, "encode", counted_encode)
    yield found


def padded(name: str) -> dict[str, Any]:
    body = pod(name)
    body["metadata"].update(PADDING)
    return body


def wal_position() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
        return int(cursor.fetchone()[0])


async def wal_of(front: CreationClient, names: list[str]) -> int:
    """Bytes of the write-ahead log that the concurrent creation of these pods writes."""
    before = await do(wal_position)
    answers = await asyncio.gather(*(front.post(PODS, padded(name)) for name in names))
    assert {status for status, _, _ in answers} == {201}
    return await do(wal_position) - before


async def warm_up(front: CreationClient) -> None:
    """Authenticate, read the admission state, connect and prepare."""
    for number in range(10):
        assert (await front.post(PODS, padded(f"warm{number}")))[0] == 201
    await asyncio.gather(*(front.post(PODS, padded(f"w{number}")) for number in range(BATCH)))


@pytest.fixture
def front(kube: Kube) -> CreationClient:
    return CreationClient(kube)


def test_a_pod_alone_is_one_statement_and_one_announcement(
    front: CreationClient, cluster: Cluster, work: Work
) -> None:
    async def scene() -> int:
        await warm_up(front)
        work.statements.clear()
        work.encoded = 0
        assert (await front.post(PODS, padded("alone")))[0] == 201
        return work.encoded

    encoded = play(scene)
    assert work.creations == 1
    # its own, which may follow later, and perhaps that of the pods before
    assert work.announcements == len(work.statements) - 1 <= 2
    stored = len(msgspec.json.encode(Pod.objects.get(name="alone").body))
    # the request of this test, its text again to compare it with what was parsed, and the pod
    assert encoded < 3 * stored
    assert Change.objects.filter(cluster=cluster, name="alone").count() == 1


def test_a_batch_is_two_statements(front: CreationClient, work: Work) -> None:
    async def scene() -> None:
        await warm_up(front)
        work.statements.clear()
        await asyncio.gather(*(front.post(PODS, padded(f"p{n}")) for n in range(BATCH)))

    play(scene)
    # the first pod is sent at once, the others while it is committed
    assert work.creations == 2
    assert work.announcements <= 3


def test_pods_that_follow_each_other_share_an_announcement(
    front: CreationClient, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop_announcer, "INTERVAL", 60.0)

    async def scene() -> int:
        await warm_up(front)
        work.statements.clear()
        for number in range(BATCH):
            assert (await front.post(PODS, padded(f"p{number}")))[0] == 201
        return work.announcements

    assert play(scene) == 0
    assert work.creations == BATCH
    # when the front is closed
    assert work.announcements == 1


def test_the_write_ahead_log_of_a_pod(front: CreationClient) -> None:
    async def scene() -> tuple[int, int]:
        await warm_up(front)
        alone = [await wal_of(front, [f"a{number}"]) for number in range(5)]
        together = [
            await wal_of(front, [f"b{number}-{n}" for n in range(BATCH)]) for number in range(5)
        ]
        return min(alone), min(together) // BATCH

    alone, together = play(scene)
    # the row and the row of the log, their index entries, the counter and the commit
    assert alone < 8000
    assert together < 7900


def test_the_python_work_of_a_pod(front: CreationClient) -> None:
    async def scene() -> float:
        await warm_up(front)
        profile = cProfile.Profile()
        profile.enable()
        for number in range(20):
            await front.post(PODS, padded(f"p{number}"))
        profile.disable()
        return float(pstats.Stats(profile).total_calls) / 20  # type: ignore[attr-defined]

    assert play(scene) < 650
