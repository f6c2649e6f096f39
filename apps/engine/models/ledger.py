"""The ledger: decisions, the nodes they saw, attempts of groups, and saved views of the list."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector
from django.db import models
from django.utils import timezone

from apps.cluster.models import Cluster


class NodeTable(models.Model):
    """The names of a cluster's nodes in the order of a snapshot's rows.

    Decisions name nodes by row; consecutive decisions share one table.
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False
    )
    digest = models.BinaryField(max_length=32)
    #: zstandard-compressed JSON list of names.
    names = models.BinaryField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["cluster", "digest"], name="unique_node_table"),
        )

    def __str__(self) -> str:
        return f"node table {self.pk} of cluster {self.cluster_id}"


class SchedulingDecision(models.Model):
    """One attempt to schedule one pod: the ledger. Retained after the pod is deleted."""

    class Result(models.TextChoices):
        SCHEDULED = "scheduled"
        UNSCHEDULABLE = "unschedulable"
        ERROR = "error"

    cluster = models.ForeignKey(
        Cluster, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False
    )
    pod_uid = models.UUIDField()
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    #: The pod's controller, "Deployment/web"; empty without one, and in rows of earlier releases.
    workload = models.CharField(max_length=317, blank=True, default="", db_default="")
    attempt = models.PositiveIntegerField()
    at = models.DateTimeField()
    profile_revision = models.PositiveIntegerField()
    scheduler_name = models.CharField(max_length=253)
    result = models.CharField(max_length=16, choices=Result.choices)
    #: The selected node; empty if there is none.
    node = models.CharField(max_length=253, blank=True)
    nominated_node = models.CharField(max_length=253, blank=True)
    #: Why the pod is unschedulable, without PostFilter's message; empty if scheduled.
    message = models.TextField(blank=True)
    post_filter_message = models.TextField(blank=True, default="")
    #: Plugins that rejected at least one node, or the pod; the one with most nodes first.
    unschedulable_plugins = ArrayField(models.CharField(max_length=100), default=list)
    #: Their reasons, most frequent first.
    reasons = ArrayField(models.TextField(), default=list)
    #: The pods ("namespace/name") that PostFilter selected for eviction.
    victims = ArrayField(models.CharField(max_length=317), default=list)
    nodes = models.PositiveIntegerField()
    feasible_nodes = models.PositiveIntegerField()
    tied_nodes = models.PositiveIntegerField()
    #: Total score of the selected node; null if no node was scored.
    total_score = models.BigIntegerField(null=True)
    #: Version of the cluster that the attempt saw, and its number among the decisions since.
    cluster_version = models.BigIntegerField()
    sequence = models.PositiveIntegerField()
    duration_us = models.PositiveIntegerField()
    request_id = models.CharField(max_length=64, blank=True)
    node_table = models.ForeignKey(
        NodeTable, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False
    )
    #: Everything else as compressed columns; `apps.engine.ledger.reading` reads them.
    columns = models.BinaryField()

    class Meta:
        indexes = (
            # the list of decisions, newest first; retention looks for node tables in it
            models.Index(fields=["cluster", "id"], include=["node_table"], name="decision_newest"),
            # the attempts of one pod
            models.Index(fields=["pod_uid", "id"], name="decision_of_pod"),
            # the attempts of pods by a prefix of their name, with any collation of the database
            models.Index(
                fields=["cluster", "name", "id"],
                name="decision_of_name_prefix",
                opclasses=["int8_ops", "varchar_pattern_ops", "int8_ops"],
            ),
            # by the request that created the pod
            models.Index(
                fields=["request_id", "id"],
                name="decision_request",
                condition=~models.Q(request_id=""),
            ),
            # by namespace
            models.Index(fields=["cluster", "namespace", "id"], name="decision_namespace"),
            # by workload
            models.Index(
                fields=["cluster", "workload", "id"],
                name="decision_workload",
                condition=~models.Q(workload=""),
            ),
            # scheduled on a node
            models.Index(
                fields=["cluster", "node", "id"],
                name="decision_on_some_node",
                condition=~models.Q(node=""),
            ),
            # pods per second over the last minute; since and until
            models.Index(fields=["cluster", "at"], name="decision_time"),
            # by result
            models.Index(fields=["cluster", "result", "id"], name="decision_result"),
            # by revision
            models.Index(fields=["cluster", "profile_revision", "id"], name="decision_revision"),
            # by a profile other than the default one
            models.Index(
                fields=["cluster", "scheduler_name", "id"],
                name="decision_other_profile",
                condition=~models.Q(scheduler_name="default-scheduler"),
            ),
            # by number of attempts
            models.Index(
                fields=["cluster", "attempt", "id"],
                name="decision_retries",
                condition=models.Q(attempt__gt=1),
            ),
            # by rejecting plugin, reason and victim
            GinIndex(
                fields=["unschedulable_plugins", "reasons", "victims"],
                name="decision_rejections",
                condition=~models.Q(unschedulable_plugins=[]),
            ),
            # by words in messages
            GinIndex(
                SearchVector("message", "post_filter_message", config="simple"),
                name="decision_words",
                condition=~models.Q(message=""),
            ),
        )

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} attempt {self.attempt}: {self.result}"


class GroupAttempt(models.Model):
    """One attempt to schedule a group of pods: part of the ledger, with a decision per member."""

    cluster = models.ForeignKey(
        Cluster, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False
    )
    namespace = models.CharField(max_length=63)
    #: Of the PodGroup, which need not exist.
    name = models.CharField(max_length=253)
    at = models.DateTimeField()
    result = models.CharField(max_length=16, choices=SchedulingDecision.Result.choices)
    message = models.TextField(blank=True)
    #: How many pods the gang needed; 0 for a group that is no gang.
    min_count = models.PositiveIntegerField()
    profile_revision = models.PositiveIntegerField()
    #: Of the decision of the first member.
    cluster_version = models.BigIntegerField()
    sequence = models.PositiveIntegerField()
    #: In the order in which they were tried: `apps.scheduler.group_attempt.MemberTrial`.
    members = models.JSONField()
    #: By name: `apps.scheduler.group_attempt.PlacementTrial`; empty without a constraint.
    placements = models.JSONField(default=list)
    #: The most important first: `apps.scheduler.group_attempt.GroupVictim`.
    victims = models.JSONField(default=list)

    class Meta:
        indexes = (
            # the attempts with one group, newest first
            models.Index(
                fields=["cluster", "namespace", "name", "id"], name="group_attempt_of_group"
            ),
            # retention
            models.Index(fields=["cluster", "cluster_version"], name="group_attempt_version"),
        )

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} at {self.at}: {self.result}"

    @property
    def placed(self) -> int:
        """How many members had a node."""
        return sum(bool(each["node"]) for each in self.members)


class SavedView(models.Model):
    """Filters, grouping and sorting of decisions under a name: see `ledger.saved_views`."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, db_index=False)
    #: Who saved it, and alone can change it.
    user = models.CharField(max_length=150)
    name = models.CharField(max_length=100)
    #: Parameter -> its text, as in the address of a list or an aggregation of decisions.
    query = models.JSONField(default=dict)
    #: Other users see it.
    shared = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (
            # also finds the views of a cluster
            models.UniqueConstraint(fields=["cluster", "user", "name"], name="unique_saved_view"),
        )

    def __str__(self) -> str:
        return f"{self.name} of {self.user}"
