"""What must hold of a quiet cluster whatever happened to the processes on the way.

Each invariant is a query for what breaks it. They read the rows alone, so that a fault of the
code that serves them does not hide one of the code that wrote them.
"""

from __future__ import annotations

from typing import Any

import psycopg

#: A pod with this label fits nowhere; it has to wait in the queue, with its reason.
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

#: what is broken -> the rows that show it
INVARIANTS: dict[str, str] = {
    "a pod waits that could run": f"""
        SELECT name FROM cluster_pod
        WHERE cluster_id = %(id)s AND node_name = '' AND NOT labels ? '{NOWHERE}'
    """,
    "a pod runs that fits nowhere": f"""
        SELECT name, node_name FROM cluster_pod
        WHERE cluster_id = %(id)s AND node_name <> '' AND labels ? '{NOWHERE}'
    """,
    "a pod that waits is not in the queue": """
        SELECT p.name FROM cluster_pod p
        LEFT JOIN controlplane_queueentry q ON q.cluster_id = p.cluster_id AND q.pod_uid = p.uid
        WHERE p.cluster_id = %(id)s AND p.node_name = '' AND q.pod_uid IS NULL
    """,
    "a pod is in the queue that does not wait": """
        SELECT q.name, q.queue FROM controlplane_queueentry q
        LEFT JOIN cluster_pod p ON p.cluster_id = q.cluster_id AND p.uid = q.pod_uid
        WHERE q.cluster_id = %(id)s AND coalesce(p.node_name, 'gone') <> ''
    """,
    "a pod was bound twice": f"""
        WITH b AS MATERIALIZED ({_BOUND})
        SELECT name, count(*), array_agg(node ORDER BY version) FROM b
        GROUP BY uid, name HAVING count(*) > 1
    """,
    "a pod runs that was never bound": f"""
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
    "a node holds more pods than it may": """
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
    "a change does not follow the one before of the same object": """
        SELECT * FROM (
            SELECT kind, name, version, type, previous_version,
                lag(version) OVER (PARTITION BY uid ORDER BY version) AS before
            FROM cluster_change WHERE cluster_id = %(id)s
        ) c WHERE type <> 'ADDED' AND previous_version IS DISTINCT FROM before
    """,
    "a pod is not what its last change made it": """
        SELECT p.name, p.resource_version, c.version FROM cluster_pod p
        LEFT JOIN LATERAL (
            SELECT version, object, type FROM cluster_change
            WHERE cluster_id = p.cluster_id AND uid = p.uid ORDER BY version DESC LIMIT 1
        ) c ON true
        WHERE p.cluster_id = %(id)s
            AND (c.version IS DISTINCT FROM p.resource_version OR c.type = 'DELETED'
                OR c.object IS DISTINCT FROM p.body)
    """,
    "a pod has not exactly one decision that scheduled it, for its node": """
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
            SELECT name, count(*)::int AS n, array_agg(attempt ORDER BY id)::int[] AS attempts,
                array_agg(result ORDER BY id) AS results
            FROM controlplane_schedulingdecision WHERE cluster_id = %(id)s GROUP BY pod_uid, name
        ) d
        WHERE attempts <> ARRAY(SELECT generate_series(1, n))
            OR 'scheduled' = ANY(results[: n - 1])
    """,
    "a queue entry counts other attempts than there are decisions": """
        SELECT q.name, q.attempts, count(d.id) FROM controlplane_queueentry q
        LEFT JOIN controlplane_schedulingdecision d
            ON d.cluster_id = q.cluster_id AND d.pod_uid = q.pod_uid
        WHERE q.cluster_id = %(id)s
        GROUP BY q.pod_uid, q.name, q.attempts HAVING q.attempts <> count(d.id)
    """,
    "a move of a pod does not begin where the one before ended": """
        SELECT * FROM (
            SELECT name, event, source, target,
                coalesce(lag(target) OVER (PARTITION BY pod_uid ORDER BY id), '') AS before
            FROM controlplane_queuemove WHERE cluster_id = %(id)s
        ) m WHERE source <> before OR source = target
    """,
    "the moves of a pod do not end where it is": """
        SELECT p.name, q.queue, m.target FROM cluster_pod p
        LEFT JOIN controlplane_queueentry q ON q.cluster_id = p.cluster_id AND q.pod_uid = p.uid
        LEFT JOIN LATERAL (
            SELECT target FROM controlplane_queuemove
            WHERE cluster_id = p.cluster_id AND pod_uid = p.uid ORDER BY id DESC LIMIT 1
        ) m ON true
        WHERE p.cluster_id = %(id)s AND m.target IS DISTINCT FROM coalesce(q.queue, '')
    """,
    "a pod was taken from the queue more or less often than it was tried": """
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
    "a pod has not exactly one event that says it was scheduled": """
        SELECT p.name, count(e.name) FROM cluster_pod p
        LEFT JOIN cluster_event e ON e.cluster_id = p.cluster_id
            AND e.involved_uid = p.uid::text AND e.reason = 'Scheduled'
        WHERE p.cluster_id = %(id)s
        GROUP BY p.name, p.node_name HAVING count(e.name) <> (p.node_name <> '')::int
    """,
}


def violations(database_url: str, cluster: str, pods: set[str]) -> list[str]:
    """Everything that does not hold of a cluster that was told to have exactly these pods."""
    with psycopg.connect(database_url, autocommit=True) as database:
        # the tables have just been filled
        database.execute("ANALYZE")
        [(cluster_id,)] = database.execute(
            "SELECT id FROM cluster_cluster WHERE name = %s", [cluster]
        ).fetchall()
        rows = database.execute("SELECT name FROM cluster_pod WHERE cluster_id = %s", [cluster_id])
        there = {str(name) for (name,) in rows.fetchall()}
        found = [_told(cluster, "a pod is lost", sorted(pods - there))]
        found.append(_told(cluster, "a pod is there that nobody sent", sorted(there - pods)))
        for what, query in INVARIANTS.items():
            broken = database.execute(query.encode(), {"id": cluster_id}).fetchall()
            found.append(_told(cluster, what, broken))
    return [text for text in found if text]


def _told(cluster: str, what: str, rows: list[Any]) -> str:
    return f"{cluster}: {what}: {len(rows)} times, such as {rows[:3]}" if rows else ""
