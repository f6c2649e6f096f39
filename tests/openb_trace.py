"""A generated trace of the shape of openb's, so that a fresh clone needs no other data."""

from __future__ import annotations

import csv
import random
from pathlib import Path

NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
POD_COLUMNS = (
    *("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos"),
    *("pod_phase", "creation_time", "deletion_time", "scheduled_time"),
)
MODELS = ("T4", "P100", "V100M16", "G2", "G3")


def write_trace(folder: Path, *, nodes: int, pods: int, seed: int = 0) -> tuple[Path, Path]:
    """Write nodes.csv and pods.csv into `folder` and return their paths.

    One pod in fifty asks for more than any node has.
    """
    draw = random.Random(seed)
    node_rows = []
    for number in range(nodes):
        gpus = draw.choice((0, 0, 2, 8))
        size = draw.choice((32, 64, 96))
        model = draw.choice(MODELS) if gpus else ""
        node_rows.append((f"trace-node-{number:04}", size * 1000, size * 8192, gpus, model))
    pod_rows = []
    for number in range(pods):
        gpus = draw.choice((0, 0, 1, 1, 2))
        share = draw.choice(("", 200, 460, 1000)) if gpus == 1 else ""
        spec = "|".join(draw.sample(MODELS, 2)) if gpus and draw.random() < 0.1 else ""
        cpu = 200_000 if number % 50 == 49 else draw.choice((1000, 4000, 6000, 8000, 11400))
        memory = draw.choice((2048, 8192, 15258, 30517))
        qos = draw.choice(("LS", "BE", "Burstable"))
        pod_rows.append(
            (f"trace-pod-{number:04}", cpu, memory, gpus, share, spec, qos, "Running", 0, 0, 0)
        )
    return (
        _write(folder / "nodes.csv", NODE_COLUMNS, node_rows),
        _write(folder / "pods.csv", POD_COLUMNS, pod_rows),
    )


def _write(path: Path, columns: tuple[str, ...], rows: list[tuple[object, ...]]) -> Path:
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(rows)
    return path
