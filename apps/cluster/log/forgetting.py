"""Forgetting old changes, so that the log does not grow for ever.

What is forgotten up to a version cannot be watched from before it any more (410 Gone, `Expired`),
but the state at that version and every later one is still known: each object's last change up to
it is kept, unless that was its deletion.
"""

from __future__ import annotations

from django.db import connection, transaction

#: Versions that one transaction forgets: it holds the cluster's counter for a moment at its end.
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
    """Forget some changes up to version `horizon`; False when there are none left, or no cluster.

    Readers see all of a step or nothing.
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
        cursor.execute(_DELETE, {"cluster": cluster_id, "after": row[0], "upto": upto})
        # last, as every writer: whoever waits for the counter waits for the commit alone
        cursor.execute(
            "UPDATE cluster_cluster SET forgotten_version = greatest(forgotten_version, %s) "
            "WHERE id = %s",
            [upto, cluster_id],
        )
    return True
