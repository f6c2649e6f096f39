"""The order in which pods arrived on their nodes, as the engine of a decision knew it.

A new engine adds existing pods in the order of their creation. Pods that it scheduled itself arrive
with their decision, all others with their change in the log. A pod that waits for
Permit or is being bound arrived with its decision, too. Only preemption uses this order, and only
for pods of equal priority that started in the same second or have not started.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from django.db import connection

from apps.cluster.models import Cluster
from apps.studies.rebuilding.past_objects import PastObject, sort_by_creation

#: Pods that got their node in the log: created with one, or bound by another scheduler.
_LOGGED = """
    SELECT DISTINCT ON (c.uid) c.uid::text, c.version FROM cluster_history c
    LEFT JOIN cluster_history p ON p.cluster_id = c.cluster_id AND p.version = c.previous_version
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


#: version, 0 for a change in the log or 1 for a decision based on that version, sequence
Arrival = tuple[int, int, int]
#: of pods that a new engine found on their nodes
AT_LOAD: Final[Arrival] = (-1, 0, 0)


def read_arrivals(
    cluster: Cluster, pods: Collection[PastObject], *, loaded_at: int, version: int
) -> dict[str, Arrival]:
    """When pods with a node at `version` arrived in an engine loaded at `loaded_at`; by uid.

    Pods that it found on their nodes are left out.
    """
    uids = [each.item.metadata.uid for each in pods]
    with connection.cursor() as cursor:
        cursor.execute(_SCHEDULED, [cluster.pk, uids, loaded_at])
        arrived = {uid: decided(after, sequence) for uid, after, sequence in cursor.fetchall()}
        others = [uid for uid in uids if uid not in arrived]
        cursor.execute(_LOGGED, [cluster.pk, others, loaded_at, version])
        # the log is read up to a version before the decisions based on this version
        arrived |= {uid: (at, 0, 0) for uid, at in cursor.fetchall()}
    return arrived


def decided(version: int, sequence: int) -> Arrival:
    """The arrival of a pod with the decision number `sequence` of those based on `version`."""
    return version, 1, sequence


def sort_by_arrival(
    cluster: Cluster, pods: Collection[PastObject], arrived: Mapping[str, Arrival]
) -> list[PastObject]:
    """The pods in the order of their arrival, those that were there before by their creation."""
    return sorted(
        sort_by_creation(cluster, pods),
        key=lambda each: arrived.get(each.item.metadata.uid, AT_LOAD),
    )
