"""History that forks share with the cluster that they were forked from.

A fork reads the changes up to its fork point from the log of the other cluster. Before that log
forgets them, the fork gets its own row for each object at the fork point.
"""

from __future__ import annotations

from typing import Final

from django.db.backends.utils import CursorWrapper

#: The last change of each object up to the fork point.
_KEEP = """
    INSERT INTO cluster_change (cluster_id, version, type, kind, namespace, name, uid, "object",
        previous_version, at, "user", request_id)
    SELECT cluster_id, version, type, kind, namespace, name, uid, "object", NULL, at, "user",
        request_id
    FROM (
        SELECT DISTINCT ON (uid) * FROM cluster_history
        WHERE cluster_id = %(fork)s AND version <= %(version)s ORDER BY uid, version DESC
    ) last WHERE type <> 'DELETED' ON CONFLICT DO NOTHING
"""
#: Forks of a cluster, and whether no other cluster is in between.
_FORKS = """
    SELECT f.cluster_id, f.version, NOT EXISTS (
        SELECT FROM cluster_forkpoint nearer WHERE nearer.cluster_id = f.cluster_id
        AND nearer.shared AND nearer.version > f.version
    ) FROM cluster_forkpoint f
    WHERE f.ancestor = %s AND f.shared AND (%s::bigint IS NULL OR f.version <= %s)
    ORDER BY f.cluster_id
"""


#: The first number of the advisory locks.
_LOCKS: Final = 7_215


def lock(cursor: CursorWrapper, ancestor: int) -> None:
    """Wait until no other transaction forks the cluster or deletes its changes; held to the end."""
    cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCKS, ancestor % 2**31])


def stop_sharing(cursor: CursorWrapper, ancestor: int, upto: int | None = None) -> None:
    """Make forks independent of the changes of a cluster: of those up to a version, or of all.

    Only forks whose fork point is not later than `upto` are; call it before the changes are
    deleted, in the same transaction.
    """
    lock(cursor, ancestor)
    cursor.execute(_FORKS, [ancestor, upto, upto])
    forks = cursor.fetchall()
    for fork, version, is_nearest in forks:
        if is_nearest:
            cursor.execute(_KEEP, {"fork": fork, "version": version})
    for fork, version, _ in forks:
        cursor.execute(
            "UPDATE cluster_forkpoint SET shared = false WHERE cluster_id = %s AND version <= %s",
            [fork, version],
        )
        _forget(cursor, fork, version)


def forget_in_forks(cursor: CursorWrapper, ancestor: int, upto: int) -> None:
    """What a cluster deletes of its log, the forks that share it lose, too."""
    cursor.execute(
        "UPDATE cluster_cluster c SET forgotten_version = greatest(c.forgotten_version, %s) "
        "FROM cluster_forkpoint f WHERE f.ancestor = %s AND f.shared AND c.id = f.cluster_id",
        [upto, ancestor],
    )


def _forget(cursor: CursorWrapper, fork: int, version: int) -> None:
    cursor.execute(
        "UPDATE cluster_cluster SET forgotten_version = greatest(forgotten_version, %s) "
        "WHERE id = %s",
        [version, fork],
    )
