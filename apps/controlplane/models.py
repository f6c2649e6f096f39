"""The tables of the control plane: configuration revisions, queue, lease, ledger, operations.

Only `apps.controlplane` writes these tables. A pending pod without a `QueueEntry` is new to the
loop, or waits in activeQ for its first attempt: its state in the queue follows from the pod itself.
"""

from __future__ import annotations

from uuid import uuid4

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector
from django.db import models
from django.db.models.functions import Now
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


class LoopLease(models.Model):
    """Which worker may schedule a cluster. Times are by the database's clock.

    Every transaction of the recorder locks this row and checks that `epoch` is unchanged: a holder
    that was stopped and continues after its lease expired finds another epoch and writes nothing.
    """

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True)
    holder = models.CharField(max_length=100, blank=True)
    epoch = models.BigIntegerField(default=0)
    expires_at = models.DateTimeField(null=True)
    #: The loop has processed every change up to this version.
    consumed_version = models.BigIntegerField(default=0)
    #: The configuration revision that the loop used.
    profile_revision = models.PositiveIntegerField(default=1)
    #: How many pods the loop has popped, and after how many an event last asked to move pods.
    scheduling_cycle = models.BigIntegerField(default=0)
    move_request_cycle = models.BigIntegerField(default=0)
    #: Runs in a row that ended with an error, and the error of the last one.
    failures = models.PositiveIntegerField(default=0, db_default=0)
    failure = models.TextField(default="", db_default="")

    def __str__(self) -> str:
        return f"{self.cluster_id} held by {self.holder or 'no worker'} (epoch {self.epoch})"


class QueueEntry(models.Model):
    """A pod in the scheduling queue; the queue is restored from these rows."""

    class Queue(models.TextChoices):
        ACTIVE = "active", "activeQ"
        BACKOFF = "backoff", "backoffQ"
        UNSCHEDULABLE = "unschedulable", "unschedulable"
        GATED = "gated", "gated"

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, db_index=False)
    pod_uid = models.UUIDField()
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    queue = models.CharField(max_length=16, choices=Queue.choices)
    attempts = models.IntegerField(default=0)
    #: When the pod entered this queue.
    timestamp = models.DateTimeField()
    #: Null unless the pod backs off.
    backoff_expiry = models.DateTimeField(null=True)
    unschedulable_plugins = ArrayField(models.CharField(max_length=100), default=list)
    pending_plugins = ArrayField(models.CharField(max_length=100), default=list)
    gated_by = models.CharField(max_length=100, blank=True)
    nominated_node = models.CharField(max_length=253, blank=True)
    #: The complete entry, from which the queue is restored.
    state = models.JSONField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["cluster", "pod_uid"], name="unique_queue_entry"),
        )
        indexes = (
            # beat's backoff flush: clusters with a pod whose backoff is over
            models.Index(
                fields=["backoff_expiry"],
                name="queue_backoff",
                condition=models.Q(queue="backoff"),
            ),
            # beat's unschedulable flush, and the queue page
            models.Index(fields=["cluster", "queue", "timestamp"], name="queue_order"),
        )

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} in {self.queue}"


class PermitWait(models.Model):
    """A pod that has a node, but is held there by Permit plugins; deleted when they have decided.

    The holder of the lease writes the rows, and deletes those of the one before it: their pods are
    scheduled again.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, db_index=False)
    pod_uid = models.UUIDField()
    node = models.CharField(max_length=253)
    #: The plugins that have not allowed it yet.
    plugins = ArrayField(models.CharField(max_length=100))
    since = models.DateTimeField()
    #: When the first of them rejects it.
    deadline = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["cluster", "pod_uid"], name="unique_permit_wait"),
        )

    def __str__(self) -> str:
        return f"{self.pod_uid} held by {', '.join(self.plugins)}"


#: Events that every attempt causes; left out of the index by event.
ROUTINE_MOVES = ("Done", "Pop", "UnschedulablePodAdd")


class QueueMove(models.Model):
    """A move of a pod from one part of the queue to another; retained after the pod is deleted.

    Partitioned by day, and never updated: `apps.cluster.partitions.daily`.
    """

    class Place(models.TextChoices):
        OUTSIDE = "", "outside"
        ACTIVE = "active", "activeQ"
        BACKOFF = "backoff", "backoffQ"
        UNSCHEDULABLE = "unschedulable", "unschedulable"
        GATED = "gated", "gated"
        IN_FLIGHT = "in_flight", "in flight"

    cluster = models.ForeignKey(
        Cluster, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False
    )
    pod_uid = models.UUIDField()
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    #: By the cluster's clock.
    at = models.DateTimeField()
    source = models.CharField(max_length=16, blank=True, choices=Place.choices)
    target = models.CharField(max_length=16, blank=True, choices=Place.choices)
    #: What caused it: "NodeAdd", "ScheduleAttemptFailure", "BackoffComplete", "Pop" …
    event = models.CharField(max_length=100)
    #: The plugin whose hint or PreEnqueue decided; empty if no plugin was called.
    plugin = models.CharField(max_length=100, blank=True)
    #: "Queue" or "Error", if a hint decided.
    hint = models.CharField(max_length=8, blank=True)
    #: Why the plugin gates the pod, or who activated it.
    reason = models.TextField(blank=True)
    #: Attempts of the pod so far, including one that starts or ends with this move.
    attempt = models.PositiveIntegerField()

    class Meta:
        indexes = (
            # the history, newest first
            models.Index(fields=["cluster", "id"], name="move_newest"),
            # the moves of one pod, and of all pods with a name
            models.Index(fields=["pod_uid", "id"], name="move_of_pod"),
            models.Index(fields=["cluster", "name", "id"], name="move_of_name"),
            # by event or plugin; routine moves are in neither
            models.Index(
                fields=["cluster", "event", "id"],
                name="move_by_event",
                condition=~models.Q(event__in=ROUTINE_MOVES),
            ),
            models.Index(
                fields=["cluster", "plugin", "id"],
                name="move_by_plugin",
                condition=~models.Q(plugin=""),
            ),
        )

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} {self.source} → {self.target} ({self.event})"


class QueueActivation(models.Model):
    """A user's request to activate a pod; deleted when the loop has recorded the move."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, db_index=False)
    pod_uid = models.UUIDField()
    user = models.CharField(max_length=150)
    request_id = models.CharField(max_length=64, blank=True)

    class Meta:
        indexes = (
            # read in each iteration of the loop
            models.Index(fields=["cluster", "id"], name="activation_of_cluster"),
        )

    def __str__(self) -> str:
        return f"{self.user} activates {self.pod_uid}"


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
    #: Plugins that rejected at least one node, or the pod.
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
    #: Everything else as compressed columns; `apps.controlplane.ledger.reading` reads them.
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


class SecondOpinion(models.Model):
    """What this site's scheduler would have decided for a pod that a client has bound."""

    class Verdict(models.TextChoices):
        SAME_NODE = "same-node", "same node"
        TIE = "tie", "node with the same score"
        OTHER_NODE = "other-node", "another node has more points"
        NODE_REJECTED = "node-rejected", "the node is rejected"
        UNSCHEDULABLE = "unschedulable", "no node is feasible"
        #: not compared: with sampling, two schedulers look at different nodes
        NOT_SAMPLED = "not-sampled", "not sampled"

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, db_index=False)
    #: Version of the binding; the decision is based on the state before it.
    version = models.BigIntegerField()
    #: By the cluster's clock.
    at = models.DateTimeField()
    #: By the database's clock, for retention.
    recorded_at = models.DateTimeField(db_default=Now())
    pod_uid = models.UUIDField()
    namespace = models.CharField(max_length=63)
    name = models.CharField(max_length=253)
    #: Who bound the pod.
    user = models.CharField(max_length=150, blank=True)
    profile_revision = models.PositiveIntegerField()
    scheduler_name = models.CharField(max_length=253)
    verdict = models.CharField(max_length=16, choices=Verdict.choices)
    guest_node = models.CharField(max_length=253)
    #: The node that this site's scheduler would have selected; empty if none.
    node = models.CharField(max_length=253, blank=True)
    #: The explanation of a disagreement; empty for an agreement.
    message = models.TextField(blank=True)
    #: Both nodes plugin by plugin, as `results.comparison.Comparison`; null without scores.
    comparison = models.JSONField(null=True)
    nodes = models.PositiveIntegerField()
    feasible_nodes = models.PositiveIntegerField()
    tied_nodes = models.PositiveIntegerField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["cluster", "version"], name="one_opinion_a_binding"),
        )
        indexes = (
            # the page: counts by verdict, and the disagreements, newest first
            models.Index(fields=["cluster", "verdict", "-id"], name="opinion_by_verdict"),
        )

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} on {self.guest_node}: {self.verdict}"


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


class Operation(models.Model):
    """Long work that a user started: its progress, and how it ended.

    `apps.controlplane.operations` runs it in a worker. Its times are real time, regardless of the
    cluster's clock.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        CANCELLED = "cancelled"

    #: A name in `operations.registry`.
    kind = models.CharField(max_length=32)
    #: Shown to users: "Drain node-7".
    title = models.CharField(max_length=300)
    #: Null until it has created its cluster, and if it created none.
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, null=True, db_index=False)
    arguments = models.JSONField(default=dict)
    #: Uploaded data as zstandard-compressed JSON; null when the work has ended, unless it failed
    #: and the user can correct the data.
    payload = models.BinaryField(null=True)
    state = models.CharField(max_length=16, choices=State.choices, default=State.WAITING)
    #: Completed steps of `total`; both are 0 while the total is unknown.
    done = models.BigIntegerField(default=0)
    total = models.BigIntegerField(default=0)
    #: The current step, or the result.
    message = models.TextField(blank=True)
    #: Why it failed.
    cause = models.TextField(blank=True)
    #: The resulting file, zstandard-compressed.
    output = models.BinaryField(null=True)
    output_name = models.CharField(max_length=100, blank=True)
    cancel_requested = models.BooleanField(default=False)
    #: The worker that runs it, and the number of workers that have started it.
    worker = models.CharField(max_length=100, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    #: When the worker last renewed its lease, by the database's clock.
    renewed_at = models.DateTimeField(null=True)
    user = models.CharField(max_length=150)
    request_id = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            # two concurrent drains would invalidate each other's preview
            models.UniqueConstraint(
                fields=["cluster"],
                condition=models.Q(kind="drain", state__in=("waiting", "running")),
                name="one_drain_a_cluster",
            ),
        )
        indexes = (
            # beat: operations that wait for a worker, or whose worker may be dead
            models.Index(
                fields=["id"],
                name="operation_unfinished",
                condition=models.Q(state__in=("waiting", "running")),
            ),
            # a cluster's page, newest first
            models.Index(fields=["cluster", "-id"], name="operation_of_cluster"),
        )

    def __str__(self) -> str:
        return f"{self.title}: {self.state}"

    @property
    def finished(self) -> bool:
        return self.state not in (self.State.WAITING, self.State.RUNNING)

    @property
    def can_be_corrected(self) -> bool:
        """Whether it was started by a form that shows its data again if it fails."""
        return "form" in self.arguments

    @property
    def percent(self) -> int:
        """The progress in percent, rounded down: 100 only when all steps are done."""
        return 100 * self.done // self.total if self.total else 0


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


class Heartbeat(models.Model):
    """When a part of the control plane last reported, by the database's clock."""

    name = models.CharField(max_length=100, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name} at {self.at:%H:%M:%S}"


class SchedulerMetrics(models.Model):
    """The metrics of a cluster's scheduler since the cluster was created.

    Written in the recorder's transactions, so that they always agree with the ledger.
    """

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True)
    #: zstandard-compressed MessagePack of `apps.scheduler.metrics.series.SavedValues`
    series = models.BinaryField()

    def __str__(self) -> str:
        return f"metrics of cluster {self.cluster_id}"


class SeriesBucket(models.Model):
    """The figures of a cluster in one span of its clock; `apps.controlplane.series` reads them."""

    cluster = models.ForeignKey(
        Cluster, on_delete=models.CASCADE, db_constraint=False, db_index=False
    )
    #: Width in seconds.
    resolution = models.PositiveIntegerField()
    start = models.DateTimeField()
    #: Up to this time the cluster is known to have had the levels of the last sample; null if the
    #: bucket only has counts.
    until = models.DateTimeField(null=True)
    #: zstandard-compressed MessagePack of `series.buckets.Bucket`
    figures = models.BinaryField()
    #: `series.node_columns` of the last sample; null if there was none, or nodes are not retained
    #: in this resolution.
    nodes = models.BinaryField(null=True)

    class Meta:
        constraints = (
            # a chart reads one resolution from one time to another
            models.UniqueConstraint(
                fields=["cluster", "resolution", "start"], name="unique_series_bucket"
            ),
        )

    def __str__(self) -> str:
        return f"{self.cluster_id} at {self.start} for {self.resolution} s"


class SeriesCursor(models.Model):
    """What the series of a cluster contain so far: each row is counted once.

    Written with the buckets, in the transaction that locks this row.
    """

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True)
    #: When the cluster was last looked at, by its clock.
    sampled_at = models.DateTimeField()
    #: Version of the cluster at the last sample, and the transaction that wrote its metrics; -1 if
    #: rows remain to be counted.
    version = models.BigIntegerField(default=-1)
    metrics_xid = models.BigIntegerField(default=0)
    #: The last counted rows of the ledger and of the queue's history.
    decision_id = models.BigIntegerField(default=0)
    move_id = models.BigIntegerField(default=0)
    #: `SchedulerMetrics.series` as counted.
    baseline = models.BinaryField(default=b"")

    def __str__(self) -> str:
        return f"series of cluster {self.cluster_id} until {self.sampled_at}"


class Webhook(models.Model):
    """An address that is told of events of a cluster; `apps.controlplane.webhooks` sends them."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE)
    url = models.CharField(max_length=2000)
    #: Names of `webhooks.events.KINDS`.
    kinds = ArrayField(models.CharField(max_length=40))
    #: Key of the signatures.
    secret = models.CharField(max_length=100)
    enabled = models.BooleanField(default=True)
    user = models.CharField(max_length=150)
    created_at = models.DateTimeField(default=timezone.now)
    #: Events were collected up to this decision, and this time for operations.
    decision_position = models.BigIntegerField(default=0)
    collected_at = models.DateTimeField(default=timezone.now)
    #: Whether the cluster was paused then.
    cluster_paused = models.BooleanField(default=False)

    def __str__(self) -> str:
        return self.url


class WebhookDelivery(models.Model):
    """One request to a webhook: some events, and what became of it. Retained for some days."""

    class State(models.TextChoices):
        WAITING = "waiting"
        SUCCEEDED = "succeeded"
        FAILED = "failed"

    # with a cluster, so that a cluster is deleted with all of them
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, db_index=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    uid = models.UUIDField(default=uuid4)
    events = models.JSONField()
    state = models.CharField(max_length=16, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    #: When it is sent next, while it waits.
    next_at = models.DateTimeField(default=timezone.now)
    created_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True)
    #: Of the last attempt: the status code, how long it took, and the error or the response.
    status_code = models.PositiveSmallIntegerField(null=True)
    duration_ms = models.PositiveIntegerField(null=True)
    answer = models.TextField(blank=True)

    class Meta:
        indexes = (
            models.Index(
                fields=["next_at"],
                name="delivery_waiting",
                condition=models.Q(state="waiting"),
            ),
        )

    def __str__(self) -> str:
        return f"{self.uid}: {self.state}"
