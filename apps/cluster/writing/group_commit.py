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
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import psycopg

from apps.cluster.admission.names import name_taken
from apps.cluster.connections import Channel, Connections, Outcome
from apps.cluster.writing.creation import Creation
from apps.cluster.writing.creation_statement import find_existing, insert
from apps.cluster.writing.memory import AdmissionState

#: Objects of one statement; more of them hold the counter for too long.
LARGEST_GROUP: Final = 100
#: How often a group is sent that ends in a deadlock.
_TRIES: Final = 3

#: Called with a cluster's id, its version, and whether its loop has to be woken.
Announce = Callable[[int, int, bool], None]


class StaleState(Exception):
    """The object has to be admitted again; nothing was written.

    The admission state is out of date, the cluster is gone, or the name that was drawn is taken.
    """


class GroupCommit:
    """The creations of one cluster in one process; used on its event loop alone.

    It runs in callbacks of the loop, without a task of its own: an object that is created alone is
    sent to the database before `submit` returns.
    """

    def __init__(self, connections: Connections, announce: Announce) -> None:
        self._connections = connections
        self._announce = announce
        self._waiting: deque[_Waiting] = deque()
        self._busy = False

    def submit(self, creation: Creation, state: AdmissionState) -> asyncio.Future[int]:
        """Create the object; the result is its version, once it is on disk.

        Fails with AlreadyExists; StaleState when the object has to be admitted again; psycopg.Error
        when the database is away.
        """
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(creation, state, done))
        if not self._busy:
            self._busy = True
            self._connections.with_channel(self._send, self._fail_all)
        return done

    def _send(self, channel: Channel) -> None:
        """The next group."""
        group = self._next_group()
        on_outcome = partial(self._receive, channel, group)
        try:
            insert(channel, [each.creation for each in group], group[0].state, on_outcome)
        except Exception as error:
            # a value that cannot be encoded; nothing was sent
            self._receive(channel, group, error)

    def _continue(self, channel: Channel) -> None:
        if not self._waiting:
            self._busy = False
            self._connections.give_back(channel)
        elif channel.closed:
            self._connections.with_channel(self._send, self._fail_all)
        else:
            self._send(channel)

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
            each.tries += 1
            group.append(self._waiting.popleft())
        return group

    def _receive(self, channel: Channel, group: list[_Waiting], outcome: Outcome) -> None:
        if isinstance(outcome, psycopg.errors.UniqueViolation):
            creations, state = [each.creation for each in group], group[0].state
            on_outcome = partial(self._refuse_existing, channel, group)
            find_existing(channel, creations, state, on_outcome)
            return
        if isinstance(outcome, psycopg.errors.DeadlockDetected) and group[0].tries < _TRIES:
            # nothing was written, and the other transaction goes on
            self._waiting.extendleft(reversed(group))
        elif isinstance(outcome, Exception):
            _fail(group, outcome)
        elif not outcome:
            _fail(group, StaleState())
        else:
            self._acknowledge(group, outcome[0])
        self._continue(channel)

    def _acknowledge(self, group: list[_Waiting], row: tuple[bytes | None, ...]) -> None:
        base, wakes_loop = int(row[0] or 0), row[1] == b"t"
        for version, each in enumerate(group, start=base + 1):
            if not each.done.done():
                each.done.set_result(version)
        self._announce(group[0].state.cluster_id, base + len(group), wakes_loop)

    def _refuse_existing(self, channel: Channel, group: list[_Waiting], outcome: Outcome) -> None:
        if isinstance(outcome, Exception):
            _fail(group, outcome)
        else:
            taken = {
                (str(row[0] or b"", "utf-8"), str(row[1] or b"", "utf-8")): row[2] == b"t"
                for row in outcome
            }
            self._waiting.extendleft(e for e in reversed(group) if e.creation.key not in taken)
            for each in group:
                if each.creation.key in taken:
                    _fail([each], _taken(each.creation, taken[each.creation.key]))
        self._continue(channel)

    def _fail_all(self, error: Exception) -> None:
        """There is no connection to the database."""
        waiting, self._waiting = list(self._waiting), deque()
        self._busy = False
        _fail(waiting, error)


@dataclass(slots=True)
class _Waiting:
    creation: Creation
    state: AdmissionState
    done: asyncio.Future[int]
    #: how often it was sent to the database
    tries: int = 0


def _taken(creation: Creation, is_being_deleted: bool) -> Exception:
    if creation.is_named_here:
        return StaleState()
    metadata = creation.body["metadata"]
    return name_taken(creation.kind, metadata, is_being_deleted=is_being_deleted)


def _fail(group: list[_Waiting], error: Exception) -> None:
    for each in group:
        if not each.done.done():
            each.done.set_exception(error)
