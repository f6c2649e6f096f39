"""Creating objects of one cluster together: concurrent requests share a statement and a commit.

One statement takes as many versions as there are objects from the cluster's counter, inserts the
objects and their rows of the change log, and commits. While it runs, further creations gather for
the next one, so the number of commits a second does not limit the number of objects:

    request ──▶ submit ──▶ gathered ──▶ statement ──▶ committed: each request gets its version
                              ▲             │
                              └─────────────┴──▶ a name exists: refuse that one, repeat the others

Nothing is acknowledged before it is on disk. The statement writes nothing where the admission
state with which the objects were admitted is out of date.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Final

import psycopg

from apps.cluster.errors import AlreadyExists, ApiError
from apps.cluster.log.announce import announcer
from apps.cluster.writing.connections import Connections, Database
from apps.cluster.writing.creation import Creation
from apps.cluster.writing.creation_statement import find_existing, insert
from apps.cluster.writing.memory import AdmissionState

#: Objects of one statement; more of them hold the counter for too long.
LARGEST_GROUP: Final = 100


class StaleState(Exception):
    """The admission state is out of date, or the cluster is gone; nothing was written."""


class GroupCommit:
    """The creations of one cluster in one process; used on its event loop alone."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._waiting: deque[_Waiting] = deque()
        self._task: asyncio.Task[None] | None = None

    async def submit(self, creation: Creation, state: AdmissionState) -> int:
        """Create the object and return its version, once it is on disk.

        Raises AlreadyExists; StaleState when the object has to be admitted again; psycopg.Error
        when the database is away.
        """
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(creation, state, done))
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._run())
        return await done

    async def _run(self) -> None:
        while self._waiting:
            group = self._next_group()
            try:
                async with self._connections.take() as database:
                    await self._commit(database, group)
            except Exception as error:
                for each in group:
                    if not each.done.done():
                        each.done.set_exception(error)

    def _next_group(self) -> list[_Waiting]:
        """The oldest creations of one kind and one state; a name at most once."""
        first = self._waiting[0]
        names: set[tuple[str, str]] = set()
        group: list[_Waiting] = []
        while self._waiting and len(group) < LARGEST_GROUP:
            each = self._waiting[0]
            fits = each.creation.kind is first.creation.kind and each.state is first.state
            if not fits or each.creation.key in names:
                break
            names.add(each.creation.key)
            group.append(self._waiting.popleft())
        return group

    async def _commit(self, database: Database, group: list[_Waiting]) -> None:
        creations, state = [each.creation for each in group], group[0].state
        try:
            row = await insert(database, creations, state)
        except psycopg.errors.UniqueViolation:
            taken = await find_existing(database, creations, state)
            self._waiting.extendleft(e for e in reversed(group) if e.creation.key not in taken)
            for each in group:
                if each.creation.key in taken:
                    kind, name = each.creation.kind, each.creation.key[1]
                    each.refuse(AlreadyExists(kind.plural, name, kind.group))
            return
        if row is None:
            raise StaleState
        base, wakes_loop = row
        announcer.announce(state.cluster_id, base + len(group), due=wakes_loop)
        for version, each in enumerate(group, start=base + 1):
            if not each.done.done():
                each.done.set_result(version)


@dataclass(slots=True)
class _Waiting:
    creation: Creation
    state: AdmissionState
    done: asyncio.Future[int]

    def refuse(self, refusal: ApiError) -> None:
        if not self.done.done():
            self.done.set_exception(refusal)
