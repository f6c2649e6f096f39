"""`make bench`: pods per second of the scheduling core, on kube-scheduler's own workloads.

The time of a pod is that of its scheduling cycles: pop, snapshot, filters, scores, choice, assume;
all nodes are scored. The columns of a decision are known then; arrays of columns that follow
changed rows are built when the ledger reads them, which is not timed. A pod that preempts others
takes two cycles, and cycles of pods that are created while the clock runs count for the timed pods.
Not timed either: the confirmation of bindings and evictions, everything outside the core, and the
preparation of a workload (nodes, volumes, initial pods).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from apps.scheduler import objects
from apps.scheduler.clock import RealClock
from apps.scheduler.config import load as load_configuration
from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.intents import Eviction
from apps.scheduler.objects import KubeObject, Pod
from apps.scheduler.plugins.registry import TABLE
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.tie_break import random_draws
from bench import devices, machine, results, tables, workloads
from bench.results import BenchmarkError, Figures
from bench.workloads import BenchmarkWorkload
from schedweb import memory

CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 100
"""


class Bench:
    """One workload on a fresh scheduler."""

    def __init__(self, workload: BenchmarkWorkload) -> None:
        self.workload = workload
        self.scheduler = Scheduler(
            load_configuration(CONFIGURATION, TABLE), clock=RealClock(), draws=random_draws(1)
        )
        self.pods: dict[str, Pod] = {}
        #: uid of a pod -> the body of its claim for devices
        self.claims: dict[str, dict[str, Any]] = {}
        #: uids of all pods that were bound
        self.bound: set[str] = set()
        #: of all scheduling cycles
        self.processor_seconds = 0.0
        for kind, item in workload.cluster():
            self.scheduler.handle(kind, None, item)

    def run(
        self,
        pods: Iterable[KubeObject],
        churn: Iterator[KubeObject] | None = None,
        interval: int = 0,
    ) -> list[float]:
        """Schedule pods; returns the seconds of scheduling cycles for each.

        A pod of `churn` is created before the first cycle, and each time another `interval` of
        `pods` are bound. These pods follow in the result.
        """
        taken: defaultdict[str, float] = defaultdict(float)
        for pod in pods:
            taken[self._create(pod)] = 0.0
        wanted, bound, due = frozenset(taken), 0, 0
        while True:
            if churn is not None and bound == due:
                taken[self._create(next(churn))] = 0.0
                due += interval
            decision, seconds = self._schedule_one()
            if decision is None:
                return list(taken.values())
            taken[decision.pod_uid] += seconds
            bound += decision.pod_uid in wanted and decision.result == Result.SCHEDULED
            self._commit(decision)

    def _schedule_one(self) -> tuple[Decision | None, float]:
        worked = time.process_time()
        start = time.perf_counter()
        decision = self.scheduler.schedule_one()
        seconds = time.perf_counter() - start
        self.processor_seconds += time.process_time() - worked
        return decision, seconds

    def _create(self, pod: KubeObject) -> str:
        """Create a pod, its volumes and its claim for devices; returns its uid."""
        assert isinstance(pod, Pod)
        for kind, item in self.workload.storage(pod):
            self.scheduler.handle(kind, None, item)
        if pod.spec.resource_claims:
            body = devices.claim_body(pod.metadata.name, pod.metadata.namespace)
            self.claims[pod.metadata.uid] = body
            self.scheduler.handle(devices.KIND, None, objects.decode(devices.KIND, body))
        self.pods[pod.metadata.uid] = pod
        self.scheduler.handle("Pod", None, pod)
        return pod.metadata.uid

    def _commit(self, decision: Decision) -> None:
        """Simulate the control plane: bind the pod, or delete its victims."""
        if decision.result == Result.SCHEDULED:
            pending = self.pods[decision.pod_uid]
            spec = msgspec.structs.replace(pending.spec, node_name=decision.node)
            self.scheduler.bound(decision)
            self.bound.add(decision.pod_uid)
            if decision.pod_uid in self.claims:
                self._write_claim(decision)
            self._update(pending, msgspec.structs.replace(pending, spec=spec))
        elif decision.nominating is not None:
            pending = self.pods[decision.pod_uid]
            node = decision.nominating.nominated_node
            status = msgspec.structs.replace(pending.status, nominated_node_name=node)
            self._update(pending, msgspec.structs.replace(pending, status=status))
            for intent in decision.intents:
                if isinstance(intent, Eviction):
                    self.scheduler.handle("Pod", self.pods.pop(intent.uid), None)

    def _write_claim(self, decision: Decision) -> None:
        old = self.claims[decision.pod_uid]
        new = self.claims[decision.pod_uid] = devices.written(old, decision.intents)
        before, after = (objects.decode(devices.KIND, body) for body in (old, new))
        self.scheduler.handle(devices.KIND, before, after)

    def _update(self, old: Pod, new: Pod) -> None:
        self.pods[new.metadata.uid] = new
        self.scheduler.handle("Pod", old, new)


def measure(workload: BenchmarkWorkload, most: int) -> Figures:
    """One run; raises BenchmarkError if a timed pod is not bound."""
    bench = Bench(workload)
    bench.run(workload.initial_pods())
    timed = list(workload.timed_pods(most))
    return time_pods(bench, timed)


def time_pods(bench: Bench, timed: list[KubeObject]) -> Figures:
    """Schedule these pods on a prepared bench, with the workload's churn."""
    bench.processor_seconds = 0.0
    interval = bench.workload.churn_interval
    churn = bench.workload.churn_pods() if interval else None
    taken = bench.run(timed, churn, interval)
    bound = sum(pod.metadata.uid in bench.bound for pod in timed)
    if not timed or bound != len(timed):
        raise BenchmarkError(f"{bench.workload.name}: {bound} of {len(timed)} pods were bound")
    return {
        "pods": len(timed),
        "bound": bound,
        "churned": len(taken) - len(timed),
        "pods_per_s": len(timed) / sum(taken),
        "p50_us": statistics.median(taken) * 1e6,
        "p99_us": results.percentile(taken, 99) * 1e6,
        "processor_us": bench.processor_seconds / len(timed) * 1e6,
    }


def run_all(names: list[str], nodes: int | None, most: int, runs: int) -> Iterator[dict[str, Any]]:
    """The entry of each workload in the JSON file; no names mean all workloads."""
    for workload in workloads.load():
        if names and workload.name not in names:
            continue
        if nodes is not None:
            workload = workload.scaled(nodes)
        measured = [measure(workload, most) for _ in range(runs)]
        yield {
            "workload": workload.name,
            "nodes": workload.spec["nodes"],
            "scaled": nodes is not None,
            "placed": sum(count for count, *_ in workload.spec["init"]),
            **results.combine(measured),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="workloads (default: all)")
    parser.add_argument("--pods", type=int, default=1000, help="timed pods at most (1000)")
    parser.add_argument("--nodes", type=int, help="scale each workload to this many nodes")
    parser.add_argument("--runs", type=int, default=1, help="runs of each workload (1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results here")
    options = parser.parse_args()
    known = {workload.name for workload in workloads.load()}
    if unknown := sorted(set(options.names) - known):
        parser.error(f"no such workload: {', '.join(unknown)}; known: {', '.join(sorted(known))}")
    entries = []
    memory.collect_less_often()  # as a worker does
    with machine.observed_load() as load:
        for entry in run_all(options.names, options.nodes, options.pods, options.runs):
            print(f"{entry['workload']} ...", file=sys.stderr, flush=True)
            entries.append(entry)
    print(tables.core(entries, markdown=False))
    print(machine.format_load(load))
    if options.json:
        content = {"machine": machine.describe(), "load": load, "runs": options.runs}
        results.write(options.json, {**content, "workloads": entries})


if __name__ == "__main__":
    main()
