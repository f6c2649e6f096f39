"""The statement that binds pods: versions, rows, events and the log in one round trip.

It takes its locks in the order of the store: the pods in id order, then the counter.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import accumulate
from typing import Final

import msgspec
from django.db import transaction

from apps.cluster import sql
from apps.cluster.arrays import BinaryArray, int8s, texts, uuids
from apps.cluster.log.announce import announcer
from apps.cluster.models import Change, Cluster, Event, Pod
from apps.cluster.writing.placement import TAIL, Placement


def write_placements(
    cluster: Cluster,
    placements: Sequence[Placement],
    *,
    read_version: int,
    now: datetime,
    users: tuple[str, str],
) -> int | None:
    """Bind the pods and record their events; returns the version before the first change.

    The versions of a pod are consecutive: bound, running, the event. `users` are those who bind and
    who start pods. Call it as the last step of a transaction, because it locks the counter.

    None, and nothing is written, if a pod has another version, or was deleted; if the cluster has
    quotas; or if an object that admission looks up (the namespace of an event) has changed after
    `read_version`. Then `store.write` decides.
    """
    changes = sum(placement.changes for placement in placements)
    with sql.binary_cursor() as cursor:
        cursor.execute(
            _STATEMENT,
            {
                "cluster": cluster.pk,
                "read_version": read_version,
                "now": now,
                "changes": changes,
                "pods": len(placements),
                "binder": users[0],
                "starter": users[1],
                **_columns(placements),
            },
        )
        row = cursor.fetchone()
    if row is None:
        return None
    base: int = row[0]
    transaction.on_commit(lambda: announcer.announce(cluster.pk, base + changes, due=False))
    return base


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
        "event_uids": uuids([each.uid.hex for each in events]),
        "event_reasons": texts([each.reason for each in events]),
        "events": texts([each.head for each in events]),
    }


_STATEMENT: Final = f"""
    WITH found AS MATERIALIZED (
        SELECT t.id, d.* FROM unnest(
            %(namespaces)b::text[], %(names)b::text[], %(versions)b::bigint[], %(nodes)b::text[],
            %(phases)b::text[], %(labels)b::text[], %(bound)b::text[], %(running)b::text[],
            %(starts)b::bigint[], %(ends)b::bigint[], %(event_names)b::text[],
            %(event_uids)b::uuid[], %(event_reasons)b::text[], %(events)b::text[]
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
        UPDATE cluster_cluster SET resource_version = resource_version + %(changes)s
        WHERE id = %(cluster)s AND quotas = 0 AND admission_version <= %(read_version)s
            AND (SELECT count(*) FROM pod) = %(pods)s
        RETURNING resource_version - %(changes)s AS base
    ), change AS MATERIALIZED (
        SELECT pod.*, counter.base, counter.base + start AS bound_version,
            (bound || (counter.base + start) || '{TAIL}')::jsonb AS bound_object,
            (running || (counter.base + start + 1) || '{TAIL}')::jsonb AS running_object,
            (event || (counter.base + finish) || '{TAIL}')::jsonb AS event_object,
            %(now)b::timestamptz + (finish - 1) * interval '1 microsecond' AS event_at
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
        INSERT INTO {Change._meta.db_table} (cluster_id, version, type, kind, namespace, name, uid,
            object, previous_version, at, "user", request_id)
        SELECT %(cluster)s, entry.version, entry.type, entry.kind, namespace, entry.name, entry.uid,
            entry.object, entry.previous_version,
            %(now)b::timestamptz + (entry.version - base - 1) * interval '1 microsecond',
            entry.actor, ''
        FROM change, LATERAL (VALUES
            (bound_version, 'MODIFIED', 'Pod', change.name, change.uid, bound_object, expected,
                %(binder)s),
            (bound_version + 1, 'MODIFIED', 'Pod', change.name, change.uid, running_object,
                bound_version, %(starter)s),
            (base + finish, 'ADDED', 'Event', event_name, event_uid, event_object, NULL, %(binder)s)
        ) AS entry(version, type, kind, name, uid, object, previous_version, actor)
        WHERE entry.object IS NOT NULL ORDER BY entry.version
    )
    SELECT base FROM counter
"""
