"""Deleted clusters whose history is still retained."""

from __future__ import annotations

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import QuerySet

from apps.cluster.errors import NotFound
from apps.cluster.models import Change, Cluster
from apps.controlplane.models import ConfigurationRevision, NodeTable, PastCluster
from apps.controlplane.partitions import daily

#: Tables whose rows remain when a cluster is deleted: recorded history and what it refers to.
HISTORY = (
    *daily.TABLES,
    *(model._meta.db_table for model in (NodeTable, ConfigurationRevision, Change)),
)


def list_past_clusters() -> QuerySet[PastCluster]:
    """Deleted clusters with retained history, most recently deleted first."""
    return PastCluster.objects.order_by("-deleted_at", "-id")


def get_past_cluster(cluster_id: int) -> PastCluster:
    """The deleted cluster that had this id; raises NotFound when no history is retained."""
    found = PastCluster.objects.filter(pk=cluster_id).first()
    if found is None:
        raise NotFound("pastclusters", str(cluster_id))
    return found


def record_deletion(cluster: Cluster, *, user: str) -> None:
    """Add a PastCluster row; call it in the transaction that deletes the cluster."""
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


def delete_past_cluster(past: PastCluster) -> None:
    """Delete a deleted cluster's history and its row."""
    with transaction.atomic(), connection.cursor() as cursor:
        delete_history(cursor, past.pk)
        past.delete()


def delete_history(cursor: CursorWrapper, cluster_id: int) -> None:
    """Delete a cluster's history in the caller's transaction."""
    for table in HISTORY:
        if table in daily.TABLES:
            daily.set_retention_role(cursor)
        cursor.execute(f"DELETE FROM {table} WHERE cluster_id = %s", [cluster_id])
        daily.reset_role(cursor)
