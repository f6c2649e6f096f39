"""Clusters, the objects in them, and the log of every change.

An object is stored whole, as the JSON a client reads (`body`), with the few columns that queries
need. `apps.cluster.writing.store` is the only writer of every table here.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.models import Group
from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone

from apps.cluster.pods import footprint
from apps.cluster.roles import Role, Visibility
from apps.cluster.settings import ClusterSettings

Body = dict[str, Any]


class Cluster(ClusterSettings):
    """A mock cluster: its settings, its version counter and the next due time of its loop."""

    name = models.CharField(
        max_length=63,
        unique=True,
        validators=[
            RegexValidator(
                r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
                "a cluster's name is lower-case letters, digits and '-', and starts and ends "
                "with a letter or digit",
            )
        ],
    )
    uid = models.UUIDField(default=uuid.uuid4, editable=False)
    created_at = models.DateTimeField(default=timezone.now)
    paused = models.BooleanField(default=False)
    #: Version of the last committed change. A write transaction takes its versions from here as its
    #: last step and locks this row until the commit is on disk: versions commit in order.
    resource_version = models.BigIntegerField(default=0)
    #: Changes up to this version may have been deleted (retention); older watches expire.
    forgotten_version = models.BigIntegerField(default=0)
    #: When the scheduling loop has work: in the past = now, null = after the next change. A writer
    #: that finds it null or in the future sets it to now and wakes the loop once.
    due_at = models.DateTimeField(null=True, default=None)
    #: The time of a manual clock; null = the cluster uses the system clock.
    manual_time = models.DateTimeField(null=True, default=None)
    #: A manual clock that runs: seconds for each second of the system; null = it stands still.
    clock_speed = models.FloatField(null=True, default=None)
    #: When, by the database's clock, a running manual clock was last moved.
    clock_moved_at = models.DateTimeField(null=True, default=None)
    #: Until this time a manual clock jumps to what happens next; null = it does not jump.
    clock_until = models.DateTimeField(null=True, default=None)
    #: When, by the cluster's clock, a controller next acts without a change.
    timer_at = models.DateTimeField(null=True, default=None)
    #: Number of ResourceQuotas; a write reads it together with its versions.
    quotas = models.PositiveIntegerField(default=0)
    #: The version at which an object that admission or access looks up was last changed. A process
    #: that keeps such objects in memory writes only if this is still the version it has read.
    admission_version = models.BigIntegerField(default=0)
    #: The feature gates of the API server that the active configuration turns on, by name; only
    #: those of `apps.cluster.validation.gates.API_GATES`.
    api_gates = models.JSONField(default=list, blank=True)
    #: Whether the default roles, bindings and APIServices were created, which happens before the
    #: first request for such objects.
    has_default_policy = models.BooleanField(default=False)
    #: Whether it was forked from another cluster, so that it has rows of ForkPoint.
    is_fork = models.BooleanField(default=False)
    #: Whether it follows a real cluster: nobody but what follows it changes its objects.
    is_shadow = models.BooleanField(default=False)

    class Meta:
        indexes = (
            # beat queries the due clusters every second
            models.Index(
                fields=["due_at"],
                name="cluster_due",
                condition=models.Q(due_at__isnull=False),
            ),
            # and those with a timer that may have expired
            models.Index(
                fields=["timer_at"],
                name="cluster_timer",
                condition=models.Q(timer_at__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return self.name

    #: When the cluster was deleted; set on one whose history alone remains, which has no row.
    deleted_at: datetime | None = None

    def now(self) -> datetime:
        """The time of the cluster; no code about a cluster reads the system clock directly.

        A manual clock returns its time as of when this row was last read.
        """
        return self.manual_time or datetime.now(UTC)


class ClusterAccess(models.Model):
    """Who may see a cluster. It remains after the cluster is deleted, with its history."""

    cluster = models.OneToOneField(
        Cluster, primary_key=True, on_delete=models.DO_NOTHING, db_constraint=False
    )
    #: The cluster's name, which a later cluster may have again.
    name = models.CharField(max_length=63, db_index=True)
    #: Who created the cluster, and administers it; null for a command.
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    visibility = models.CharField(
        max_length=16, choices=Visibility.choices, default=Visibility.MEMBERS
    )

    def __str__(self) -> str:
        return f"{self.name}: {self.visibility}"


class Membership(models.Model):
    """The role of a user, or of a group of users, in a cluster."""

    cluster = models.ForeignKey(
        Cluster, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+"
    )
    group = models.ForeignKey(Group, null=True, on_delete=models.CASCADE, related_name="+")
    role = models.PositiveSmallIntegerField(choices=Role.choices)
    added_at = models.DateTimeField(default=timezone.now)
    #: Who added it, or changed the role.
    added_by = models.CharField(max_length=150, blank=True)

    class Meta:
        constraints = (
            # also find the members of a cluster
            models.UniqueConstraint(fields=["cluster", "user"], name="unique_member_user"),
            models.UniqueConstraint(fields=["cluster", "group"], name="unique_member_group"),
            models.CheckConstraint(
                condition=models.Q(user__isnull=False, group__isnull=True)
                | models.Q(user__isnull=True, group__isnull=False),
                name="member_is_user_or_group",
            ),
        )

    def __str__(self) -> str:
        return f"{self.user or self.group}: {Role(self.role).label}"


def read_path(*path: str, default: Any = "", longest: int = 253) -> Callable[[Body], Any]:
    """Return a function that reads one path of a body, for a projected column.

    A text is cut to the length of the column; the body has all of it.
    """

    def read(body: Body) -> Any:
        value: Any = body
        for step in path:
            value = value.get(step) if isinstance(value, Mapping) else None
        if isinstance(value, str):
            return value[:longest]
        return default if value is None else value

    return read


class KubernetesObject(models.Model):
    """The abstract base of every kind: identity, version, labels, and the object itself."""

    #: column -> function that reads its value from the body. The store sets it at every write.
    projected: ClassVar[Mapping[str, Callable[[Body], Any]]] = {}

    #: Without a constraint in the database, which would query the cluster for each new row: every
    #: write locks the cluster's row, and so does the deletion of the cluster.
    cluster = models.ForeignKey(
        Cluster, on_delete=models.CASCADE, db_constraint=False, db_index=False
    )
    namespace = models.CharField(max_length=63, blank=True, default="")
    name = models.CharField(max_length=253)
    uid = models.UUIDField()
    resource_version = models.BigIntegerField()
    labels = models.JSONField(default=dict)
    #: The object as clients read it, resourceVersion included, apiVersion and kind too.
    body = models.JSONField()
    created_at = models.DateTimeField()

    class Meta:
        abstract = True
        constraints = (
            models.UniqueConstraint(
                fields=["cluster", "namespace", "name"], name="unique_%(class)s"
            ),
        )

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Namespace(KubernetesObject):
    pass


class Node(KubernetesObject):
    projected = {
        "unschedulable": read_path("spec", "unschedulable", default=False),
        "ready": footprint.node_ready,
        "allocatable": footprint.node_allocatable,
    }

    unschedulable = models.BooleanField(default=False)
    ready = models.BooleanField(default=False)
    #: Resource -> milli-CPU, bytes or whole units; pages sum it without reading bodies.
    allocatable = models.JSONField(default=dict)


class Taint(models.Model):
    """One taint of one node: `Node.spec.taints` as rows, written with the node."""

    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="taints")
    position = models.PositiveSmallIntegerField()
    key = models.CharField(max_length=317)
    value = models.CharField(max_length=63, blank=True)
    effect = models.CharField(max_length=32)
    time_added = models.DateTimeField(null=True)

    class Meta:
        ordering = ("node_id", "position")

    def __str__(self) -> str:
        return (
            f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"
        )


class Pod(KubernetesObject):
    projected = {
        "node_name": read_path("spec", "nodeName"),
        "phase": read_path("status", "phase", default="Pending", longest=16),
        "scheduler_name": read_path("spec", "schedulerName", default="default-scheduler"),
        "priority": read_path("spec", "priority", default=0),
        "nominated_node_name": read_path("status", "nominatedNodeName"),
        "requests": footprint.pod_requests,
    }

    node_name = models.CharField(max_length=253, blank=True, default="")
    phase = models.CharField(max_length=16, default="Pending")
    scheduler_name = models.CharField(max_length=253, default="default-scheduler")
    priority = models.IntegerField(default=0)
    nominated_node_name = models.CharField(max_length=253, blank=True, default="")
    #: Resource -> milli-CPU, bytes or whole units that the pod occupies on its node.
    requests = models.JSONField(default=dict)

    class Meta(KubernetesObject.Meta):
        indexes = (
            # a node's pods; and, with node_name "", the pending ones
            models.Index(fields=["cluster", "node_name"], name="pod_on_node"),
        )


class PriorityClass(KubernetesObject):
    projected = {
        "value": read_path("value", default=0),
        "global_default": read_path("globalDefault", default=False),
    }

    value = models.IntegerField(default=0)
    global_default = models.BooleanField(default=False)


class RuntimeClass(KubernetesObject):
    pass


class PodDisruptionBudget(KubernetesObject):
    pass


class ResourceQuota(KubernetesObject):
    pass


class PersistentVolume(KubernetesObject):
    pass


class PersistentVolumeClaim(KubernetesObject):
    pass


class StorageClass(KubernetesObject):
    pass


class CSINode(KubernetesObject):
    pass


class CSIDriver(KubernetesObject):
    pass


class CSIStorageCapacity(KubernetesObject):
    pass


class VolumeAttachment(KubernetesObject):
    pass


class Service(KubernetesObject):
    pass


class ReplicationController(KubernetesObject):
    pass


class ReplicaSet(KubernetesObject):
    pass


class StatefulSet(KubernetesObject):
    pass


class Deployment(KubernetesObject):
    pass


class DaemonSet(KubernetesObject):
    pass


class Job(KubernetesObject):
    pass


class Event(KubernetesObject):
    projected = {
        "involved_uid": read_path("involvedObject", "uid"),
        "reason": read_path("reason", longest=128),
    }

    involved_uid = models.CharField(max_length=253, blank=True, default="")
    reason = models.CharField(max_length=128, blank=True, default="")
    #: When it was last written, by the cluster's clock: its time to live starts then.
    written_at = models.DateTimeField(default=timezone.now)

    class Meta(KubernetesObject.Meta):
        indexes = (
            # expired events
            models.Index(fields=["cluster", "written_at"], name="event_written"),
            # the events of one pod or node, on its page and in kubectl describe
            models.Index(fields=["cluster", "involved_uid"], name="event_involved"),
            # the page of events, last seen first
            models.Index(fields=["cluster", "-resource_version"], name="event_last_seen"),
        )


class Lease(KubernetesObject):
    pass


class DataObject(KubernetesObject):
    """An object of a kind that is only data, or of a CustomResourceDefinition."""

    #: `Kind.key`: the kind's name, or `plural.group` of a CustomResourceDefinition.
    kind = models.CharField(max_length=253)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["cluster", "kind", "namespace", "name"], name="unique_dataobject"
            ),
        )


class ChangeColumns(models.Model):
    """The columns of a change of an object."""

    class Type(models.TextChoices):
        ADDED = "ADDED"
        MODIFIED = "MODIFIED"
        DELETED = "DELETED"

    cluster = models.ForeignKey(
        Cluster, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False
    )
    version = models.BigIntegerField()
    type = models.CharField(max_length=8, choices=Type.choices)
    #: `Kind.key`
    kind = models.CharField(max_length=253)
    namespace = models.CharField(max_length=63, blank=True)
    name = models.CharField(max_length=253)
    uid = models.UUIDField()
    #: The object after the change; for DELETED its last state, with this version.
    object = models.JSONField()
    #: Version of the object before this change; null for ADDED.
    previous_version = models.BigIntegerField(null=True)
    at = models.DateTimeField()
    user = models.CharField(max_length=150)
    request_id = models.CharField(max_length=64, blank=True)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.version} {self.type} {self.kind} {self.namespace}/{self.name}"


class Change(ChangeColumns):
    """One change of one object. Versions of a cluster become visible in order."""

    class Meta:
        constraints = (
            # every reader of the log: "everything after version N", in order
            models.UniqueConstraint(fields=["cluster", "version"], name="unique_change"),
        )
        indexes = (
            # one object's history
            models.Index(fields=["cluster", "uid", "version"], name="change_of_object"),
            # deleted objects by a prefix of their name; other changes are not in it
            models.Index(
                fields=["cluster", "kind", "name"],
                name="change_of_deleted",
                opclasses=["int8_ops", "varchar_ops", "varchar_pattern_ops"],
                condition=models.Q(type="DELETED"),
            ),
        )


class HistoricChange(ChangeColumns):
    """A change in the past of a cluster, of the clusters too that it was forked from: a view.

    Readers of the past use it; those of the present, such as loops and watches, use `Change`.
    """

    class Meta:
        managed = False
        db_table = "cluster_history"


class ForkPoint(models.Model):
    """A cluster that another one was forked from, and the version up to which it shares history.

    A fork of a fork has a row for each of them. The rows remain with the history of the fork.
    """

    cluster = models.ForeignKey(
        Cluster, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False
    )
    #: The id of the other cluster, which may be deleted.
    ancestor = models.BigIntegerField(db_index=True)
    #: Its name at the time of the fork.
    name = models.CharField(max_length=63)
    version = models.BigIntegerField()
    #: The decision that the fork was made before, if one was chosen.
    decision = models.BigIntegerField(null=True)
    #: The time of this version by the clock of the cluster.
    at = models.DateTimeField()
    #: Whether the changes up to the version are read from the log of the other cluster.
    shared = models.BooleanField(default=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["cluster", "ancestor"], name="unique_fork_point"),
        )

    def __str__(self) -> str:
        return f"forked from {self.name} at version {self.version}"
