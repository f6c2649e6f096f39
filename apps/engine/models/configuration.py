"""The configurations of a cluster's scheduler: revisions and drafts."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from apps.cluster.models import Cluster


class ConfigurationRevision(models.Model):
    """One revision of a cluster's KubeSchedulerConfiguration.

    The configuration never changes; `active`, `name` and `note` may.

    The loop schedules with the revision marked `active`. A configuration holds one scheduler
    profile for each schedulerName.
    """

    # decisions refer to revisions, also after the cluster is deleted
    cluster = models.ForeignKey(
        Cluster, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False
    )
    revision = models.PositiveIntegerField()
    #: The KubeSchedulerConfiguration as YAML, as submitted.
    configuration = models.TextField()
    #: Converted from an older format; may name legacy plugins.
    legacy = models.BooleanField(default=False)
    active = models.BooleanField(default=False)
    #: Chosen by a user; unique in the cluster unless empty.
    name = models.CharField(max_length=63, blank=True)
    note = models.CharField(max_length=200, blank=True)
    user = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = "scheduler profiles"
        verbose_name_plural = "scheduler profiles"
        constraints = (
            models.UniqueConstraint(fields=["cluster", "revision"], name="unique_revision"),
            models.UniqueConstraint(
                fields=["cluster"],
                condition=models.Q(active=True),
                name="one_active_revision",
            ),
            models.UniqueConstraint(
                fields=["cluster", "name"],
                condition=~models.Q(name=""),
                name="unique_revision_name",
            ),
        )

    def __str__(self) -> str:
        return f"{self.cluster_id} revision {self.revision}"


class ConfigurationDraft(models.Model):
    """A configuration that a user is still writing: it may be invalid, and changes when saved."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, db_index=False)
    name = models.CharField(max_length=63)
    configuration = models.TextField()
    legacy = models.BooleanField(default=False)
    note = models.CharField(max_length=200, blank=True)
    #: The user who saved it last.
    user = models.CharField(max_length=150)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["cluster", "name"], name="unique_draft_name"),
        )

    def __str__(self) -> str:
        return f"{self.cluster_id} draft {self.name}"
