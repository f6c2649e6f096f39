"""The scheduling queue: its entries, pods that wait in Permit, and the history of moves.

A pending pod without a `QueueEntry` is new to the loop, or waits in activeQ for its first attempt:
its state in the queue follows from the pod itself.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from apps.cluster.models import Cluster

#: Events that every attempt causes; left out of the index by event.
ROUTINE_MOVES = ("Done", "Pop", "UnschedulablePodAdd")


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
