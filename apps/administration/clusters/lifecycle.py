"""Creating, pausing, resuming and deleting clusters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from django.apps import apps as django_apps
from django.db import IntegrityError, connection, transaction
from django.db.backends.utils import CursorWrapper

from apps.administration.clusters.control_plane import create_control_plane
from apps.administration.clusters.settings import find_faults
from apps.cluster import kinds, limits
from apps.cluster.errors import AlreadyExists, Cause, Invalid, NotFound
from apps.cluster.kinds import Kind
from apps.cluster.log.announce import announcer
from apps.cluster.models import Cluster, DataObject
from apps.cluster.quota.charging import QUOTA
from apps.cluster.roles import Visibility
from apps.cluster.settings import SETTINGS, SHADOW_SETTINGS, initial_values
from apps.cluster.writes import Actor
from apps.cluster.writing import store
from apps.controllers.devices.templates import find_fault
from apps.controllers.endpoints.api_service import generate_api_service
from apps.controllers.generating import NodeSize, generate_built_in_objects, generate_nodes
from apps.engine.models import LoopLease
from apps.engine.profiles import revisions
from apps.engine.workers.waking import make_due
from apps.people import members
from apps.people.audit.recording import record
from apps.people.models import AuditEntry
from apps.studies.history import past_clusters

Action = AuditEntry.Action

#: Nodes of one write.
_BATCH = 1000

Body = dict[str, Any]


def create_cluster(
    name: str,
    *,
    user: str,
    paused: bool = False,
    nodes: int = 0,
    zones: int = 1,
    sizes: Sequence[NodeSize] = (NodeSize(),),
    devices: Sequence[str] = (),
    control_plane: bool = False,
    percentage_of_nodes_to_score: int = revisions.ALL_NODES,
    request_id: str = "",
    visibility: Visibility = Visibility.MEMBERS,
    progress: Callable[[int, int], None] = lambda done, total: None,
    **settings: Any,
) -> Cluster:
    """Create a cluster with the built-in objects, the built-in profile and `nodes` nodes.

    The nodes cycle through the zones, and through `sizes`; each has the devices of the templates
    that `devices` names (`controllers/devices/templates.py`). With `control_plane` there is also a
    tainted node with the mirror pod of kube-scheduler. The first configuration has
    `percentage_of_nodes_to_score`; 0 is adaptive, as kube-scheduler's default. `settings` are
    values of `apps.cluster.settings.SETTINGS` by name; the others have their defaults. The user
    owns the cluster. Raises Invalid, which names the argument, or AlreadyExists.
    """
    cluster = Cluster(name=name, paused=paused, **initial_values(settings))
    _check(cluster, nodes, zones, percentage_of_nodes_to_score, devices)
    with transaction.atomic():
        save_new(cluster, owner=user, visibility=visibility)
        LoopLease.objects.create(cluster=cluster)
        revisions.add_built_in(
            cluster, user=user, percentage_of_nodes_to_score=percentage_of_nodes_to_score
        )
        actor = Actor(user, request_id)
        own = replace(actor, manager="kube-apiserver")
        store.create_many(cluster, list(generate_built_in_objects()), actor=own)
        store.create_many(cluster, [generate_api_service()], actor=own)
        generated = generate_nodes(
            nodes,
            zones,
            sizes,
            beta_labels=cluster.beta_node_labels,
            devices=devices,
            now=cluster.now(),
        )
        _create_in_batches(cluster, generated, nodes, actor, progress)
        if control_plane:
            create_control_plane(cluster, actor=actor)
        record(Action.CLUSTER_CREATED, user=user, cluster=name)
    cluster.refresh_from_db(fields=["resource_version"])
    return cluster


def _create_in_batches(
    cluster: Cluster,
    generated: Iterator[tuple[Kind, Body]],
    total: int,
    actor: Actor,
    progress: Callable[[int, int], None],
) -> None:
    """A batch at a time exists in memory, however many nodes there are."""
    for start in range(0, total, _BATCH):
        store.create_many(cluster, list(islice(generated, _BATCH)), actor=actor)
        progress(min(start + _BATCH, total), total)


def record_creation(cluster: Cluster, *, user: str, **details: Any) -> None:
    """Record in the audit log that a cluster was created, other than by `create_cluster`."""
    record(Action.CLUSTER_CREATED, user=user, cluster=cluster.name, details=details)


def check_new(name: str, **settings: Any) -> None:
    """Raise Invalid or AlreadyExists if a cluster with this name and settings cannot be created."""
    _check(Cluster(name=name, **initial_values(settings)), 0, 1)
    if Cluster.objects.filter(name=name).exists():
        raise AlreadyExists("clusters", name)


def get_cluster_by_id(number: int) -> Cluster:
    """The cluster with this id; NotFound if it was deleted."""
    cluster = Cluster.objects.filter(pk=number).first()
    if cluster is None:
        raise NotFound("clusters", str(number))
    return cluster


def values_of(source: Cluster, *, without: Collection[str]) -> dict[str, Any]:
    """The columns of a cluster for a copy of it, except those named.

    The copy of a shadow is a cluster of its own: it is scheduled here, and anybody may change it.
    """
    values = {
        field.attname: getattr(source, field.attname)
        for field in Cluster._meta.concrete_fields
        if field.attname not in without
    }
    if values.pop("is_shadow"):
        values |= {each.name: each.default for each in SETTINGS if each.name in SHADOW_SETTINGS}
    return values


def save_new(cluster: Cluster, *, owner: str, visibility: Visibility = Visibility.MEMBERS) -> None:
    """Save a new cluster with the user who owns it; AlreadyExists if its name is in use."""
    try:
        with transaction.atomic():
            cluster.save()
            members.create_access(cluster, owner=owner, visibility=visibility)
    except IntegrityError as error:
        raise AlreadyExists("clusters", cluster.name) from error


def delete_cluster(cluster: Cluster, *, with_history: bool = False, user: str = "") -> None:
    """Delete a cluster with everything in it; its history is retained under its id, or deleted.

    A loop that schedules it finds its lease deleted and stops without writing. Raises NotFound if
    the cluster was deleted in the meantime.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        _lock_everything(cursor, cluster)
        cursor.execute(
            "DELETE FROM cluster_taint t USING cluster_node n "
            "WHERE t.node_id = n.id AND n.cluster_id = %s",
            [cluster.pk],
        )
        for model in django_apps.get_models():
            belongs_to_cluster = any(f.column == "cluster_id" for f in model._meta.concrete_fields)
            is_stored = model._meta.managed and model._meta.db_table not in past_clusters.HISTORY
            if belongs_to_cluster and is_stored:
                cursor.execute(
                    f"DELETE FROM {model._meta.db_table} WHERE cluster_id = %s", [cluster.pk]
                )
        if with_history:
            past_clusters.delete_history(cursor, cluster.pk)
        else:
            past_clusters.record_deletion(cluster, user=user)
        cursor.execute("DELETE FROM cluster_cluster WHERE id = %s", [cluster.pk])
        record(
            Action.CLUSTER_DELETED,
            user=user or None,
            cluster=cluster.name,
            details={"with_history": with_history},
        )


def _lock_everything(cursor: CursorWrapper, cluster: Cluster) -> None:
    """Wait for all writers, in their lock order: lease, objects, counter, quotas."""
    LoopLease.objects.select_for_update().filter(cluster=cluster).first()
    for kind in sorted(kinds.ALL, key=lambda kind: kind.name):
        if kind is not QUOTA and not kind.is_data:
            _lock_objects(cursor, cluster, kind)
    data = DataObject.objects.filter(cluster=cluster).order_by("pk").values_list("pk")
    list(data.select_for_update())
    if Cluster.objects.select_for_update().filter(pk=cluster.pk).first() is None:
        raise NotFound("clusters", cluster.name)
    _lock_objects(cursor, cluster, QUOTA)


def _lock_objects(cursor: CursorWrapper, cluster: Cluster, kind: Kind) -> None:
    cursor.execute(
        f"SELECT count(*) FROM (SELECT FROM {kind.table} o "
        "WHERE cluster_id = %s ORDER BY id FOR UPDATE) AS locked",
        [cluster.pk],
    )


def pause(cluster: Cluster) -> None:
    """Stop scheduling and controllers; attempts in flight are finished or undone."""
    Cluster.objects.filter(pk=cluster.pk).update(paused=True)
    record(Action.CLUSTER_PAUSED, cluster=cluster.name)
    announcer.announce(cluster.pk, cluster.resource_version, due=False)


def resume(cluster: Cluster) -> None:
    """Resume scheduling, with all changes made in the meantime."""
    Cluster.objects.filter(pk=cluster.pk).update(paused=False)
    record(Action.CLUSTER_RESUMED, cluster=cluster.name)
    make_due(cluster.pk)


def _check(
    cluster: Cluster,
    nodes: int,
    zones: int,
    percentage: int = revisions.ALL_NODES,
    devices: Sequence[str] = (),
) -> None:
    causes = []
    if fault := find_fault(devices):
        causes.append(Cause("FieldValueInvalid", fault, "devices"))
    if not 0 <= percentage <= 100:
        causes.append(
            Cause(
                "FieldValueInvalid",
                "must be between 0 (adaptive) and 100 (all nodes)",
                "percentage_of_nodes_to_score",
            )
        )
    for name, amount, limit in (("nodes", nodes, limits.NODES), ("zones", zones, limits.ZONES)):
        if not limit.admits(amount):
            causes.append(Cause("FieldValueInvalid", f"must be {limit}", name))
    causes += find_faults(cluster)
    if causes:
        raise Invalid("Cluster", cluster.name, causes)
