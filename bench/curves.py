"""`make bench`, second part: what a pod costs the core as one quantity grows.

Nodes of the cluster, pods that are already placed, and different kinds of pods that take turns
(each with its own scheduling signature). Everything else is as in `bench.core`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import machine, results, workloads
from bench.core import Bench, time_pods
from bench.results import Figures
from bench.workloads import BenchmarkWorkload
from schedweb import memory

NODES = (500, 1000, 2500, 5000, 10_000, 15_000)
PLACED = (0, 1000, 5000, 10_000, 20_000, 40_000)
SIGNATURES = (1, 3, 10, 30, 100, 300)
#: curves over nodes and placed pods are drawn for these
NAMES = ("SchedulingBasic", "TopologySpreading", "SchedulingPodAntiAffinity")
#: nodes of the other two curves, each with room for 40 pods of 100m
BASE_NODES = 5000


def by_nodes(workload: BenchmarkWorkload, nodes: int, most: int) -> Figures:
    """As many pods per node are placed as in the original workload."""
    workload = workload.scaled(nodes)
    bench = Bench(workload)
    bench.run(workload.initial_pods())
    return time_pods(bench, list(workload.timed_pods(most)))


def by_placed(workload: BenchmarkWorkload, placed: int, most: int) -> Figures:
    """So many pods of the initial kind are placed."""
    template, *where = workload.spec["init"][0][1:]
    workload = replace(workload, spec={**workload.spec, "init": [[placed, template, *where]]})
    bench = Bench(workload)
    bench.run(workload.initial_pods())
    return time_pods(bench, list(workload.timed_pods(most)))


def by_signatures(workload: BenchmarkWorkload, count: int, most: int) -> Figures:
    """Pods of `count` kinds, which differ in their cpu request, take turns."""
    kind = workload.templates[workload.spec["timed"][1]]
    kinds = {
        f"kind-{number}": {**kind, "requests": {**kind["requests"], "cpu": f"{100 + number}m"}}
        for number in range(count)
    }
    workload = replace(workload, templates={**workload.templates, **kinds})
    bench = Bench(workload)
    bench.run(workload.initial_pods())
    pods = [
        workload.pod(f"kind-{number % count}", f"timed-{number}", "sched-0")
        for number in range(most)
    ]
    return time_pods(bench, pods)


def draw(
    measure: Callable[[BenchmarkWorkload, int, int], Figures],
    names: Sequence[str],
    sizes: Sequence[int],
    most: int,
    runs: int,
    base_nodes: int,
) -> list[dict[str, Any]]:
    """The points of a curve for each workload."""
    known = {workload.name: workload.scaled(base_nodes) for workload in workloads.load()}
    points = []
    for name in names:
        for size in sizes:
            print(f"{measure.__name__} {name} {size} ...", file=sys.stderr, flush=True)
            measured = [measure(known[name], size, most) for _ in range(runs)]
            points.append({"workload": name, "size": size, **results.combine(measured)})
    return points


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=1000, help="timed pods at most (1000)")
    parser.add_argument("--nodes", type=int, nargs="*", default=NODES)
    parser.add_argument("--placed", type=int, nargs="*", default=PLACED)
    parser.add_argument("--signatures", type=int, nargs="*", default=SIGNATURES)
    parser.add_argument("--base-nodes", type=int, default=BASE_NODES, help="(5000)")
    parser.add_argument("--runs", type=int, default=1, help="runs of each point (1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results here")
    options = parser.parse_args()
    memory.collect_less_often()  # as a worker does
    common = (options.pods, options.runs, options.base_nodes)
    with machine.observed_load() as load:
        curves = {
            "nodes": draw(by_nodes, NAMES, options.nodes, *common),
            "placed": draw(by_placed, NAMES[:2], options.placed, *common),
            "signatures": draw(by_signatures, NAMES[:2], options.signatures, *common),
        }
    for curve, points in curves.items():
        rows = [
            [each["workload"], f"{each['size']:,}"]
            + [results.format_spread(each[name]) for name in ("pods_per_s", "processor_us")]
            for each in points
        ]
        header = ["workload", curve, "pods/s", "processor µs"]
        print(results.format_table(header, rows, markdown=False), end="\n\n")
    print(machine.format_load(load))
    if options.json:
        content = {"machine": machine.describe(), "load": load, "runs": options.runs}
        results.write(options.json, {**content, "base_nodes": common[-1], "curves": curves})


if __name__ == "__main__":
    main()
