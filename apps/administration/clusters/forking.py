"""Forks a cluster: a new one with its objects at any version, paused, with a clock of its own.

The fork shares the history of the cluster up to this version. Its ledger and its queue history
start empty; a fork of the present has the queue, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import connection, transaction

from apps.administration.clusters import lifecycle
from apps.cluster.errors import Expired
from apps.cluster.log import sharing
from apps.cluster.models import Cluster, ForkPoint, ResourceQuota
from apps.cluster.roles import Visibility
from apps.cluster.writing.forking import fork_objects
from apps.cluster.writing.rows import take_counter
from apps.engine.models import ConfigurationRevision, LoopLease, QueueEntry, SchedulingDecision
from apps.engine.profiles import revisions
from apps.studies.history.past_clusters import find_cluster
from apps.studies.past.overview import find_configuration
from apps.studies.past.past_version import PastVersion

#: Fields that a fork does not have from the other cluster.
_OWN: Final = (
    *("id", "name", "uid", "created_at", "paused", "due_at", "timer_at", "is_fork"),
    "has_default_policy",
    *("manual_time", "clock_speed", "clock_moved_at", "clock_until"),
)
_QUEUE: Final = """
    INSERT INTO controlplane_queueentry (cluster_id, {columns})
    SELECT %s, {columns} FROM controlplane_queueentry WHERE cluster_id = %s ORDER BY id
"""


def fork_cluster(source: Cluster, moment: PastVersion, name: str, *, user: str) -> Cluster:
    """Create the cluster `name` with the objects of `source` at a moment; the user owns it.

    It is paused, and its clock stands at the moment. Raises Invalid or AlreadyExists for the name,
    and Expired if the change log no longer reaches back to the moment.
    """
    lifecycle.check_new(name)
    with transaction.atomic(), connection.cursor() as cursor:
        sharing.lock(cursor, source.pk)
        take_counter(cursor, source)
        source.refresh_from_db()
        if moment.version < source.forgotten_version:
            raise Expired("The change log no longer reaches back to this moment.")
        is_now = moment.version >= source.resource_version
        fork = _new_cluster(source, moment, name, user=user)
        point = ForkPoint(
            cluster=fork,
            ancestor=source.pk,
            name=source.name,
            version=moment.version,
            decision=moment.decision,
            at=moment.at,
        )
        fork_objects(source, fork, point)
        revision = _copy_revision(source, fork, moment, user=user)
        _start_queue(source, fork, revision, with_entries=is_now)
        fork.quotas = ResourceQuota.objects.filter(cluster=fork).count()
        fork.save(update_fields=["quotas"])
        lifecycle.record_creation(fork, user=user, forked_from=source.name, version=moment.version)
    return fork


@dataclass(frozen=True, slots=True)
class Origin:
    """What a cluster was forked from."""

    #: its name at the time of the fork
    name: str
    #: its name in addresses; "" if nothing of it is retained
    slug: str
    version: int
    at: datetime
    decision: int | None
    cluster_id: int


def origin_of(cluster: Cluster) -> Origin | None:
    """What a cluster was forked from; None if it is no fork."""
    points = _points_of(cluster)
    return _describe_origin(points[0]) if points else None


def origin_of_pod(cluster: Cluster, uid: UUID | str) -> Origin | None:
    """The nearest cluster that this one descends from, with decisions about a pod before the fork.

    None if there is none, as for pods that were created in the fork.
    """
    for point in _points_of(cluster):
        ledger = SchedulingDecision.objects.filter(cluster_id=point.ancestor, pod_uid=uid)
        if ledger.filter(cluster_version__lt=point.version).exists():
            return _describe_origin(point)
    return None


def _points_of(cluster: Cluster) -> list[ForkPoint]:
    """The fork points of a cluster and those it descends from, the nearest first.

    The row of a cluster says whether it has any; of a deleted one, that row does not exist.
    """
    if not (cluster.is_fork or cluster.deleted_at):
        return []
    return list(ForkPoint.objects.filter(cluster=cluster).order_by("-version", "-id"))


def _describe_origin(point: ForkPoint) -> Origin:
    slug = find_cluster(point.ancestor).name
    return Origin(point.name, slug, point.version, point.at, point.decision, point.ancestor)


def _new_cluster(source: Cluster, moment: PastVersion, name: str, *, user: str) -> Cluster:
    values = lifecycle.values_of(source, without=_OWN)
    fork = Cluster(name=name, paused=True, manual_time=moment.at, **values)
    fork.is_fork = True
    fork.resource_version = moment.version
    fork.admission_version = moment.version
    lifecycle.save_new(fork, owner=user, visibility=Visibility.MEMBERS)
    return fork


def _copy_revision(source: Cluster, fork: Cluster, moment: PastVersion, *, user: str) -> int:
    """Give the fork the revision that was in use, as its first one; returns its number there."""
    _, number = find_configuration(source, moment)
    used = (
        revisions.get_active(source)
        if number is None
        else ConfigurationRevision.objects.get(cluster=source, revision=number)
    )
    revisions.add_revision(
        fork,
        used.configuration,
        user=user,
        legacy=used.legacy,
        note=f"forked from {source.name}, revision {used.revision}",
    )
    return used.revision


def _start_queue(source: Cluster, fork: Cluster, revision: int, *, with_entries: bool) -> None:
    """Copy the recorded queue; without entries, every pending pod is new to the queue."""
    lease = LoopLease.objects.create(cluster=fork)
    theirs = LoopLease.objects.filter(cluster=source, profile_revision=revision).first()
    if theirs is None or not with_entries:
        return
    columns = ", ".join(
        f'"{field.column}"'
        for field in QueueEntry._meta.concrete_fields
        if field.column not in ("id", "cluster_id")
    )
    with connection.cursor() as cursor:
        cursor.execute(_QUEUE.format(columns=columns), [fork.pk, source.pk])
    lease.consumed_version = theirs.consumed_version
    lease.scheduling_cycle = theirs.scheduling_cycle
    lease.move_request_cycle = theirs.move_request_cycle
    lease.save()
