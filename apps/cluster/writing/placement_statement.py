"""The statement that binds pods: versions, rows, events and the log in one round trip.

It takes its locks in the order of the store: the pods in id order, then the counter.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import accumulate
from typing import Final

import msgspec

from apps.cluster.arrays import BinaryArray, int8s, texts, uuids
from apps.cluster.exchange import KEEP_PLAN, Answer, Exchange
from apps.cluster.models import Cluster, Event, Pod
from apps.cluster.writing.fragments import log_changes, take_versions
from apps.cluster.writing.placement import TAIL, Placement

#: Placements of one statement for which its plan is not made again: planning takes longer than the
#: execution for a few. The plan that fits many rows depends on their number.
FEW: Final = 8


def send_placements(
    sent: Exchange,
    cluster: Cluster,
    placements: Sequence[Placement],
    *,
    read_version: int,
    now: datetime,
    users: tuple[str, str],
) -> Answer:
    """Bind the pods and record their events; the answer is the version before the first change.

    The versions of a pod are consecutive: bound, running, the event. `users` are those who bind and
    who start pods. Send it late in a transaction, because it locks the counter.

    The transaction fails with a DataError (a division by zero) if a pod has another version, or was
    deleted; if the cluster has quotas; or if an object that admission looks up (the namespace of an
    event) has changed after `read_version`. Then `store.write` decides.
    """
    values = {
        "cluster": cluster.pk,
        "read_version": read_version,
        "now": now,
        "changes": sum(placement.changes for placement in placements),
        "pods": len(placements),
        "binder": users[0],
        "starter": users[1],
        **_columns(placements),
    }
    statement = _STATEMENT
    if len(placements) <= FEW:
        sent.send(KEEP_PLAN)
        statement = _STATEMENT_FOR_FEW
    return sent.send(statement, [values[name] for name in _TYPES])


def _columns(placements: Sequence[Placement]) -> dict[str, BinaryArray]:
    """The statement's arrays: one entry for each pod."""
    events = [each.event for each in placements]
    ends = list(accumulate(each.changes for each in placements))
    return {
        "namespaces": texts([each.namespace for each in placements]),
        "names": texts([each.name for each in placements]),
        "versions": int8s([each.version for each in placements]),
        "nodes": texts([each.node for each in placements]),
        "phases": texts([each.phase for each in placements]),
        "labels": texts(
            [
                None if each.labels is None else msgspec.json.encode(each.labels).decode()
                for each in placements
            ]
        ),
        "bound": texts([each.bound for each in placements]),
        "running": texts([each.running for each in placements]),
        "ends": int8s(ends),
        "starts": int8s(
            [end - each.changes + 1 for end, each in zip(ends, placements, strict=True)]
        ),
        "event_names": texts([each.name for each in events]),
        "event_uids": uuids([each.uid for each in events]),
        "event_reasons": texts([each.reason for each in events]),
        "events": texts([each.head for each in events]),
    }


#: The loop holds the lease while it places pods, so the cluster is due until the loop has ended.
_COUNTER: Final = take_versions(
    "%(changes)s",
    "c.id = %(cluster)s AND c.quotas = 0 AND c.admission_version <= %(read_version)s "
    "AND (SELECT count(*) FROM pod) = %(pods)s",
    wake="false",
)
_LOGGED: Final = log_changes(
    {
        "cluster_id": "%(cluster)s",
        "namespace": "namespace",
        "at": "%(now)s + (entry.version - base - 1) * interval '1 microsecond'",
        "user": "entry.actor",
        "request_id": "''",
        **{
            name: f"entry.{name}"
            for name in ("version", "type", "kind", "name", "uid", "object", "previous_version")
        },
    },
    """change, LATERAL (VALUES
            (bound_version, 'MODIFIED', 'Pod', change.name, change.uid, bound_object, expected,
                %(binder)s),
            (bound_version + 1, 'MODIFIED', 'Pod', change.name, change.uid, running_object,
                bound_version, %(starter)s),
            (base + finish, 'ADDED', 'Event', event_name, event_uid, event_object, NULL, %(binder)s)
        ) AS entry(version, type, kind, name, uid, object, previous_version, actor)
        WHERE entry.object IS NOT NULL ORDER BY entry.version""",
)
_TEMPLATE: Final = f"""
    WITH found AS MATERIALIZED (
        SELECT t.id, d.* FROM unnest(
            %(namespaces)s, %(names)s, %(versions)s, %(nodes)s,
            %(phases)s, %(labels)s, %(bound)s, %(running)s,
            %(starts)s, %(ends)s, %(event_names)s,
            %(event_uids)s, %(event_reasons)s, %(events)s
        ) AS d(
            namespace, name, expected, node, phase, labels, bound, running, start, finish,
            event_name, event_uid, event_reason, event
        )
        -- not flattened: one look into the index for each pod, whatever the statistics say
        CROSS JOIN LATERAL (
            SELECT id FROM {Pod._meta.db_table} t WHERE t.cluster_id = %(cluster)s
                AND t.namespace = d.namespace AND t.name = d.name OFFSET 0
        ) t
    ), locked AS MATERIALIZED (
        SELECT t.id, t.uid, t.resource_version FROM {Pod._meta.db_table} t
        JOIN found USING (id) ORDER BY t.id FOR NO KEY UPDATE OF t
    ), pod AS (
        SELECT found.*, locked.uid FROM found JOIN locked USING (id)
        WHERE locked.resource_version = found.expected
    ), counter AS MATERIALIZED (
        {_COUNTER}
    ), change AS MATERIALIZED (
        SELECT pod.*, counter.base, counter.base + start AS bound_version,
            (bound || (counter.base + start) || '{TAIL}')::jsonb AS bound_object,
            (running || (counter.base + start + 1) || '{TAIL}')::jsonb AS running_object,
            (event || (counter.base + finish) || '{TAIL}')::jsonb AS event_object,
            %(now)s + (finish - 1) * interval '1 microsecond' AS event_at
        FROM pod, counter
    ), placed AS (
        UPDATE {Pod._meta.db_table} t SET resource_version = base + c.finish - 1,
            labels = coalesce(c.labels::jsonb, t.labels), node_name = c.node, phase = c.phase,
            nominated_node_name = '', body = coalesce(c.running_object, c.bound_object)
        FROM change c WHERE t.id = c.id
    ), reported AS (
        INSERT INTO {Event._meta.db_table} (cluster_id, namespace, name, uid, resource_version,
            labels, body, created_at, involved_uid, reason, written_at)
        SELECT %(cluster)s, namespace, event_name, event_uid, base + finish, '{{}}', event_object,
            event_at, uid::text, event_reason, event_at
        FROM change ORDER BY start
    ), logged AS (
        {_LOGGED}
    )
    SELECT (SELECT base FROM counter), 1 / (SELECT count(*) FROM counter)
"""

#: The parameters, in their order.
_TYPES: Final = {
    "cluster": "bigint",
    "read_version": "bigint",
    "now": "timestamptz",
    "changes": "bigint",
    "pods": "bigint",
    "binder": "text",
    "starter": "text",
    "namespaces": "text[]",
    "names": "text[]",
    "versions": "bigint[]",
    "nodes": "text[]",
    "phases": "text[]",
    "labels": "text[]",
    "bound": "text[]",
    "running": "text[]",
    "starts": "bigint[]",
    "ends": "bigint[]",
    "event_names": "text[]",
    "event_uids": "uuid[]",
    "event_reasons": "text[]",
    "events": "text[]",
}
_STATEMENT: Final = _TEMPLATE % {
    name: f"${number}::{kind}" for number, (name, kind) in enumerate(_TYPES.items(), 1)
}
#: Another text, and so another prepared statement, with a plan of its own.
_STATEMENT_FOR_FEW: Final = f"/* few */ {_STATEMENT}"
