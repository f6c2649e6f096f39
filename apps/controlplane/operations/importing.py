"""Importing YAML into a cluster, old or new; and clusters of many generated nodes."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from apps.cluster.models import Cluster
from apps.controlplane.clusters import generating, lifecycle, manifests
from apps.controlplane.operations.progress import Progress


def run_import(work: Progress) -> str:
    """The payload's `yaml`, into the operation's cluster."""
    created = manifests.import_yaml(
        work.cluster, work.payload()["yaml"], actor=work.actor, progress=work.step
    )
    return f"{len(created):,} objects made"


def run_create(work: Progress) -> str:
    """The payload's `yaml`, into a new cluster made of the arguments `cluster`."""
    with transaction.atomic():
        cluster = new_cluster(work)
        created = manifests.import_yaml(
            cluster, work.payload()["yaml"], actor=work.actor, progress=work.step
        )
    work.operation.cluster = cluster
    return f"{len(created):,} objects made in {cluster.name}"


def run_generate(work: Progress) -> str:
    """A new cluster made of the arguments `cluster`."""
    cluster = new_cluster(work, progress=work.step)
    work.operation.cluster = cluster
    return f"cluster {cluster.name} is made"


def new_cluster(work: Progress, **more: Any) -> Cluster:
    """The cluster that the argument `cluster` describes, in the words of `create_cluster`."""
    wanted = dict(work.argument("cluster"))
    sizes = [generating.NodeSize(*size) for size in wanted.pop("sizes", ())]
    if sizes:
        more["sizes"] = sizes
    return lifecycle.create_cluster(
        **wanted, user=work.operation.user, request_id=work.actor.request_id, **more
    )
