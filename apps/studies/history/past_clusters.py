"""Deleted clusters whose history is still retained."""

from __future__ import annotations

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import QuerySet

from apps.cluster.access.reach import EVERYTHING, Reach
from apps.cluster.errors import ApiError, NotFound
from apps.cluster.log import sharing
from apps.cluster.models import Change, Cluster, ClusterAccess, ForkPoint, Membership
from apps.cluster.partitions import daily
from apps.engine.models import ConfigurationRevision, GroupAttempt, NodeTable, PastCluster

#: Tables whose rows remain when a cluster is deleted: recorded history and what it refers to.
HISTORY = (
    *daily.TABLES,
    *(
        model._meta.db_table
        for model in (NodeTable, ConfigurationRevision, GroupAttempt, Change, ForkPoint)
    ),
    # who may read the history
    *(model._meta.db_table for model in (ClusterAccess, Membership)),
)

#: Between the name and the id of a deleted cluster in addresses.
_SEPARATOR = "~"


class ClusterDeleted(ApiError):
    """The cluster is deleted, and what was asked for is not part of its history."""

    code, reason = 410, "Deleted"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The cluster {name} is deleted. Its decisions, changes, events, queue history and "
            "pod timelines remain."
        )


def list_past_clusters(reach: Reach = EVERYTHING) -> QuerySet[PastCluster]:
    """Deleted clusters with retained history, most recently deleted first."""
    return reach.restrict(PastCluster.objects.order_by("-deleted_at", "-id"), "pk")


def get_past_cluster(cluster_id: int) -> PastCluster:
    """The deleted cluster that had this id; raises NotFound when no history is retained."""
    past_cluster = PastCluster.objects.filter(pk=cluster_id).first()
    if past_cluster is None:
        raise NotFound("pastclusters", str(cluster_id))
    return past_cluster


def cluster_of(past: PastCluster) -> Cluster:
    """The cluster as its history is read: with its id, the name of `slug`, and no row.

    The tables of its history have its rows; all other tables have none.
    """
    cluster = Cluster(
        pk=past.pk,
        uid=past.uid,
        name=slug(past),
        created_at=past.created_at,
        tie_break=past.tie_break,
        seed=past.seed,
        resource_version=past.resource_version,
    )
    cluster.deleted_at = past.deleted_at
    return cluster


def find_cluster(cluster_id: int) -> Cluster:
    """The cluster with this id, also a deleted one; an empty one if nothing is known of it."""
    present = Cluster.objects.filter(pk=cluster_id).first()
    if present is not None:
        return present
    past = PastCluster.objects.filter(pk=cluster_id).first()
    return cluster_of(past) if past is not None else Cluster(pk=cluster_id)


def slug(past: PastCluster) -> str:
    """The name in addresses: `lab~17`. No other cluster can have it, because names have no `~`."""
    return f"{past.name}{_SEPARATOR}{past.pk}"


def find_by_slug(name: str) -> Cluster | None:
    """The deleted cluster with this name in addresses; None for another name.

    Raises NotFound when its history is no longer retained.
    """
    name, separator, number = name.rpartition(_SEPARATOR)
    if not separator:
        return None
    if not (number.isascii() and number.isdecimal() and len(number) <= 18):
        raise NotFound("pastclusters", number)
    past = get_past_cluster(int(number))
    if past.name != name:
        raise NotFound("pastclusters", f"{name}{_SEPARATOR}{number}")
    return cluster_of(past)


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
    """Delete a cluster's history in the caller's transaction; forks get what they need of it."""
    sharing.stop_sharing(cursor, cluster_id)
    for table in HISTORY:
        if table in daily.TABLES:
            daily.set_retention_role(cursor)
        cursor.execute(f"DELETE FROM {table} WHERE cluster_id = %s", [cluster_id])
        daily.reset_role(cursor)
