"""Creates the default roles, bindings and APIServices of a cluster before they are first read."""

from __future__ import annotations

from typing import Final

from django.db import transaction

from apps.cluster import kinds
from apps.cluster.access.default_policy import CLUSTER_ADMIN, default_policy
from apps.cluster.access.identity import MASTERS, Identity
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store

_NAME: Final = "system:apiserver"
_ACTOR: Final = Actor(_NAME, manager="kube-apiserver", identity=Identity(_NAME, (MASTERS,)))
_ROLE: Final = kinds.by_name("ClusterRole")


def create_default_policy(cluster: Cluster) -> bool:
    """Create them if that has not been done; whether the cluster has to be read again.

    One that has the role `cluster-admin` has them already: it was copied, forked or imported. The
    roles that aggregate others are empty while no controller fills them.
    """
    if cluster.has_default_policy:
        return False
    aggregated = cluster.controllers and not cluster.paused
    with transaction.atomic():
        mine = Cluster.objects.filter(pk=cluster.pk, has_default_policy=False)
        if mine.update(has_default_policy=True) and not _has_role(cluster):
            writes = [
                Create(kinds.by_name(each["kind"]), each)
                for each in default_policy(aggregated=aggregated)
            ]
            store.write(cluster, writes, actor=_ACTOR, collect_refusals=True, wake=False)
    return True


def _has_role(cluster: Cluster) -> bool:
    exists: bool = _ROLE.objects(cluster).filter(name=CLUSTER_ADMIN).exists()
    return exists
