"""Imports an openb trace: two uploaded CSV files."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from django.db import transaction

from apps.cluster.models import Cluster
from apps.controlplane.clusters import openb
from apps.controlplane.operations.importing import new_cluster
from apps.controlplane.operations.progress import Progress


def run_create(work: Progress) -> str:
    """The payload's `nodes` and `pods` (each a file's name and text), into a new cluster."""
    with transaction.atomic():
        cluster = new_cluster(work)
        message = _load(work, cluster)
    work.operation.cluster = cluster
    return message


def _load(work: Progress, cluster: Cluster) -> str:
    payload = work.payload()
    with TemporaryDirectory(prefix="schedweb-trace-") as folder:
        files = []
        for part in ("nodes", "pods"):
            name, text = payload[part]
            # the original name, for messages; separate folders, in case both have the same name
            file = Path(folder, part, Path(name).name or f"{part}.csv")
            file.parent.mkdir()
            file.write_text(text, encoding="utf-8", newline="")
            files.append(file)
        nodes, pods = openb.load(cluster, files[0], files[1], actor=work.actor, progress=work.step)
    return f"{nodes:,} nodes and {pods:,} pods created"
