"""Invariants of a quiet cluster, regardless of which processes were killed before.

Each invariant is a query for rows that violate it. The queries read only the tables, so that a bug
in code that reads them cannot hide a bug in code that writes them.
"""

from __future__ import annotations

from typing import Any

import psycopg

#: A pod with this label is unschedulable; it must wait in the queue.
NOWHERE = "nowhere"

_BOUND = """
    SELECT c.uid, c.name, c.version, c.object #>> '{spec,nodeName}' AS node
    FROM cluster_change c
    JOIN cluster_change before
        ON before.cluster_id = c.cluster_id AND before.version = c.previous_version
    WHERE c.cluster_id = %(id)s AND c.kind = 'Pod'
        AND coalesce(c.object #>> '{spec,nodeName}', '')
            <> coalesce(before.object #>> '{spec,nodeName}', '')
"""

#: violation -> query for the rows that show it
INVARIANTS: dict[str, str] = {
    "a schedulable pod is pending": f"""
        SELECT name FROM cluster_pod
        WHERE cluster_id = %(id)s AND node_name = '' AND NOT labels ? '{NOWHERE}'
    """,
    "an unschedulable pod is running": f"""
        SELECT name, node_name FROM cluster_pod
        WHERE cluster_id = %(id)s AND node_name <> '' AND labels ? '{NOWHERE}'
    """,
    "a pending pod is not in the queue": """
        SELECT p.name FROM cluster_pod p
        LEFT JOIN controlplane_queueentry q ON q.cluster_id = p.cluster_id AND q.pod_uid = p.uid
        WHERE p.cluster_id = %(id)s AND p.node_name = '' AND q.pod_uid IS NULL
    """,
    "a pod in the queue is not pending": """
        SELECT q.name, q.queue FROM controlplane_queueentry q
        LEFT JOIN cluster_pod p ON p.cluster_id = q.cluster_id AND p.uid = q.pod_uid
        WHERE q.cluster_id = %(id)s AND coalesce(p.node_name, 'gone') <> ''
    """,
    "a pod was bound twice": f"""
        WITH b AS MATERIALIZED ({_BOUND})
        SELECT name, count(*), array_agg(node ORDER BY version) FROM b
        GROUP BY uid, name HAVING count(*) > 1
    """,
    "a running pod was never bound": f"""
        WITH b AS MATERIALIZED ({_BOUND})
        SELECT p.name FROM cluster_pod p LEFT JOIN b ON b.uid = p.uid
        WHERE p.cluster_id = %(id)s AND p.node_name <> '' AND b.node IS DISTINCT FROM p.node_name
    """,
    "a node is over its capacity": """
        SELECT n.name, resource, sum((p.requests ->> resource)::bigint)
        FROM cluster_node n
        JOIN cluster_pod p ON p.cluster_id = n.cluster_id AND p.node_name = n.name,
        jsonb_object_keys(n.allocatable) AS resource
        WHERE n.cluster_id = %(id)s AND resource <> 'pods'
        GROUP BY n.name, n.allocatable, resource
        HAVING sum((p.requests ->> resource)::bigint) > (n.allocatable ->> resource)::bigint
    """,
    "a node has more pods than allowed": """
        SELECT n.name, count(*) FROM cluster_node n
        JOIN cluster_pod p ON p.cluster_id = n.cluster_id AND p.node_name = n.name
        WHERE n.cluster_id = %(id)s
        GROUP BY n.name, n.allocatable HAVING count(*) > (n.allocatable ->> 'pods')::bigint
    """,
    "a version is missing from the change log": """
        SELECT v FROM cluster_cluster c, generate_series(c.forgotten_version + 1,
            c.resource_version) v
        LEFT JOIN cluster_change ch ON ch.cluster_id = %(id)s AND ch.version = v
        WHERE c.id = %(id)s AND ch.version IS NULL
    """,
    "a change does not refer to the previous change of the same object": """
        SELECT * FROM (
            SELECT kind, name, version, type, previous_version,
                lag(version) OVER (PARTITION BY uid ORDER BY version) AS before
            FROM cluster_change WHERE cluster_id = %(id)s
        ) c WHERE type <> 'ADDED' AND previous_version IS DISTINCT FROM before
    """,
    "a pod differs from its last change": """
        SELECT p.name, p.resource_version, c.version FROM cluster_pod p
        LEFT JOIN LATERAL (
            SELECT version, object, type FROM cluster_change
            WHERE cluster_id = p.cluster_id AND uid = p.uid ORDER BY version DESC LIMIT 1
        ) c ON true
        WHERE p.cluster_id = %(id)s
            AND (c.version IS DISTINCT FROM p.resource_version OR c.type = 'DELETED'
                OR c.object IS DISTINCT FROM p.body)
    """,
    "a pod does not have exactly one decision that scheduled it, for its node": """
        SELECT p.name, p.node_name, array_agg(d.node) FROM cluster_pod p
        LEFT JOIN controlplane_schedulingdecision d
            ON d.cluster_id = p.cluster_id AND d.pod_uid = p.uid AND d.result = 'scheduled'
        WHERE p.cluster_id = %(id)s
        GROUP BY p.name, p.node_name
        HAVING array_remove(array_agg(d.node), NULL)
            IS DISTINCT FROM array_remove(ARRAY[nullif(p.node_name, '')], NULL)::varchar[]
    """,
    "the attempts of a pod are not 1, 2, 3 ...": """
        SELECT name, attempts, results FROM (
            SELECT name, count(*)::int AS n,
                array_agg(attempt ORDER BY id)::int[] AS attempts,
                array_agg(result ORDER BY id) AS results
            FROM controlplane_schedulingdecision WHERE cluster_id = %(id)s GROUP BY pod_uid, name
        ) d
        WHERE attempts <> ARRAY(SELECT generate_series(1, n))
            OR 'scheduled' = ANY(results[: n - 1])
    """,
    "the attempts of a queue entry differ from the number of decisions": """
        SELECT q.name, q.attempts, count(d.id) FROM controlplane_queueentry q
        LEFT JOIN controlplane_schedulingdecision d
            ON d.cluster_id = q.cluster_id AND d.pod_uid = q.pod_uid
        WHERE q.cluster_id = %(id)s
        GROUP BY q.pod_uid, q.name, q.attempts HAVING q.attempts <> count(d.id)
    """,
    "a move of a pod does not start where the previous one ended": """
        SELECT * FROM (
            SELECT name, event, source, target,
                coalesce(lag(target) OVER (PARTITION BY pod_uid ORDER BY id), '') AS before
            FROM controlplane_queuemove WHERE cluster_id = %(id)s
        ) m WHERE source <> before OR source = target
    """,
    "the last move of a pod does not lead to its place": """
        SELECT p.name, q.queue, m.target FROM cluster_pod p
        LEFT JOIN controlplane_queueentry q ON q.cluster_id = p.cluster_id AND q.pod_uid = p.uid
        LEFT JOIN LATERAL (
            SELECT target FROM controlplane_queuemove
            WHERE cluster_id = p.cluster_id AND pod_uid = p.uid ORDER BY id DESC LIMIT 1
        ) m ON true
        WHERE p.cluster_id = %(id)s AND m.target IS DISTINCT FROM coalesce(q.queue, '')
    """,
    "the number of pops of a pod differs from its number of attempts": """
        SELECT p.name, m.pops, d.decisions FROM cluster_pod p,
        LATERAL (
            SELECT count(*) AS pops FROM controlplane_queuemove
            WHERE cluster_id = p.cluster_id AND pod_uid = p.uid AND target = 'in_flight'
        ) m,
        LATERAL (
            SELECT count(*) AS decisions FROM controlplane_schedulingdecision
            WHERE cluster_id = p.cluster_id AND pod_uid = p.uid
        ) d
        WHERE p.cluster_id = %(id)s AND m.pops <> d.decisions
    """,
    "a pod does not have exactly one Scheduled event": """
        SELECT p.name, count(e.name) FROM cluster_pod p
        LEFT JOIN cluster_event e ON e.cluster_id = p.cluster_id
            AND e.involved_uid = p.uid::text AND e.reason = 'Scheduled'
        WHERE p.cluster_id = %(id)s
        GROUP BY p.name, p.node_name HAVING count(e.name) <> (p.node_name <> '')::int
    """,
}


def find_violations(database_url: str, cluster: str, pods: set[str]) -> list[str]:
    """All violations in a cluster that must have exactly these pods."""
    with psycopg.connect(database_url, autocommit=True) as database:
        # the tables have just been filled
        database.execute("ANALYZE")
        [(cluster_id,)] = database.execute(
            "SELECT id FROM cluster_cluster WHERE name = %s", [cluster]
        ).fetchall()
        rows = database.execute("SELECT name FROM cluster_pod WHERE cluster_id = %s", [cluster_id])
        present = {str(name) for (name,) in rows.fetchall()}
        found = [_describe(cluster, "a pod is lost", sorted(pods - present))]
        found.append(_describe(cluster, "an unexpected pod exists", sorted(present - pods)))
        for what, query in INVARIANTS.items():
            violating = database.execute(query.encode(), {"id": cluster_id}).fetchall()
            found.append(_describe(cluster, what, violating))
    return [text for text in found if text]


def list_pods(database_url: str, cluster: str) -> set[str]:
    """The names of the pods of a cluster."""
    with psycopg.connect(database_url) as database:
        rows = database.execute(
            "SELECT p.name FROM cluster_pod p JOIN cluster_cluster c ON c.id = p.cluster_id "
            "WHERE c.name = %s",
            [cluster],
        )
        return {str(name) for (name,) in rows.fetchall()}


def _describe(cluster: str, what: str, rows: list[Any]) -> str:
    return f"{cluster}: {what}: {len(rows)} rows, such as {rows[:3]}" if rows else ""
