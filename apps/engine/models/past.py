"""What remains of deleted clusters, and when a version was current."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from apps.cluster.models import Cluster


class PastCluster(models.Model):
    """A deleted cluster; its history is retained under the id it had."""

    id = models.BigIntegerField(primary_key=True)
    uid = models.UUIDField()
    name = models.CharField(max_length=63)
    created_at = models.DateTimeField()
    #: By the database's clock.
    deleted_at = models.DateTimeField(db_default=Now())
    #: Who deleted it.
    user = models.CharField(max_length=150, blank=True)
    tie_break = models.CharField(max_length=16)
    seed = models.BigIntegerField()
    #: Version of the cluster's last change.
    resource_version = models.BigIntegerField()

    class Meta:
        indexes = (models.Index(fields=["name", "-deleted_at"], name="past_cluster_name"),)

    def __str__(self) -> str:
        return f"{self.name} (deleted)"


class VersionMark(models.Model):
    """A cluster's version at the start of a day (UTC, by the database): dates its changes."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, db_index=False)
    day = models.DateField()
    version = models.BigIntegerField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["cluster", "day"], name="unique_version_mark"),
        )

    def __str__(self) -> str:
        return f"{self.cluster_id} at {self.day}: {self.version}"
