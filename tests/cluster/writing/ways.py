"""The ways to write, and what a cluster has afterwards: answers, rows and the log."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from django.db import transaction

from apps.cluster import kinds, queries
from apps.cluster.admission.draft import draft_of
from apps.cluster.connections import Connections, connect
from apps.cluster.errors import ApiError
from apps.cluster.models import Change, Cluster, DataObject, Event, Taint
from apps.cluster.writes import Actor, Create, Write
from apps.cluster.writing import creation, store
from apps.cluster.writing.admitted_specs import AdmittedSpecs
from apps.cluster.writing.group_commit import GroupCommit
from apps.cluster.writing.memory import read_admission_state
from apps.studies.scenarios.memory.memory_objects import MemoryObjects

Body = dict[str, Any]
Outcome = Body | ApiError
#: (kind, namespace, name) -> column -> value
Rows = Mapping[tuple[str, str, str], Mapping[str, Any]]
ACTOR = Actor("tests", "request-9")
MODELS = tuple(dict.fromkeys(kind.model for kind in kinds.ALL))
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DRAWN = {
    _UID.pattern: "uid",
    r'"resourceVersion": "\d+"': '"resourceVersion": "0"',
    # of events
    r"\.[0-9a-f]{16}\b": "",
    # addresses and containers of pods
    r'"10(\.\d+){3}"': '"10.0.0.0"',
    r"[0-9a-f]{64}": "container",
}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


class Stored:
    """The general way: inside a transaction the store locks rows first."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def write_all(self, writes: Sequence[Write]) -> list[Outcome]:
        """Execute the writes one after the other; the resulting object of each, or its error."""
        return [self._write(write) for write in writes]

    def _write(self, write: Write) -> Outcome:
        with transaction.atomic():
            return self._send(write)

    def _send(self, write: Write) -> Outcome:
        self._cluster.refresh_from_db()
        return store.write(self._cluster, [write], actor=ACTOR, collect_refusals=True)[0]


class OneStatement(Stored):
    """Updates and deletions of objects that exist in one statement, which locks nothing before."""

    def _write(self, write: Write) -> Outcome:
        return self._send(write)


class Creations(OneStatement):
    """Creations that follow each other share statements, as those of the web front do."""

    def write_all(self, writes: Sequence[Write]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for kind, group in groupby(writes, lambda each: isinstance(each, Create) and each.kind):
            if kind and self._can_create(kind):
                outcomes += asyncio.run(self._create(list(group)))
            else:
                outcomes += super().write_all(list(group))
        return outcomes

    def _can_create(self, kind: kinds.Kind) -> bool:
        self._state = read_admission_state(self._cluster.name)
        return creation.is_row_only(kind) and self._state.allows(kind)

    async def _create(self, writes: Sequence[Any]) -> list[Outcome]:
        connections, specs = Connections(connect), AdmittedSpecs()
        group = GroupCommit(connections, lambda *announced: None)
        sent: list[tuple[creation.Creation, asyncio.Future[int]] | ApiError] = []
        for write in writes:
            kind = write.kind
            body = draft_of(
                kind.name, {**write.body, "apiVersion": kind.api_version, "kind": kind.name}
            )
            try:
                prepared = creation.prepare(
                    kind, body, write.namespace, state=self._state, actor=ACTOR, specs=specs
                )
                sent.append((prepared, group.submit(prepared, self._state)))
            except ApiError as refusal:
                sent.append(refusal)
        try:
            return [each if isinstance(each, ApiError) else await _created(*each) for each in sent]
        finally:
            await connections.close()


async def _created(prepared: creation.Creation, version: asyncio.Future[int]) -> Outcome:
    try:
        at = str(await version)
    except ApiError as refusal:
        return refusal
    return {**prepared.body, "metadata": {**prepared.body["metadata"], "resourceVersion": at}}


class InMemory:
    """The objects of a scenario, which begin as those of a stored cluster at a time."""

    def __init__(self, cluster: Cluster, at: datetime) -> None:
        row = Cluster(name="scenario", api_gates=cluster.api_gates, manual_time=at)
        self._objects = MemoryObjects(row, 7)
        #: the object of each change -> its version
        self._known: dict[tuple[str, str, str], int] = {}
        for kind in kinds.ALL:
            for body in queries.list_objects(cluster, kind).items:
                namespace = body["metadata"].get("namespace", "")
                self._objects.write([Create(kind, body, namespace)], ACTOR.user)
                self._known[_key(kind.key, body)] = int(body["metadata"]["resourceVersion"])
        self._objects.changes.clear()
        self._objects.version = cluster.resource_version

    def write_all(self, writes: Sequence[Write]) -> list[Outcome]:
        """The same as a stored cluster's."""
        return [
            self._objects.write([write], ACTOR.user, collect_refusals=True)[0] for write in writes
        ]

    def log(self) -> list[Body]:
        """The rows that the log of a stored cluster would have."""
        known, found = dict(self._known), []
        for change in self._objects.changes:
            key = _key(change.kind, change.body)
            is_new, is_gone = change.old is None, change.new is None
            found.append(
                {
                    "version": int(change.body["metadata"]["resourceVersion"]),
                    "type": "DELETED" if is_gone else "ADDED" if is_new else "MODIFIED",
                    **dict(zip(("kind", "namespace", "name"), key, strict=True)),
                    "object": _without_uid(change.body),
                    "previous_version": None if is_new else known[key],
                    "user": change.user,
                    "request_id": ACTOR.request_id,
                }
            )
            known[key] = found[-1]["version"]
        return found

    def bodies(self) -> dict[tuple[str, str, str], Body]:
        """All objects."""
        return {
            _key(kind.key, body): _without_uid(body)
            for kind in kinds.ALL
            for body in self._objects.list_all(kind)
        }


def answer_of(outcome: Outcome) -> Any:
    """An object without what is drawn, or what an error says."""
    if isinstance(outcome, ApiError):
        message = _UID.sub("the uid", outcome.message)
        return outcome.code, outcome.reason, message, outcome.details
    return _without_uid(outcome)


def rows_of(cluster: Cluster) -> Rows:
    """The rows of all objects, without their ids."""
    found = {}
    for model in MODELS:
        columns = [field.column for field in model._meta.concrete_fields]
        for row in model.objects.filter(cluster=cluster).values(*columns):
            kind = row["kind"] if model is DataObject else model.__name__
            own = {name: row[name] for name in columns if name not in ("id", "cluster_id")}
            found[kind, row["namespace"], row["name"]] = own
    return found


def taints_of(cluster: Cluster) -> list[tuple[Any, ...]]:
    """The rows of the taints of all nodes."""
    columns = [field.column for field in Taint._meta.concrete_fields]
    taints = Taint.objects.filter(node__cluster=cluster).order_by("node__name", "position")
    return list(
        taints.values_list("node__name", *(c for c in columns if c not in ("id", "node_id")))
    )


def columns_of(kind: str, body: Body, changes: Sequence[Body]) -> Body:
    """The row that an object should have after its changes in the log."""
    metadata = body["metadata"]
    model = kinds.by_name(kind).model
    return {
        "namespace": metadata.get("namespace", ""),
        "name": metadata["name"],
        "uid": UUID(metadata["uid"]),
        "resource_version": int(metadata["resourceVersion"]),
        "labels": metadata.get("labels") or {},
        "body": body,
        "created_at": next(each["at"] for each in changes if each["type"] == "ADDED"),
        **({"kind": kind} if model is DataObject else {}),
        **({"written_at": changes[-1]["at"]} if model is Event else {}),
        **{name: read(body) for name, read in model.projected.items()},
    }


def log_of(cluster: Cluster, after: int) -> list[Body]:
    """The rows of the log after a version."""
    columns = [field.column for field in Change._meta.concrete_fields]
    log = Change.objects.filter(cluster=cluster, version__gt=after).order_by("version")
    return list(log.values(*(name for name in columns if name not in ("id", "cluster_id"))))


def without_times(value: Any) -> Any:
    """The same with all times replaced by one."""
    if isinstance(value, dict):
        return {name: without_times(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(without_times(each) for each in value)
    if isinstance(value, datetime):
        return datetime(2000, 1, 1, tzinfo=UTC)
    return _TIME.sub("2000-01-01T00:00:00Z", value) if isinstance(value, str) else value


def without_drawn(body: Body) -> Any:
    """An object without its versions, and without uids and what is computed from them."""
    text = json.dumps(body)
    for pattern, replacement in _DRAWN.items():
        text = re.sub(pattern, replacement, text)
    return json.loads(text)


def _without_uid(body: Body) -> Body:
    metadata = {key: value for key, value in body["metadata"].items() if key != "uid"}
    return {**body, "metadata": metadata}


def _key(kind: str, body: Mapping[str, Any]) -> tuple[str, str, str]:
    metadata = body["metadata"]
    return kind, metadata.get("namespace", ""), metadata["name"]
