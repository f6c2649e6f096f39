"""Ends transactions whose client has stalled: its process was stopped, or its machine paused.

The locks of such a transaction last as long as the pause: the lease of a cluster, so that no other
worker takes it over, or the counter of a cluster, so that all writers wait. PostgreSQL's
`idle_in_transaction_session_timeout` alone is not sufficient. It is long, and does not apply to a
pipeline (`apps/cluster/exchange.py`): after statements without a synchronization point the backend
is "active" and waits for the next one, without a limit before PostgreSQL 17.
"""

from __future__ import annotations

import logging

from django.db import connection

from apps.engine.workers.lease import HELD, TTL_SECONDS

log = logging.getLogger(__name__)

#: A transaction has stalled if its client has sent nothing for TTL_SECONDS, and
#: - it is in the middle of a pipeline. `query_start` is the time of the last message;
#: - or it has written, and its client does not read the result;
#: - or it is idle, and others wait for its rows, or for the lease that it has locked.
#: Others may be idle for longer: a backup reads a table while it compresses the one before.
#: COPY reports the time when it began: whether its client sends is unknown.
_END = f"""
    WITH silent AS MATERIALIZED (
        SELECT pid, state, wait_event, query, backend_xid IS NOT NULL AS has_written,
            extract(epoch FROM clock_timestamp()
                - CASE state WHEN 'active' THEN query_start ELSE state_change END)::float8 AS age
        FROM pg_stat_activity
        WHERE datname = current_database() AND usename = current_user
        AND backend_type = 'client backend' AND pid <> pg_backend_pid()
        AND wait_event_type = 'Client' AND xact_start IS NOT NULL
    ), late AS MATERIALIZED (
        SELECT l.cluster_id
        FROM controlplane_looplease l JOIN cluster_cluster c ON c.id = l.cluster_id
        WHERE NOT c.paused AND c.due_at < clock_timestamp() AND (l.expires_at {HELD}) IS NOT TRUE
        AND EXISTS (SELECT FROM silent WHERE state <> 'active' AND age > {TTL_SECONDS})
    ), free AS MATERIALIZED (
        SELECT cluster_id FROM controlplane_looplease
        WHERE cluster_id IN (SELECT cluster_id FROM late) FOR NO KEY UPDATE SKIP LOCKED
    ), waiting AS MATERIALIZED (
        SELECT pg_blocking_pids(pid) AS pids FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'
        AND wait_event IN ('transactionid', 'tuple')
    )
    SELECT pid, state, age, query FROM silent s
    WHERE age > {TTL_SECONDS} AND CASE
        WHEN state = 'active' AND wait_event = 'ClientRead' THEN query NOT ILIKE 'copy %%'
        WHEN state = 'active' THEN has_written AND query NOT ILIKE 'copy %%'
        ELSE EXISTS (SELECT FROM waiting WHERE s.pid = ANY(pids))
            OR (SELECT count(*) FROM late) > (SELECT count(*) FROM free)
            AND EXISTS (
                SELECT FROM pg_locks k WHERE k.pid = s.pid AND k.mode = 'RowExclusiveLock'
                AND k.relation = 'controlplane_looplease'::regclass
            )
        END
"""


def end_stalled_transactions() -> list[int]:
    """Terminate the backends of stalled transactions; returns their process ids."""
    with connection.cursor() as cursor:
        cursor.execute(_END, [])
        rows = cursor.fetchall()
        for pid, state, age, query in rows:
            log.warning(
                "ended backend %s (%s), whose client has sent nothing for %.0f s: %s",
                *(pid, state, age, " ".join(query.split())[:80]),
            )
            cursor.execute("SELECT pg_terminate_backend(%s)", [pid])
    return [pid for pid, *_ in rows]
