"""The statement that creates objects of one kind: versions, rows, the log and the commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from apps.cluster import kinds, sql
from apps.cluster.arrays import array, encoder
from apps.cluster.connections import Channel, OnOutcome, Statement
from apps.cluster.kinds import Kind
from apps.cluster.writing.creation import Creation
from apps.cluster.writing.fragments import insert_taints, log_changes, take_versions
from apps.cluster.writing.memory import AdmissionState


@dataclass(frozen=True, slots=True)
class _Column:
    """One parameter of the statement: the object's value, or an array with that of each object."""

    name: str
    type: str
    read: Callable[[Creation], Any]


def insert(
    channel: Channel, creations: Sequence[Creation], state: AdmissionState, on_outcome: OnOutcome
) -> None:
    """Create the objects. The outcome is one row: the version before the first object's, and
    whether the loop has to be woken; no row where the state is out of date.
    """
    kind = creations[0].kind
    alone = len(creations) == 1
    values = [
        b"%d" % state.cluster_id,
        b"%d" % state.admission_version,
        state.settings_text,
        *(_scalars(creations[0]) if alone else _arrays(creations)),
    ]
    channel.execute(_statement(kind, alone=alone), values, on_outcome)


def _scalars(creation: Creation) -> list[bytes]:
    return [encode(read(creation)) for read, encode in _encoders(creation.kind)]


@cache
def _encoders(kind: Kind) -> tuple[tuple[Callable[[Creation], Any], Callable[[Any], bytes]], ...]:
    """How each column of one object is read and encoded, and then its time."""
    columns = [(column.read, encoder(column.type)) for column in _columns(kind)]
    return (*columns, (lambda creation: creation.at, encoder("timestamptz")))


def _arrays(creations: Sequence[Creation]) -> list[bytes]:
    columns = _columns(creations[0].kind)
    values = [array(column.type, [column.read(each) for each in creations]) for column in columns]
    return [*values, array("timestamptz", _rising([each.at for each in creations]))]


def find_existing(
    channel: Channel, creations: Sequence[Creation], state: AdmissionState, on_outcome: OnOutcome
) -> None:
    """The (namespace, name) of these objects that exist, and whether they are being deleted."""
    keys = [creation.key for creation in creations]
    statement = Statement(
        "SELECT t.namespace, t.name, t.body->'metadata' ? 'deletionTimestamp' "
        f"FROM {creations[0].kind.table} t "
        "JOIN unnest($1::text[], $2::text[]) AS w(namespace, name) "
        "ON t.namespace = w.namespace AND t.name = w.name WHERE t.cluster_id = $3".encode(),
        (True, True, False),
    )
    values = [
        array("text", [key[0] for key in keys]),
        array("text", [key[1] for key in keys]),
        b"%d" % state.cluster_id,
    ]
    channel.execute(statement, values, on_outcome)


def _rising(times: Sequence[datetime]) -> list[datetime]:
    """The same times, each at least a microsecond after the one before: an order of creation."""
    rising: list[datetime] = []
    for at in times:
        rising.append(max(at, rising[-1] + timedelta(microseconds=1)) if rising else at)
    return rising


_COMMON: Final = (
    _Column("namespace", "text", lambda creation: creation.key[0]),
    _Column("name", "text", lambda creation: creation.key[1]),
    _Column("uid", "uuid", lambda creation: creation.uid),
    _Column("head", "text", lambda creation: creation.head),
    _Column("tail", "text", lambda creation: creation.tail),
    _Column("actor", "text", lambda creation: creation.actor.user),
    _Column("request_id", "text", lambda creation: creation.actor.request_id),
    _Column("labels", "text", lambda creation: creation.labels),
)


@cache
def _columns(kind: Kind) -> tuple[_Column, ...]:
    """The common ones, and the columns in which queries find objects of this kind."""
    return (*_COMMON, *(_projected(kind, column) for column in kind.model.projected))


def _projected(kind: Kind, column: str) -> _Column:
    array_type = {"boolean": "bool", "integer": "int4"}.get(
        sql.column_type(kind.model, column), "text"
    )
    return _Column(column, array_type, lambda creation: creation.columns[column])


@cache
def _statement(kind: Kind, *, alone: bool) -> Statement:
    """The statement for one object, or for a group."""
    columns = _columns(kind)
    types = [each.type for each in columns] + ["timestamptz"]
    names = [f'"{each.name}"' for each in columns] + ["at"]
    projected = kind.model.projected
    extra = {f'"{name}"': f'"{name}"::{sql.column_type(kind.model, name)}' for name in projected}
    extra |= {name: f"'{value}'" for name, value in kind.constants.items()}
    if kind is kinds.EVENT:
        # its time to live starts at its creation
        extra["written_at"] = "at"
    statement = f"""
        WITH {_item(names, types) if alone else _items(names, types)}, stored AS (
            INSERT INTO {kind.model._meta.db_table} (cluster_id, namespace, name, uid,
                resource_version, labels, body, created_at{"".join(f", {name}" for name in extra)})
            SELECT $1::bigint, namespace, name, uid, version, labels::jsonb, object, at
                {"".join(f", {value}" for value in extra.values())}
            FROM item{" RETURNING id, name" if kind is kinds.NODE else ""}
        ), logged AS (
            {log_changes(_log_values(kind), "item")}
        ){_TAINTED if kind is kinds.NODE else ""}
        SELECT base, wakes FROM counter
    """
    return Statement(statement.encode(), (False,) * (_FIRST - 1) + (True,) * len(types))


def _log_values(kind: Kind) -> dict[str, str]:
    own = ("version", "namespace", "name", "uid", "object", "at", "request_id")
    return {
        "cluster_id": "$1::bigint",
        "type": "'ADDED'",
        "kind": f"'{kind.key}'",
        "previous_version": "NULL",
        "user": "actor",
        **{name: name for name in own},
    }


#: The number of the first parameter that belongs to the objects.
_FIRST: Final = 4


def _items(names: Sequence[str], types: Sequence[str]) -> str:
    """`item`: a row for each object of a group, with its version and its text."""
    arrays = ", ".join(f"${n}::{type_name}[]" for n, type_name in enumerate(types, _FIRST))
    return f"""{_counter(f"cardinality(${_FIRST}::text[])")}, item AS MATERIALIZED (
            SELECT d.*, counter.base + d.ord AS version,
                (d.head || (counter.base + d.ord) || d.tail)::jsonb AS object
            FROM counter, unnest({arrays}) WITH ORDINALITY AS d({", ".join(names)}, ord)
        )"""


def _item(names: Sequence[str], types: Sequence[str]) -> str:
    """The same for one object: a plan with arrays takes a quarter more processor time."""
    values = {
        name: f"${n}::{type_name}"
        for n, (name, type_name) in enumerate(zip(names, types, strict=True), _FIRST)
    }
    # parsed by the update of the counter, which is computed once
    head, tail = values['"head"'], values['"tail"']
    text = f"({head} || resource_version || {tail})::jsonb AS object"
    listed = ", ".join(f"{value} AS {name}" for name, value in values.items())
    return f"""{_counter("1", text)}, item AS NOT MATERIALIZED (
            SELECT {listed}, base + 1 AS version, object FROM counter
        )"""


def _counter(count: str, *returned: str) -> str:
    """`counter`: takes this many versions, unless the admission state is out of date."""
    update = take_versions(
        count,
        "c.id = $1::bigint AND c.admission_version = $2::bigint "
        "AND c.quotas = 0 AND c.manual_time IS NULL AND jsonb_build_array("
        "c.admission_plugins, c.controllers, c.paused, c.api_gates) = $3::jsonb",
        returning=returned,
    )
    return f"counter AS MATERIALIZED ({update})"


#: The taints of new nodes, as rows.
_NEW_NODES: Final = "(SELECT stored.id, object AS body FROM stored JOIN item USING (name))"
_TAINTED: Final = f", tainted AS ({insert_taints(_NEW_NODES)})"
