"""Imports YAML into an existing or a new cluster, and creates clusters of generated nodes."""

from __future__ import annotations

from typing import Any

from apps.administration.clusters import lifecycle, manifests
from apps.administration.operations.progress import Progress
from apps.cluster.manifests.text_files import Text
from apps.cluster.models import Cluster
from apps.controllers import generating


def run_import(work: Progress) -> str:
    """The payload's `yaml` and `files`, into the operation's cluster, by its `options`."""
    payload = work.payload()
    with work.transaction():
        imported = manifests.import_texts(
            work.cluster,
            _texts_of(payload),
            actor=work.actor,
            options=manifests.Options(**payload.get("options", {})),
            progress=work.step,
        )
    return imported.summary


def run_create(work: Progress) -> str:
    """The payload's `yaml` and `files`, into a new cluster with the settings in `cluster`."""
    texts = _texts_of(work.payload())
    with work.transaction():
        cluster = new_cluster(work)
        imported = manifests.import_texts(cluster, texts, actor=work.actor, progress=work.step)
    work.operation.cluster = cluster
    return f"{cluster.name}: {imported.summary}"


def _texts_of(payload: Any) -> list[Text]:
    return [Text("", payload["yaml"]), *(Text(*each) for each in payload.get("files", ()))]


def run_generate(work: Progress) -> str:
    """A new cluster with the settings in `cluster`."""
    with work.transaction():
        cluster = new_cluster(work, progress=work.step)
    work.operation.cluster = cluster
    return f"cluster {cluster.name} created"


def new_cluster(work: Progress, **more: Any) -> Cluster:
    """Create the cluster that the argument `cluster` describes, as for `create_cluster`."""
    wanted = dict(work.argument("cluster"))
    sizes = [generating.NodeSize(*size) for size in wanted.pop("sizes", ())]
    if sizes:
        more["sizes"] = sizes
    return lifecycle.create_cluster(
        **wanted, user=work.operation.user, request_id=work.actor.request_id, **more
    )
