"""In which order the pods of a node came there, as the engine of a decision knew it.

A new engine takes in the pods in the order of their creation. Those it placed itself came when it
decided so, all others when the change log brought them. Only preemption looks at this order, and
only among pods of equal priority that started in the same second.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db import connection

from apps.cluster.models import Cluster
from apps.controlplane.rebuilding.objects import PastObject, creation_order

#: Pods that the log brought with a node: new ones, or ones that somebody else bound.
_BROUGHT = """
    SELECT DISTINCT ON (c.uid) c.uid::text, c.version FROM cluster_change c
    LEFT JOIN cluster_change p ON p.cluster_id = c.cluster_id AND p.version = c.previous_version
    WHERE c.cluster_id = %s AND c.uid = ANY(%s::uuid[]) AND c.version > %s AND c.version <= %s
        AND coalesce(c."object"->'spec'->>'nodeName', '') <> ''
        AND (c.previous_version IS NULL OR coalesce(p."object"->'spec'->>'nodeName', '') = '')
    ORDER BY c.uid, c.version
"""
_PLACED = """
    SELECT pod_uid::text, cluster_version, sequence FROM controlplane_schedulingdecision
    WHERE cluster_id = %s AND pod_uid = ANY(%s::uuid[]) AND result = 'scheduled'
        AND cluster_version >= %s
"""


def arrival_order(
    cluster: Cluster, pods: Collection[PastObject], *, loaded_at: int, version: int
) -> list[PastObject]:
    """Pods with a node at `version`, as an engine that was loaded at `loaded_at` took them in."""
    uids = [each.item.metadata.uid for each in pods]
    with connection.cursor() as cursor:
        cursor.execute(_PLACED, [cluster.pk, uids, loaded_at])
        came = {uid: (after, 1, sequence) for uid, after, sequence in cursor.fetchall()}
        others = [uid for uid in uids if uid not in came]
        cursor.execute(_BROUGHT, [cluster.pk, others, loaded_at, version])
        # the log up to a version is read before the decisions that know this version
        came |= {uid: (at, 0, 0) for uid, at in cursor.fetchall()}
    was_there = (-1, 0, 0)
    return sorted(
        creation_order(cluster, pods),
        key=lambda each: came.get(each.item.metadata.uid, was_there),
    )
