"""Imports an openb trace: two uploaded CSV files."""

from __future__ import annotations

from apps.cluster.models import Cluster
from apps.controlplane.operations.importing import new_cluster
from apps.controlplane.operations.progress import Progress
from apps.controlplane.scenarios.recordings import openb
from apps.controlplane.scenarios.recordings.openb import TraceFile


def run_create(work: Progress) -> str:
    """The payload's `nodes` and `pods` (each a file's name and text), into a new cluster."""
    with work.transaction():
        cluster = new_cluster(work)
        message = _load(work, cluster)
    work.operation.cluster = cluster
    return message


def _load(work: Progress, cluster: Cluster) -> str:
    payload = work.payload()
    nodes, pods = openb.load(
        cluster,
        TraceFile(*payload["nodes"]),
        TraceFile(*payload["pods"]),
        actor=work.actor,
        gpu_devices=bool(work.operation.arguments.get("gpu_devices")),
        progress=work.step,
    )
    return f"{nodes:,} nodes and {pods:,} pods created"
