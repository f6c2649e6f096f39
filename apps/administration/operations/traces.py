"""Imports an openb trace: two uploaded CSV files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.db import transaction

from apps.administration.operations.importing import new_cluster
from apps.administration.operations.progress import Progress
from apps.cluster import kinds
from apps.cluster.errors import ApiError
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store
from apps.studies.importers import openb
from apps.studies.importers.openb import Line, TraceError, TraceFile

#: Called with the number of objects written so far, and the total.
ReportProgress = Callable[[int, int], None]

#: Objects of a write.
_BATCH = 500


def run_create(work: Progress) -> str:
    """The payload's `nodes` and `pods` (each a file's name and text), into a new cluster."""
    with work.transaction():
        cluster = new_cluster(work)
        message = _load(work, cluster)
    work.operation.cluster = cluster
    return message


def _load(work: Progress, cluster: Cluster) -> str:
    payload = work.payload()
    nodes, pods = load(
        cluster,
        TraceFile(*payload["nodes"]),
        TraceFile(*payload["pods"]),
        actor=work.actor,
        gpu_devices=bool(work.operation.arguments.get("gpu_devices")),
        progress=work.step,
    )
    return f"{nodes:,} nodes and {pods:,} pods created"


def load(
    cluster: Cluster,
    nodes_file: TraceFile,
    pods_file: TraceFile,
    *,
    actor: Actor,
    gpu_devices: bool = False,
    progress: ReportProgress = lambda done, total: None,
) -> tuple[int, int]:
    """Create the objects of a trace in one transaction; returns the number of nodes and pods.

    With `gpu_devices` each GPU is a device, else a part of the node's gpu-milli.

    Raises TraceError; when the store refuses an object, the message names its line.
    """
    lines = openb.read_trace(nodes_file, pods_file, gpu_devices=gpu_devices)
    with transaction.atomic():
        for start in range(0, len(lines), _BATCH):
            batch = lines[start : start + _BATCH]
            _create(cluster, batch, actor)
            progress(start + len(batch), len(lines))
    nodes, pods = (sum(line.kind is kind for line in lines) for kind in (kinds.NODE, kinds.POD))
    return nodes, pods


def _create(cluster: Cluster, batch: Sequence[Line], actor: Actor) -> None:
    writes = [
        Create(line.kind, line.body, "default" if line.kind.namespaced else "") for line in batch
    ]
    outcomes = store.write(cluster, writes, actor=actor, collect_refusals=True)
    for line, outcome in zip(batch, outcomes, strict=True):
        if isinstance(outcome, ApiError):
            where = f"{line.file.name}, line {line.number}"
            raise TraceError(f"{where}: {outcome.message}") from outcome
