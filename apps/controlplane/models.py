"""What the control plane keeps: profiles, the queue, the lease of the loop, the ledger.

Only `apps.controlplane` writes these tables. A pending pod without a `QueueEntry` is new to the
loop, or waits in activeQ for its first attempt: everything about it follows from the pod itself.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector
from django.db import models
from django.db.models.functions import Now
from django.utils import timezone

from apps.cluster.models import Cluster


class ConfigurationRevision(models.Model):
    """One revision of a cluster's KubeSchedulerConfiguration; rows are never changed.

    The loop schedules with the revision marked `active`. A configuration holds one scheduler
    profile for each schedulerName.
    """

    # decisions name revisions, also when the cluster is gone
    cluster = models.ForeignKey(
        Cluster, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False
    )
    revision = models.PositiveIntegerField()
    #: The KubeSchedulerConfiguration as YAML, as it was given.
    configuration = models.TextField()
    #: Made by the converter from an older format; may name legacy plugins.
    legacy = models.BooleanField(default=False)
    active = models.BooleanField(default=False)
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
        )

    def __str__(self) -> str:
        return f"{self.cluster_id} revision {self.revision}"


class LoopLease(models.Model):
    """Who may schedule a cluster. Times are the database's clock.

    Every transaction of the recorder locks this row and checks that `epoch` is still its own:
    a holder that was stopped and comes back late finds another epoch and writes nothing.
    """

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True)
    holder = models.CharField(max_length=100, blank=True)
    epoch = models.BigIntegerField(default=0)
    expires_at = models.DateTimeField(null=True)
    #: The loop has acted on every change up to this version.
    consumed_version = models.BigIntegerField(default=0)
    #: The profile revision it did so with.
    profile_revision = models.PositiveIntegerField(default=1)

    def __str__(self) -> str:
        return f"{self.cluster_id} held by {self.holder or 'nobody'} (epoch {self.epoch})"


class QueueEntry(models.Model):
    """A pod in the scheduling queue, as the queue would be rebuilt from it."""

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
    #: Null where it does not back off.
    backoff_expiry = models.DateTimeField(null=True)
    unschedulable_plugins = ArrayField(models.CharField(max_length=100), default=list)
    pending_plugins = ArrayField(models.CharField(max_length=100), default=list)
    gated_by = models.CharField(max_length=100, blank=True)
    nominated_node = models.CharField(max_length=253, blank=True)
    #: The entry exactly as the queue gave it, for its restoration.
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


#: Events that move every pod: no index needs to find them.
ROUTINE_MOVES = ("Done", "Pop", "UnschedulablePodAdd")


class QueueMove(models.Model):
    """A pod went from one part of the queue to another: history, kept after the pod is gone.

    Divided by days, and never changed: `apps.controlplane.partitions.daily`.
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
    #: The plugin whose hint, or whose PreEnqueue, decided; empty if none was asked.
    plugin = models.CharField(max_length=100, blank=True)
    #: "Queue" or "Error", where a hint decided.
    hint = models.CharField(max_length=8, blank=True)
    #: Why the plugin gates the pod; or who activated it.
    reason = models.TextField(blank=True)
    #: Attempts of the pod so far, one that begins or ends with this move included.
    attempt = models.PositiveIntegerField()

    class Meta:
        indexes = (
            # the history, newest first
            models.Index(fields=["cluster", "-id"], name="move_newest"),
            # of one pod, and of every pod that ever had a name
            models.Index(fields=["cluster", "pod_uid", "-id"], name="move_of_pod"),
            models.Index(fields=["cluster", "name", "-id"], name="move_of_name"),
            # what an event or a plugin moved; most moves are routine and in neither
            models.Index(
                fields=["cluster", "event", "-id"],
                name="move_by_event",
                condition=~models.Q(event__in=ROUTINE_MOVES),
            ),
            models.Index(
                fields=["cluster", "plugin", "-id"],
                name="move_by_plugin",
                condition=~models.Q(plugin=""),
            ),
        )

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} {self.source} → {self.target} ({self.event})"


class QueueActivation(models.Model):
    """A user's wish that a pod be tried at once; gone when the loop has recorded the move."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, db_index=False)
    pod_uid = models.UUIDField()
    user = models.CharField(max_length=150)
    request_id = models.CharField(max_length=64, blank=True)

    class Meta:
        indexes = (
            # what the loop asks at each look
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
    """One attempt to schedule one pod: the ledger. Kept after the pod is gone."""

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
    attempt = models.PositiveIntegerField()
    at = models.DateTimeField()
    profile_revision = models.PositiveIntegerField()
    scheduler_name = models.CharField(max_length=253)
    result = models.CharField(max_length=16, choices=Result.choices)
    #: The chosen node; empty when there is none.
    node = models.CharField(max_length=253, blank=True)
    nominated_node = models.CharField(max_length=253, blank=True)
    #: Why it fits nowhere, without what PostFilter added; empty when scheduled.
    message = models.TextField(blank=True)
    post_filter_message = models.TextField(blank=True, default="")
    #: Plugins that rejected some node (or the pod), ...
    unschedulable_plugins = ArrayField(models.CharField(max_length=100), default=list)
    #: ... what they said, the most frequent reasons first, ...
    reasons = ArrayField(models.TextField(), default=list)
    #: ... and the pods ("namespace/name") that PostFilter wants evicted instead.
    victims = ArrayField(models.CharField(max_length=317), default=list)
    nodes = models.PositiveIntegerField()
    feasible_nodes = models.PositiveIntegerField()
    tied_nodes = models.PositiveIntegerField()
    #: Total score of the chosen node; null when nothing was scored.
    total_score = models.BigIntegerField(null=True)
    #: Version of the cluster the attempt saw, and how many decisions the loop had taken since.
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
            # the list of decisions, newest first
            models.Index(fields=["cluster", "-id"], name="decision_newest"),
            # the attempts of one pod
            models.Index(fields=["cluster", "pod_uid", "attempt"], name="decision_of_pod"),
            # the attempts of every pod whose name begins so, whatever the database's collation
            models.Index(
                fields=["cluster", "name", "-id"],
                name="decision_of_name_prefix",
                opclasses=["int8_ops", "varchar_pattern_ops", "int8_ops"],
            ),
            # about the pods of a request
            models.Index(
                fields=["cluster", "request_id", "-id"],
                name="decision_request",
                condition=~models.Q(request_id=""),
            ),
            # about pods of a namespace
            models.Index(fields=["cluster", "namespace", "-id"], name="decision_namespace"),
            # what landed on a node
            models.Index(
                fields=["cluster", "node", "-id"],
                name="decision_on_some_node",
                condition=~models.Q(node=""),
            ),
            # pods per second over the last minute, without touching the rows
            models.Index(fields=["cluster", "at"], include=["result"], name="decision_time"),
            # what failed
            models.Index(fields=["cluster", "result", "-id"], name="decision_result"),
            # what a profile or a revision decided
            models.Index(
                fields=["cluster", "profile_revision", "scheduler_name", "-id"],
                name="decision_profile",
            ),
            # pods that were tried again and again
            models.Index(
                fields=["cluster", "attempt", "-id"],
                name="decision_retries",
                condition=models.Q(attempt__gt=1),
            ),
            # who rejected, why, and who had to make room
            GinIndex(
                fields=["unschedulable_plugins", "reasons", "victims"],
                name="decision_rejections",
                condition=~models.Q(unschedulable_plugins=[]),
            ),
            # the words of messages
            GinIndex(
                SearchVector("message", "post_filter_message", config="simple"),
                name="decision_words",
                condition=~models.Q(message=""),
            ),
            # which node tables are still referred to
            models.Index(fields=["node_table"], name="decision_node_table"),
        )

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} attempt {self.attempt}: {self.result}"


class Operation(models.Model):
    """Long work that somebody asked for: how far it is, and how it ended.

    `apps.controlplane.operations` runs it in a worker. Its times are the house's own, whatever
    the clock of its cluster says.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        RUNNING = "running"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        CANCELLED = "cancelled"

    #: A name in `operations.registry`.
    kind = models.CharField(max_length=32)
    #: What it does, for people: "Drain node-7".
    title = models.CharField(max_length=300)
    #: Null while it makes a cluster, and where it made none.
    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, null=True, db_index=False)
    arguments = models.JSONField(default=dict)
    #: What was uploaded with it: zstandard-compressed JSON, gone when the work is over.
    payload = models.BinaryField(null=True)
    state = models.CharField(max_length=16, choices=State.choices, default=State.WAITING)
    #: Steps of `total`; 0 of 0 while nobody knows how many there are.
    done = models.BigIntegerField(default=0)
    total = models.BigIntegerField(default=0)
    #: What it is at, or what came out.
    message = models.TextField(blank=True)
    #: Why it failed.
    cause = models.TextField(blank=True)
    #: A file that came out: zstandard-compressed.
    output = models.BinaryField(null=True)
    output_name = models.CharField(max_length=100, blank=True)
    cancel_requested = models.BooleanField(default=False)
    #: The worker process that has it, and how many had it so far.
    worker = models.CharField(max_length=100, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    user = models.CharField(max_length=150)
    request_id = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            # two drains at once would each upset what the other one's preview said
            models.UniqueConstraint(
                fields=["cluster"],
                condition=models.Q(kind="drain", state__in=("waiting", "running")),
                name="one_drain_a_cluster",
            ),
        )
        indexes = (
            # beat: what waits for a worker, or has one that may be dead
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
    def percent(self) -> int:
        """How much is done, rounded down: 100 only when everything is."""
        return 100 * self.done // self.total if self.total else 0


class PastCluster(models.Model):
    """A cluster that was deleted; its history is kept under the id it had."""

    id = models.BigIntegerField(primary_key=True)
    uid = models.UUIDField()
    name = models.CharField(max_length=63)
    created_at = models.DateTimeField()
    #: By the database's clock; and who did it.
    deleted_at = models.DateTimeField(db_default=Now())
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
    """The version a cluster had when a day (of the database's) began: how old changes are."""

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
    """When a part of the control plane was last seen alive, on the database's clock."""

    name = models.CharField(max_length=100, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name} at {self.at:%H:%M:%S}"


class SchedulerMetrics(models.Model):
    """What a cluster's scheduler has counted and measured since the cluster exists.

    Written in the recorder's transactions, so it always agrees with the ledger.
    """

    cluster = models.OneToOneField(Cluster, on_delete=models.CASCADE, primary_key=True)
    #: zstandard-compressed MessagePack of `apps.scheduler.metrics.series.Values`
    series = models.BinaryField()

    def __str__(self) -> str:
        return f"metrics of cluster {self.cluster_id}"
