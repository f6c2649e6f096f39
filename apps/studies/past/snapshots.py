"""The nodes and pods of a cluster at a version.

Every version of an object is decoded once: a snapshot shares it with the other snapshots that this
process has in memory, so that the next position of a slider only reads what differs.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from django.db import connection

from apps.cluster.errors import Expired
from apps.cluster.models import Cluster
from apps.studies.past.versions import NodeVersion, PodVersion, decode_node, decode_pod

TOO_OLD: Final = "The change log no longer reaches back to this version."
#: Snapshots in the memory of a process: two moments that are compared, and one more.
_KEPT: Final = 3

#: The objects at a version, from one snapshot of the database: those of the tables that have not
#: changed since, and of the others the version before their first later change. Bodies are left
#: out of versions that are known.
_READ = """
    WITH later AS MATERIALIZED (
        SELECT DISTINCT ON (uid) uid, kind, previous_version FROM cluster_history
        WHERE cluster_id = %(cluster)s AND version > %(version)s AND kind IN ('Node', 'Pod')
        ORDER BY uid, version
    ),
    known AS MATERIALIZED (SELECT unnest(%(known)s::bigint[]) AS version),
    keys AS (
        SELECT 'Node' AS kind, resource_version AS version, id, NULL::uuid AS uid FROM cluster_node
        WHERE cluster_id = %(cluster)s AND resource_version <= %(version)s
        UNION ALL
        SELECT 'Pod', resource_version, id, NULL FROM cluster_pod
        WHERE cluster_id = %(cluster)s AND resource_version <= %(version)s
        UNION ALL
        SELECT kind, previous_version, NULL, uid FROM later WHERE previous_version IS NOT NULL
    )
    SELECT keys.kind, keys.version, known.version IS NOT NULL,
        CASE WHEN known.version IS NOT NULL THEN NULL
        WHEN keys.id IS NULL THEN (
            SELECT c."object"::text FROM cluster_history c
            WHERE c.cluster_id = %(cluster)s AND c.version = keys.version
        ) WHEN keys.kind = 'Node' THEN (SELECT body::text FROM cluster_node WHERE id = keys.id)
        ELSE (SELECT body::text FROM cluster_pod WHERE id = keys.id) END
    FROM keys LEFT JOIN known ON known.version = keys.version
"""


@dataclass(frozen=True)
class Snapshot:
    """The nodes and pods at a version, by uid."""

    cluster_id: int
    version: int
    nodes: Mapping[str, NodeVersion] = field(default_factory=dict)
    pods: Mapping[str, PodVersion] = field(default_factory=dict)

    @cached_property
    def pods_on(self) -> Mapping[str, list[PodVersion]]:
        """Node name -> the pods that use resources there."""
        by_node: defaultdict[str, list[PodVersion]] = defaultdict(list)
        for pod in self.pods.values():
            if pod.node and not pod.is_finished:
                by_node[pod.node].append(pod)
        return dict(by_node)

    @cached_property
    def requested(self) -> Mapping[str, Mapping[str, int]]:
        """Node name -> resource -> amount that its pods request; "pods" is among the resources."""
        by_node: dict[str, Mapping[str, int]] = {}
        for name, pods in self.pods_on.items():
            amounts: defaultdict[str, int] = defaultdict(int, pods=len(pods))
            for pod in pods:
                for resource, amount in pod.requests.items():
                    amounts[resource] += amount
            by_node[name] = dict(amounts)
        return by_node


class Snapshots:
    """The last snapshots of a process. Threads take turns, so that they read a version once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: the last one used is the last
        self._kept: list[Snapshot] = []

    def at(self, cluster: Cluster, version: int) -> Snapshot:
        """The snapshot at a version; Expired if the change log does not reach back to it."""
        with self._lock:
            for known in self._kept:
                if (known.cluster_id, known.version) == (cluster.pk, version):
                    self._keep(known)
                    return known
            # the memory of the oldest one is free before the next one is read
            self._kept = self._kept[-_KEPT + 1 :]
            snapshot = self._read(cluster, version)
            self._keep(snapshot)
            return snapshot

    def _keep(self, used: Snapshot) -> None:
        self._kept = [*(each for each in self._kept if each is not used), used]

    def _read(self, cluster: Cluster, version: int) -> Snapshot:
        known: dict[int, NodeVersion | PodVersion] = {}
        for other in self._kept:
            if other.cluster_id == cluster.pk:
                known.update((each.version, each) for each in other.nodes.values())
                known.update((each.version, each) for each in other.pods.values())
        return read_snapshot(cluster, version, known)


def read_snapshot(
    cluster: Cluster, version: int, known: Mapping[int, NodeVersion | PodVersion]
) -> Snapshot:
    """The snapshot at a version; objects whose version is known are not read again.

    Raises Expired if the change log does not reach back to the version.
    """
    if version < cluster.forgotten_version:
        raise Expired(TOO_OLD)
    with connection.cursor() as cursor:
        values: dict[str, Any] = {"cluster": cluster.pk, "version": version, "known": list(known)}
        cursor.execute(_READ, values)
        rows = cursor.fetchall()
    nodes: dict[str, NodeVersion] = {}
    pods: dict[str, PodVersion] = {}
    for kind, number, is_known, text in rows:
        if not is_known and text is None:
            raise Expired(TOO_OLD)
        decode = decode_node if kind == "Node" else decode_pod
        item = known[number] if is_known else decode(number, text)
        if isinstance(item, NodeVersion):
            nodes[item.uid] = item
        elif isinstance(item, PodVersion):
            pods[item.uid] = item
    return Snapshot(cluster.pk, version, nodes, pods)


snapshots = Snapshots()
