"""Copies a cluster: its objects and its active revision, in one snapshot.

The queue is not copied: in the copy every pending pod is new. Neither is history: the log and the
ledger of the copy start empty.
"""

from __future__ import annotations

from django.db import connection

from apps.administration.clusters import lifecycle
from apps.administration.operations.progress import Progress
from apps.cluster.models import Cluster
from apps.cluster.writing.copying import copy_objects
from apps.engine.models import LoopLease
from apps.engine.profiles import revisions
from apps.engine.workers.waking import make_due

#: Fields that are not copied.
_OWN = ("id", "name", "uid", "created_at", "paused", "due_at", "timer_at", "is_fork")


def run(work: Progress) -> str:
    """`source` (a cluster's id), `name`, `paused`."""
    with work.transaction():
        _use_one_snapshot()
        source = lifecycle.get_cluster_by_id(work.argument("source"))
        copy = _empty_copy(
            source,
            work.argument("name"),
            paused=work.argument("paused"),
            owner=work.operation.user,
        )
        LoopLease.objects.create(cluster=copy)
        active = revisions.get_active(source)
        revisions.add_revision(
            copy,
            active.configuration,
            user=work.operation.user,
            legacy=active.legacy,
            note=f"copied from {source.name}, revision {active.revision}",
        )
        copied = copy_objects(source, copy, actor=work.actor, progress=work.step)
        make_due(copy.pk)
    work.operation.cluster = copy
    return f"{copied:,} objects copied from {source.name}"


def _use_one_snapshot() -> None:
    """Make this transaction ignore later commits of others."""
    with connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")


def _empty_copy(source: Cluster, name: str, *, paused: bool, owner: str) -> Cluster:
    copy = Cluster(name=name, paused=paused, **lifecycle.values_of(source, without=_OWN))
    copy.forgotten_version = source.resource_version
    lifecycle.save_new(copy, owner=owner)
    return copy
