"""The statement that creates objects of one kind: versions, rows, the log and the commit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

import msgspec
from django.db import connection

from apps.cluster.kinds import Kind
from apps.cluster.models import Change
from apps.cluster.writing.connections import Database
from apps.cluster.writing.creation import Creation
from apps.cluster.writing.memory import AdmissionState


async def insert(
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


async def find_existing(
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
