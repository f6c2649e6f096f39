"""The statement that creates objects of one kind: versions, rows, the log and the commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final

from django.db import connection

from apps.cluster import kinds
from apps.cluster.connections import Channel, OnOutcome, Statement
from apps.cluster.kinds import Kind
from apps.cluster.models import Change, Taint
from apps.cluster.parameters import array
from apps.cluster.writing.creation import Creation
from apps.cluster.writing.memory import AdmissionState


@dataclass(frozen=True, slots=True)
class _Column:
    """One array of the statement: an entry for each object."""

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
    values = [
        b"%d" % state.cluster_id,
        b"%d" % len(creations),
        b"%d" % state.admission_version,
        state.settings_text,
        *(
            array(column.type, [column.read(creation) for creation in creations])
            for column in _columns(kind)
        ),
        array("timestamptz", _rising([creation.at for creation in creations])),
    ]
    channel.execute(_statement(kind), values, on_outcome)


def find_existing(
    channel: Channel, creations: Sequence[Creation], state: AdmissionState, on_outcome: OnOutcome
) -> None:
    """The (namespace, name) of these objects that exist."""
    keys = [creation.key for creation in creations]
    statement = Statement(
        f"SELECT t.namespace, t.name FROM {creations[0].kind.table} t "
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
    array_type = {"boolean": "bool", "integer": "int4"}.get(_column_type(kind, column), "text")
    return _Column(column, array_type, lambda creation: creation.columns[column])


@cache
def _statement(kind: Kind) -> Statement:
    columns = _columns(kind)
    first = 5
    arrays = [f"${number}::{each.type}[]" for number, each in enumerate(columns, first)]
    arrays.append(f"${first + len(columns)}::timestamptz[]")
    items = [f'"{each.name}"' for each in columns] + ["at"]
    projected = kind.model.projected
    extra = {f'"{name}"': f'"{name}"::{_column_type(kind, name)}' for name in projected}
    extra |= {name: f"'{value}'" for name, value in kind.constants.items()}
    if kind is kinds.EVENT:
        # its time to live starts at its creation
        extra["written_at"] = "at"
    statement = f"""
        WITH counter AS MATERIALIZED (
            UPDATE cluster_cluster SET resource_version = resource_version + $2::bigint,
                due_at = CASE WHEN due_at <= statement_timestamp() THEN due_at
                    ELSE statement_timestamp() END
            WHERE id = $1::bigint AND admission_version = $3::bigint
            AND quotas = 0 AND manual_time IS NULL
            AND jsonb_build_array(admission_plugins, controllers, paused) = $4::jsonb
            RETURNING resource_version - $2::bigint AS base,
                due_at = statement_timestamp() AND NOT paused AS wakes
        ), item AS MATERIALIZED (
            SELECT d.*, counter.base + d.ord AS version,
                (d.head || (counter.base + d.ord) || d.tail)::jsonb AS object
            FROM counter, unnest({", ".join(arrays)}) WITH ORDINALITY AS d({", ".join(items)}, ord)
        ), stored AS (
            INSERT INTO {kind.model._meta.db_table} (cluster_id, namespace, name, uid,
                resource_version, labels, body, created_at{"".join(f", {name}" for name in extra)})
            SELECT $1::bigint, namespace, name, uid, version, labels::jsonb, object, at
                {"".join(f", {value}" for value in extra.values())}
            FROM item RETURNING id, name
        ), logged AS (
            INSERT INTO {Change._meta.db_table} (cluster_id, version, type, kind, namespace, name,
                uid, object, previous_version, at, "user", request_id)
            SELECT $1::bigint, version, 'ADDED', '{kind.key}', namespace, name, uid, object, NULL,
                at, actor, request_id
            FROM item
        ){_TAINTS if kind is kinds.NODE else ""}
        SELECT base, wakes FROM counter
    """
    binary = (False,) * (first - 1) + (True,) * len(arrays)
    return Statement(statement.encode(), binary)


#: The taints of new nodes, as rows.
_TAINTS: Final = f""", tainted AS (
            INSERT INTO {Taint._meta.db_table} (node_id, position, key, value, effect, time_added)
            SELECT stored.id, taint.ord - 1, coalesce(taint.key, ''), coalesce(taint.value, ''),
                coalesce(taint.effect, ''), taint."timeAdded"
            FROM stored JOIN item USING (name), ROWS FROM (jsonb_to_recordset(
                CASE WHEN jsonb_typeof(object #> '{{spec,taints}}') = 'array'
                THEN object #> '{{spec,taints}}' ELSE '[]' END
            ) AS (key text, value text, effect text, "timeAdded" timestamptz))
            WITH ORDINALITY AS taint(key, value, effect, "timeAdded", ord)
        )"""


@cache
def _column_type(kind: Kind, column: str) -> str:
    field = next(each for each in kind.model._meta.concrete_fields if each.column == column)
    return str(field.rel_db_type(connection))
