"""The order in which pods arrived on their nodes, as the engine of a decision knew it.

A new engine adds existing pods in the order of their creation. Pods that it scheduled itself arrive
with their decision, all others with their change in the log. Only preemption uses this order, and
only for pods of equal priority that started in the same second.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db import connection

from apps.cluster.models import Cluster
from apps.controlplane.rebuilding.objects import PastObject, sort_by_creation

#: Pods that got their node in the log: created with one, or bound by another scheduler.
_LOGGED = """
    SELECT DISTINCT ON (c.uid) c.uid::text, c.version FROM cluster_change c
    LEFT JOIN cluster_change p ON p.cluster_id = c.cluster_id AND p.version = c.previous_version
    WHERE c.cluster_id = %s AND c.uid = ANY(%s::uuid[]) AND c.version > %s AND c.version <= %s
        AND coalesce(c."object"->'spec'->>'nodeName', '') <> ''
        AND (c.previous_version IS NULL OR coalesce(p."object"->'spec'->>'nodeName', '') = '')
    ORDER BY c.uid, c.version
"""
_SCHEDULED = """
    SELECT pod_uid::text, cluster_version, sequence FROM controlplane_schedulingdecision
    WHERE cluster_id = %s AND pod_uid = ANY(%s::uuid[]) AND result = 'scheduled'
        AND cluster_version >= %s
"""


def sort_by_arrival(
    cluster: Cluster, pods: Collection[PastObject], *, loaded_at: int, version: int
) -> list[PastObject]:
    """Sort pods with a node at `version` as they arrived in an engine loaded at `loaded_at`."""
    uids = [each.item.metadata.uid for each in pods]
    with connection.cursor() as cursor:
        cursor.execute(_SCHEDULED, [cluster.pk, uids, loaded_at])
        arrived = {uid: (after, 1, sequence) for uid, after, sequence in cursor.fetchall()}
        others = [uid for uid in uids if uid not in arrived]
        cursor.execute(_LOGGED, [cluster.pk, others, loaded_at, version])
        # the log is read up to a version before the decisions based on this version
        arrived |= {uid: (at, 0, 0) for uid, at in cursor.fetchall()}
    at_load = (-1, 0, 0)
    return sorted(
        sort_by_creation(cluster, pods),
        key=lambda each: arrived.get(each.item.metadata.uid, at_load),
    )
