"""Deletes old changes, so that the log does not grow without limit.

A watch cannot start before the last deleted version (410 Gone, `Expired`), but the state at that
version and every later one can still be read: the last change of each object up to it is kept,
unless it is the object's deletion.
"""

from __future__ import annotations

from django.db import connection, transaction

from apps.cluster.log import sharing

#: Versions per transaction, which locks the cluster's counter briefly at its end.
STEP = 2000

_DELETE = """
    WITH touched AS (
        SELECT uid, max(version) AS last FROM cluster_change
        WHERE cluster_id = %(cluster)s AND version > %(after)s AND version <= %(upto)s GROUP BY uid
    )
    DELETE FROM cluster_change c USING touched t
    WHERE c.cluster_id = %(cluster)s AND c.uid = t.uid AND c.version <= %(upto)s
    AND (c.version < t.last OR c.type = 'DELETED')
"""


def forget_changes(cluster_id: int, horizon: int) -> bool:
    """Delete some changes up to version `horizon`; False when none are left, or no cluster.

    Each step is one transaction.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT forgotten_version, resource_version FROM cluster_cluster WHERE id = %s",
            [cluster_id],
        )
        row = cursor.fetchone()
        if row is None or row[0] >= min(horizon, row[1]):
            return False
        upto = min(horizon, row[1], row[0] + STEP)
        sharing.stop_sharing(cursor, cluster_id, upto)
        cursor.execute(_DELETE, {"cluster": cluster_id, "after": row[0], "upto": upto})
        # last, as in every write: a transaction that waits for the counter waits only for the
        # commit
        cursor.execute(
            "UPDATE cluster_cluster SET forgotten_version = greatest(forgotten_version, %s) "
            "WHERE id = %s",
            [upto, cluster_id],
        )
        sharing.forget_in_forks(cursor, cluster_id, upto)
    return True
