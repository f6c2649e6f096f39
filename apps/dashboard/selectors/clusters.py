"""What the page of all clusters shows."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection

from apps.cluster.models import Cluster

_COUNTS = """
    SELECT c.id,
        (SELECT count(*) FROM cluster_node n WHERE n.cluster_id = c.id),
        (SELECT count(*) FROM cluster_pod p WHERE p.cluster_id = c.id),
        (SELECT count(*) FROM cluster_pod p WHERE p.cluster_id = c.id AND p.node_name = ''
            AND p.phase NOT IN ('Succeeded', 'Failed')),
        (SELECT count(*) FROM controlplane_schedulingdecision d WHERE d.cluster_id = c.id
            AND d.at > now() - interval '1 minute' AND d.result = 'scheduled')
    FROM cluster_cluster c WHERE c.id = ANY(%s)
"""


@dataclass(frozen=True, slots=True)
class ClusterCard:
    """One cluster at a glance."""

    cluster: Cluster
    nodes: int
    pods: int
    pending_pods: int
    scheduled_last_minute: int

    @property
    def pods_per_second(self) -> float:
        return self.scheduled_last_minute / 60


def cluster_cards(clusters: list[Cluster]) -> list[ClusterCard]:
    """A card for each of these clusters, in their order; one statement for all of them."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, [[cluster.pk for cluster in clusters]])
        counts = {row[0]: row[1:] for row in cursor.fetchall()}
    return [
        ClusterCard(cluster, *counts[cluster.pk]) for cluster in clusters if cluster.pk in counts
    ]
