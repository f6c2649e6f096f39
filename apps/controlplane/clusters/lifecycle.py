"""Making, pausing and deleting clusters."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from django.apps import apps as django_apps
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.db.backends.utils import CursorWrapper

from apps.cluster import kinds, store
from apps.cluster.admission.plugins.registry import check_plugins
from apps.cluster.admission.priority import SYSTEM_CLASSES
from apps.cluster.announce import announcer
from apps.cluster.errors import AlreadyExists, Cause, Invalid, NotFound
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster
from apps.cluster.quota.charging import QUOTA
from apps.cluster.store import Actor
from apps.controlplane.history import past_clusters
from apps.controlplane.models import LoopLease
from apps.controlplane.profiles import revisions
from apps.controlplane.workers.waking import make_due

BUILT_IN_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
MAX_GENERATED_NODES = 20_000
#: What can be changed of a cluster that is there; it takes effect in a running loop.
SETTINGS = (
    "controllers",
    "kubelet",
    "pod_max_in_unschedulable_pods_seconds",
    "event_ttl_seconds",
    "admission_plugins",
    "ledger_max_days",
    "ledger_max_decisions",
    "changelog_max_days",
    "changelog_covers_ledger",
)

#: Nodes of one write.
_BATCH = 1000

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class NodeSize:
    """What a generated node offers, as quantities."""

    cpu: str = "8"
    memory: str = "32Gi"
    pods: str = "110"


def create_cluster(
    name: str,
    *,
    user: str,
    paused: bool = False,
    nodes: int = 0,
    zones: int = 1,
    tie_break: str = Cluster.TieBreak.RANDOM,
    seed: int | None = None,
    pod_max_in_unschedulable_pods_seconds: int = 300,
    event_ttl_seconds: int = 3600,
    admission_plugins: Mapping[str, Any] | None = None,
    sizes: Sequence[NodeSize] = (NodeSize(),),
    request_id: str = "",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Cluster:
    """Create a cluster with the built-in objects, the built-in profile and `nodes` nodes.

    The nodes take turns through the zones, and through `sizes`. Raises Invalid naming the
    argument, or AlreadyExists.
    """
    cluster = Cluster(
        name=name,
        paused=paused,
        tie_break=tie_break,
        seed=secrets.randbits(32) if seed is None else seed,
        pod_max_in_unschedulable_pods_seconds=pod_max_in_unschedulable_pods_seconds,
        event_ttl_seconds=event_ttl_seconds,
        admission_plugins=dict(admission_plugins or {}),
    )
    _check(cluster, nodes, zones)
    with transaction.atomic():
        take_name(cluster)
        LoopLease.objects.create(cluster=cluster)
        revisions.add_built_in(cluster, user=user)
        actor = Actor(user, request_id)
        store.create_many(cluster, list(_built_in_objects()), actor=actor)
        generated = list(_generated_nodes(nodes, zones, sizes))
        for start in range(0, nodes, _BATCH):
            store.create_many(cluster, generated[start : start + _BATCH], actor=actor)
            progress(min(start + _BATCH, nodes), nodes)
    cluster.refresh_from_db(fields=["resource_version"])
    return cluster


def check_name(name: str) -> None:
    """Raise what making a cluster of this name would: Invalid, or AlreadyExists."""
    cluster = Cluster(name=name)
    _check(cluster, 0, 1)
    if Cluster.objects.filter(name=name).exists():
        raise AlreadyExists("clusters", name)


def cluster_of_id(number: int) -> Cluster:
    """The cluster of this id; NotFound when it was deleted."""
    found = Cluster.objects.filter(pk=number).first()
    if found is None:
        raise NotFound("clusters", str(number))
    return found


def take_name(cluster: Cluster) -> None:
    """Save a new cluster; AlreadyExists when its name is taken."""
    try:
        with transaction.atomic():
            cluster.save()
    except IntegrityError as error:
        raise AlreadyExists("clusters", cluster.name) from error


def delete_cluster(cluster: Cluster, *, with_history: bool = False, user: str = "") -> None:
    """Delete a cluster with everything in it; its history stays under its id, or goes, too.

    A loop that is scheduling it finds its lease gone and stops without writing. Raises NotFound
    when somebody else was faster.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        _lock_everything(cursor, cluster)
        cursor.execute(
            "DELETE FROM cluster_taint t USING cluster_node n "
            "WHERE t.node_id = n.id AND n.cluster_id = %s",
            [cluster.pk],
        )
        for model in django_apps.get_models():
            of_a_cluster = any(f.column == "cluster_id" for f in model._meta.concrete_fields)
            if of_a_cluster and model._meta.db_table not in past_clusters.HISTORY:
                cursor.execute(
                    f"DELETE FROM {model._meta.db_table} WHERE cluster_id = %s", [cluster.pk]
                )
        if with_history:
            past_clusters.forget_history(cursor, cluster.pk)
        else:
            past_clusters.remember(cluster, user=user)
        cursor.execute("DELETE FROM cluster_cluster WHERE id = %s", [cluster.pk])


def _lock_everything(cursor: CursorWrapper, cluster: Cluster) -> None:
    """Wait for whoever writes, in the order of all writers: lease, objects, counter, quotas."""
    LoopLease.objects.select_for_update().filter(cluster=cluster).first()
    for kind in sorted(kinds.ALL, key=lambda kind: kind.name):
        if kind is not QUOTA:
            _lock_objects(cursor, cluster, kind)
    if Cluster.objects.select_for_update().filter(pk=cluster.pk).first() is None:
        raise NotFound("clusters", cluster.name)
    _lock_objects(cursor, cluster, QUOTA)


def _lock_objects(cursor: CursorWrapper, cluster: Cluster, kind: Kind) -> None:
    cursor.execute(
        f"SELECT count(*) FROM (SELECT FROM {kind.model._meta.db_table} "
        "WHERE cluster_id = %s ORDER BY id FOR UPDATE) AS locked",
        [cluster.pk],
    )


def pause(cluster: Cluster) -> None:
    """Stop scheduling and controllers; what is in flight is finished or undone."""
    Cluster.objects.filter(pk=cluster.pk).update(paused=True)
    announcer.committed(cluster.pk, cluster.resource_version, due=False)


def resume(cluster: Cluster) -> None:
    """Go on with scheduling, with everything that happened meanwhile."""
    Cluster.objects.filter(pk=cluster.pk).update(paused=False)
    make_due(cluster.pk)


def change_settings(cluster: Cluster, changes: Mapping[str, Any]) -> None:
    """Change some of SETTINGS; a loop at work goes by them from its next look on.

    Controllers, or mock kubelets, that are switched on again look at everything that happened
    meanwhile. Raises Invalid naming what is wrong, and changes nothing then.
    """
    assert changes.keys() <= set(SETTINGS)
    if not changes:
        return
    wanted = copy(cluster)
    for name, value in changes.items():
        setattr(wanted, name, value)
    if causes := _faults(wanted):
        raise Invalid("Cluster", cluster.name, causes)
    Cluster.objects.filter(pk=cluster.pk).update(**changes)
    for name, value in changes.items():
        setattr(cluster, name, value)
    make_due(cluster.pk)


def generated_node(
    name: str, zone: str, *, cpu: str = "8", memory: str = "32Gi", pods: str = "110"
) -> Body:
    """A Ready node of ordinary size in a zone."""
    capacity = {"cpu": cpu, "memory": memory, "ephemeral-storage": "100Gi", "pods": pods}
    return {
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "topology.kubernetes.io/zone": zone,
            },
        },
        "status": {
            "allocatable": capacity,
            "capacity": capacity,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def _built_in_objects() -> Iterator[tuple[Kind, Body]]:
    for name in BUILT_IN_NAMESPACES:
        yield kinds.NAMESPACE, {"metadata": {"name": name}}
    for name, (value, description) in SYSTEM_CLASSES.items():
        yield (
            kinds.PRIORITY_CLASS,
            {"metadata": {"name": name}, "value": value, "description": description},
        )


def _generated_nodes(
    count: int, zones: int, sizes: Sequence[NodeSize]
) -> Iterator[tuple[Kind, Body]]:
    width = len(str(count - 1)) if count else 1
    for index in range(count):
        zone = f"zone-{index % zones + 1}"
        size = sizes[index // zones % len(sizes)]
        name = f"node-{index:0{width}}"
        body = generated_node(name, zone, cpu=size.cpu, memory=size.memory, pods=size.pods)
        yield kinds.NODE, body


def _check(cluster: Cluster, nodes: int, zones: int) -> None:
    causes = []
    if not 0 <= nodes <= MAX_GENERATED_NODES:
        causes.append(
            Cause("FieldValueInvalid", f"must be between 0 and {MAX_GENERATED_NODES}", "nodes")
        )
    if zones < 1:
        causes.append(Cause("FieldValueInvalid", "must be at least 1", "zones"))
    causes += _faults(cluster)
    if causes:
        raise Invalid("Cluster", cluster.name, causes)


def _absent(cluster: Cluster) -> list[str]:
    return [f.name for f in cluster._meta.fields if f.null and getattr(cluster, f.attname) is None]


def _faults(cluster: Cluster) -> list[Cause]:
    """What the model's own validators say of each field, and the plugins of their parameters."""
    causes = list(check_plugins(cluster.admission_plugins))
    try:
        cluster.clean_fields(exclude=_absent(cluster))
    except ValidationError as error:
        causes += [
            Cause("FieldValueInvalid", text, field)
            for field, texts in error.message_dict.items()
            for text in texts
        ]
    return causes
