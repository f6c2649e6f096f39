"""Clusters that were deleted, whose decisions are still there."""

from __future__ import annotations

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import QuerySet

from apps.cluster.errors import NotFound
from apps.cluster.models import Change, Cluster
from apps.controlplane.models import ConfigurationRevision, NodeTable, PastCluster
from apps.controlplane.partitions import daily

#: The tables whose rows stay when a cluster is deleted: what was recorded, and what that refers to.
HISTORY = (
    *daily.TABLES,
    *(model._meta.db_table for model in (NodeTable, ConfigurationRevision, Change)),
)


def past_clusters() -> QuerySet[PastCluster]:
    """Deleted clusters whose history is kept, the latest first."""
    return PastCluster.objects.order_by("-deleted_at", "-id")


def past_cluster(cluster_id: int) -> PastCluster:
    """A deleted cluster by the id it had; NotFound when nothing is kept of it."""
    found = PastCluster.objects.filter(pk=cluster_id).first()
    if found is None:
        raise NotFound("pastclusters", str(cluster_id))
    return found


def remember(cluster: Cluster, *, user: str) -> None:
    """Note that this cluster is being deleted, in the same transaction."""
    PastCluster.objects.create(
        id=cluster.pk,
        uid=cluster.uid,
        name=cluster.name,
        created_at=cluster.created_at,
        user=user,
        tie_break=cluster.tie_break,
        seed=cluster.seed,
        resource_version=Cluster.objects.values_list("resource_version", flat=True).get(
            pk=cluster.pk
        ),
    )


def forget(past: PastCluster) -> None:
    """Delete what is kept of a deleted cluster."""
    with transaction.atomic(), connection.cursor() as cursor:
        forget_history(cursor, past.pk)
        past.delete()


def forget_history(cursor: CursorWrapper, cluster_id: int) -> None:
    """Delete the history of a cluster in the caller's transaction."""
    for table in HISTORY:
        if table in daily.TABLES:
            daily.set_retention_role(cursor)
        cursor.execute(f"DELETE FROM {table} WHERE cluster_id = %s", [cluster_id])
        daily.reset_role(cursor)
