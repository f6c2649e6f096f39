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
import select
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final
from uuid import UUID

import msgspec
import psycopg
from django.db import connection

from apps.cluster.admission import admit
from apps.cluster.admission.plugins.registry import Chain
from apps.cluster.errors import AlreadyExists, ApiError, Invalid
from apps.cluster.kinds import Kind
from apps.cluster.log.announce import announcer
from apps.cluster.models import Change
from apps.cluster.validation import validate
from apps.cluster.writes import Actor
from apps.cluster.writing.lookups import LOOKED_UP
from apps.cluster.writing.memory import AdmissionState
from apps.cluster.writing.metadata import stamp_new
from apps.cluster.writing.preconditions import check_namespace

Body = dict[str, Any]

#: Objects of one statement; more of them hold the counter for too long.
LARGEST_GROUP: Final = 100

#: Kinds whose creation is more than a row and its row of the log: taints, the times of events,
#: what admission looks up.
_NOT_ONLY_ROWS: Final = frozenset({"Event", "Node", "ResourceQuota"}) | LOOKED_UP


class StaleState(Exception):
    """The admission state is out of date, or the cluster is gone; nothing was written."""


@dataclass(frozen=True, slots=True)
class Creation:
    """One object, admitted and validated, in the pieces that the statement takes."""

    kind: Kind
    actor: Actor
    #: The object as it will be stored, without its resourceVersion.
    body: Body
    #: The object's JSON text before and after the digits of its resourceVersion.
    head: str
    tail: str
    #: When it was stamped, by the cluster's clock.
    at: datetime

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        metadata = self.body["metadata"]
        return metadata.get("namespace", ""), metadata["name"]

    def text(self, version: int) -> bytes:
        """The object as it is stored at this version, as JSON."""
        return f"{self.head}{version}{self.tail}".encode()


def is_row_only(kind: Kind) -> bool:
    """Whether objects of this kind can be created by the statement of this module."""
    return kind.name not in _NOT_ONLY_ROWS


def prepare(
    kind: Kind, body: Body, namespace: str, *, state: AdmissionState, actor: Actor
) -> Creation:
    """Stamp, admit and validate a new object; raises the ApiError that refuses it."""
    now = state.now()
    plugins = Chain(state.admission_plugins, actor.user)
    stamped = stamp_new(kind, body, namespace, now)
    check_namespace(kind, stamped, state)
    admitted = admit(kind.name, stamped, state, plugins=plugins)
    causes = validate(kind.name, admitted, None)
    if causes:
        raise Invalid(kind.name, admitted["metadata"].get("name", ""), causes, kind.group)
    plugins.validate(kind.name, admitted, state)
    head, tail = _encode(admitted)
    return Creation(kind, actor, admitted, head, tail, now)


def _encode(body: Body) -> tuple[str, str]:
    """The JSON text of an object, parted where its resourceVersion belongs."""
    first = {"kind": body["kind"], "apiVersion": body["apiVersion"]}
    head = f'{msgspec.json.encode(first).decode()[:-1]},"metadata":{{"resourceVersion":"'
    metadata = msgspec.json.encode(body["metadata"]).decode()
    rest = {name: value for name, value in body.items() if name not in (*first, "metadata")}
    tail = f'",{metadata[1:]}'
    return head, f"{tail},{msgspec.json.encode(rest).decode()[1:]}" if rest else f"{tail}}}"


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
            row = await _insert(database, creations, state)
        except psycopg.errors.UniqueViolation:
            taken = await _existing(database, creations, state)
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


Database = psycopg.AsyncConnection[Any]


class Connections:
    """Database connections of the event loop, opened when none is free."""

    def __init__(self, connect: Callable[[], Awaitable[Database]]) -> None:
        self._connect = connect
        self._free: list[Database] = []

    def take(self) -> _Taken:
        """A connection for the time of an `async with`; one that raised is not used again."""
        return _Taken(self._free, self._connect)

    async def close(self) -> None:
        """Close those that are free."""
        while self._free:
            await self._free.pop().close()


class _Taken:
    def __init__(self, free: list[Database], connect: Callable[[], Awaitable[Database]]) -> None:
        self._free = free
        self._connect = connect
        self._database: Database | None = None

    async def __aenter__(self) -> Database:
        while self._free:
            candidate = self._free.pop()
            if not _was_closed(candidate):
                self._database = candidate
                return candidate
            await candidate.close()
        self._database = await self._connect()
        return self._database

    async def __aexit__(self, *raised: object) -> None:
        assert self._database is not None
        if raised[0] is None and not self._database.closed:
            self._free.append(self._database)
        else:
            await self._database.close()


def _was_closed(database: Database) -> bool:
    """Whether the server has ended a connection that nobody used: it then has something to say."""
    if database.closed:
        return True
    poll = select.poll()
    poll.register(database.pgconn.socket, select.POLLIN | select.POLLHUP)
    return bool(poll.poll(0))


async def connect() -> Database:
    """A connection to the database that Django uses; every statement of it is prepared."""
    parameters = connection.get_connection_params()
    for option in ("cursor_factory", "context"):
        parameters.pop(option, None)
    database = await psycopg.AsyncConnection.connect(**parameters, autocommit=True)
    database.prepare_threshold = 0
    return database


async def _insert(
    database: Database, creations: Sequence[Creation], state: AdmissionState
) -> tuple[int, bool] | None:
    """The version before the first object's, and whether the loop has to be woken.

    None where the state is out of date.
    """
    kind = creations[0].kind
    cursor = await database.execute(
        _statement(kind),
        {
            "cluster": state.cluster_id,
            "admission_version": state.admission_version,
            "plugins": msgspec.json.encode(state.admission_plugins).decode(),
            "kind": kind.name,
            "objects": len(creations),
            **_columns(kind, creations),
        },
    )
    return await cursor.fetchone()


def _columns(kind: Kind, creations: Sequence[Creation]) -> dict[str, list[Any]]:
    """The statement's arrays: one entry for each object.

    They travel in binary form: text would be escaped, quote by quote.
    """
    metadata = [creation.body["metadata"] for creation in creations]
    columns: dict[str, list[Any]] = {
        "namespaces": [each.get("namespace", "") for each in metadata],
        "names": [each["name"] for each in metadata],
        "uids": [UUID(each["uid"]) for each in metadata],
        "heads": [creation.head for creation in creations],
        "tails": [creation.tail for creation in creations],
        "times": _rising([creation.at for creation in creations]),
        "users": [creation.actor.user for creation in creations],
        "request_ids": [creation.actor.request_id for creation in creations],
    }
    for column, read in kind.model.projected.items():
        values = [read(creation.body) for creation in creations]
        if _column_type(kind, column) == "jsonb":
            values = [msgspec.json.encode(value).decode() for value in values]
        columns[f"p_{column}"] = values
    return columns


def _rising(times: Sequence[datetime]) -> list[datetime]:
    """The same times, each at least a microsecond after the one before: an order of creation."""
    rising: list[datetime] = []
    for at in times:
        rising.append(max(at, rising[-1] + timedelta(microseconds=1)) if rising else at)
    return rising


@cache
def _statement(kind: Kind) -> str:
    table = kind.model._meta.db_table
    projected = list(kind.model.projected)
    names = "".join(f', "{column}"' for column in projected)
    arrays = "".join(f", %(p_{column})b::{_parameter_type(kind, column)}[]" for column in projected)
    values = "".join(f', item."{column}"::{_column_type(kind, column)}' for column in projected)
    return f"""
        WITH counter AS MATERIALIZED (
            UPDATE cluster_cluster c SET resource_version = c.resource_version + %(objects)s,
                due_at = CASE WHEN o.idle THEN clock_timestamp() ELSE c.due_at END
            FROM (
                SELECT id, paused, due_at IS NULL OR due_at > clock_timestamp() AS idle
                FROM cluster_cluster
                WHERE id = %(cluster)s AND admission_version = %(admission_version)s
                AND quotas = 0 AND manual_time IS NULL
                AND admission_plugins = %(plugins)s::jsonb FOR NO KEY UPDATE
            ) o
            WHERE c.id = o.id
            RETURNING c.resource_version - %(objects)s AS base, o.idle AND NOT o.paused AS wakes
        ), item AS MATERIALIZED (
            SELECT d.*, counter.base + d.ord AS version,
                (d.head || (counter.base + d.ord) || d.tail)::jsonb AS object
            FROM counter, unnest(
                %(namespaces)b::text[], %(names)b::text[], %(uids)b::uuid[], %(heads)b::text[],
                %(tails)b::text[], %(times)b::timestamptz[], %(users)b::text[],
                %(request_ids)b::text[]{arrays}
            ) WITH ORDINALITY AS d(
                namespace, name, uid, head, tail, at, actor, request_id{names}, ord
            )
        ), stored AS (
            INSERT INTO {table} (cluster_id, namespace, name, uid, resource_version, labels, body,
                created_at{names})
            SELECT %(cluster)s, namespace, name, uid, version,
                coalesce(object #> '{{metadata,labels}}', '{{}}'), object, at{values}
            FROM item ORDER BY ord
        ), logged AS (
            INSERT INTO {Change._meta.db_table} (cluster_id, version, type, kind, namespace, name,
                uid, object, previous_version, at, "user", request_id)
            SELECT %(cluster)s, version, 'ADDED', %(kind)s, namespace, name, uid, object, NULL, at,
                actor, request_id
            FROM item ORDER BY ord
        )
        SELECT base, wakes FROM counter
    """


def _parameter_type(kind: Kind, column: str) -> str:
    """As what a column's values travel: JSON as text."""
    column_type = _column_type(kind, column)
    return "text" if column_type == "jsonb" else column_type


@cache
def _column_type(kind: Kind, column: str) -> str:
    field = next(each for each in kind.model._meta.concrete_fields if each.column == column)
    return str(field.rel_db_type(connection))


async def _existing(
    database: Database, creations: Sequence[Creation], state: AdmissionState
) -> set[tuple[str, str]]:
    """The (namespace, name) of these objects that exist."""
    keys = [creation.key for creation in creations]
    cursor = await database.execute(
        f"SELECT t.namespace, t.name FROM {creations[0].kind.model._meta.db_table} t "
        "JOIN unnest(%s::text[], %s::text[]) AS w(namespace, name) "
        "ON t.namespace = w.namespace AND t.name = w.name WHERE t.cluster_id = %s",
        [[key[0] for key in keys], [key[1] for key in keys], state.cluster_id],
    )
    return {(namespace, name) for namespace, name in await cursor.fetchall()}
