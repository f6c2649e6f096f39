"""`python -m bench.trace FOLDER`: processor time of the core for the pods of the openb trace.

The pods are of many kinds that take turns, so that many nodes have changed since the last pod of
the same kind; the workloads of `bench.core` have one kind each. Nothing is deleted, and pods that
fit nowhere count, too.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import django

from apps.scheduler import objects
from apps.scheduler.objects import KubeObject, Pod
from bench import machine
from bench.core import Bench
from bench.results import Figures
from bench.workloads import BenchmarkWorkload
from schedweb import memory


class TraceWorkload(BenchmarkWorkload):
    """The nodes and the pods in `spec`, which are objects of the API."""

    def cluster(self) -> Iterator[tuple[str, KubeObject]]:
        for body in self.spec["nodes"]:
            yield "Node", objects.decode("Node", body)

    def timed_pods(self, most: int) -> Iterator[KubeObject]:
        for number, body in enumerate(islice(self.spec["pods"], most)):
            metadata = {**body["metadata"], "namespace": "default", "uid": f"pod-{number}"}
            yield objects.decode("Pod", {**body, "metadata": metadata})

    def storage(self, pod: Pod) -> Iterator[tuple[str, KubeObject]]:
        return iter(())


def read(folder: Path) -> TraceWorkload:
    """`nodes.csv` and `pods.csv` of a folder, the pods in the order of their creation."""
    from apps.studies.importers import openb

    nodes = openb.read_nodes(openb.TraceFile.read(folder / "nodes.csv"))
    pods = openb.read_timed_pods(openb.TraceFile.read(folder / "pods.csv"))
    return TraceWorkload("openb", {"nodes": nodes, "pods": [body for *_, body in pods]}, {})


def measure(workload: TraceWorkload, most: int) -> Figures:
    """Schedule the first `most` pods."""
    bench = Bench(workload)
    pods = list(workload.timed_pods(most))
    taken = bench.run(pods)
    return {
        "pods": len(pods),
        "bound": len(bench.bound),
        "pods_per_s": len(pods) / sum(taken),
        "processor_us": bench.processor_seconds / len(pods) * 1e6,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="with nodes.csv and pods.csv")
    parser.add_argument("--pods", type=int, default=sys.maxsize, help="pods at most (all)")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "schedweb.settings")
    django.setup()
    memory.collect_less_often()  # as a worker does
    with machine.observed_load() as load:
        figures = measure(read(options.folder), options.pods)
    print("\n".join(f"{name}: {value:,.0f}" for name, value in figures.items()))
    print(machine.format_load(load))


if __name__ == "__main__":
    main()
