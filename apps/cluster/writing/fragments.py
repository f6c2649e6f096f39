"""What the statements of all ways to write have in common: the counter, the log, the taints.

A statement takes versions from the cluster's counter, stores rows and logs changes. How it finds
and stores its rows is its own; these parts are the same, so that a column of the log or a rule of
the counter is written once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from apps.cluster.models import Change, Cluster, Node, Taint

#: When `cluster_cluster c` has been due before this statement, no process needs to be told again.
_DUE: Final = "statement_timestamp()"


def take_versions(
    count: str,
    condition: str,
    *,
    wake: str = "true",
    assignments: Sequence[str] = (),
    returning: Sequence[str] = (),
) -> str:
    """An UPDATE of the counter `c` that takes `count` versions where `condition` holds.

    If `wake` is true, the cluster becomes due. It returns `base`, the version before the first one,
    `wakes`, whether the cluster was not due before and is not paused, and `returning`. The counter
    stays locked until the commit. All arguments are SQL.
    """
    updates = (
        f"resource_version = c.resource_version + {count}",
        f"due_at = CASE WHEN NOT {wake} OR c.due_at <= {_DUE} THEN c.due_at ELSE {_DUE} END",
        *assignments,
    )
    returned = (
        f"c.resource_version - {count} AS base",
        f"{wake} AND c.due_at = {_DUE} AND NOT c.paused AS wakes",
        *returning,
    )
    return (
        f"UPDATE {Cluster._meta.db_table} c SET {', '.join(updates)} "
        f"WHERE {condition} RETURNING {', '.join(returned)}"
    )


def log_changes(values: Mapping[str, str], source: str) -> str:
    """An INSERT into the change log of a row for each row of `source`, a FROM clause.

    `values` has an SQL expression for each column of the log; raises KeyError if one is missing.
    """
    columns = log_columns()
    names = ", ".join(f'"{column}"' for column in columns)
    selected = ", ".join(values[column] for column in columns)
    return f"INSERT INTO {Change._meta.db_table} ({names}) SELECT {selected} FROM {source}"


@cache
def log_columns() -> tuple[str, ...]:
    """The columns of the change log, without the id that the database gives."""
    fields = Change._meta.concrete_fields
    return tuple(str(field.column) for field in fields if not field.primary_key)


def insert_taints(source: str = Node._meta.db_table, condition: str = "true") -> str:
    """An INSERT of the taints of nodes, as their bodies have them.

    `source` has the columns `id` and `body`, and is named `n` in `condition`.
    """
    return f"""
        INSERT INTO {Taint._meta.db_table} (node_id, position, key, value, effect, time_added)
        SELECT n.id, taint.ord - 1, coalesce(taint.key, ''), coalesce(taint.value, ''),
            coalesce(taint.effect, ''), taint."timeAdded"
        FROM {source} n, ROWS FROM (jsonb_to_recordset(
            CASE WHEN jsonb_typeof(n.body #> '{{spec,taints}}') = 'array'
            THEN n.body #> '{{spec,taints}}' ELSE '[]' END
        ) AS (key text, value text, effect text, "timeAdded" timestamptz))
        WITH ORDINALITY AS taint(key, value, effect, "timeAdded", ord)
        WHERE {condition}
    """
