"""`make bench`: pods per second of the scheduling core, on kube-scheduler's own workloads.

The time of a pod is that of its scheduling cycles: pop, snapshot, filters, scores, choice, assume;
all nodes are scored, and the columns of the decision are computed. A pod that preempts others takes
two cycles. Not timed: the confirmation of bindings and evictions, everything outside the core, and
the preparation of a workload (nodes, initial pods).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Iterable

import msgspec

from apps.scheduler.clock import RealClock
from apps.scheduler.config import load as load_configuration
from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.intents import Eviction
from apps.scheduler.objects import KubeObject, Pod
from apps.scheduler.plugins.registry import TABLE
from apps.scheduler.scheduler import Scheduler
from bench import workloads
from bench.workloads import BenchmarkWorkload

CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 100
"""
#: The results of the real kube-scheduler with all nodes scored, on two similar cores.
REAL = {
    "SchedulingBasic": 137,
    "SchedulingNodeAffinity": 124,
    "TopologySpreading": 115,
    "PreferredTopologySpreading": 105,
    "SchedulingPodAffinity": 67,
    "SchedulingPodAntiAffinity": 99,
    "SchedulingPreferredPodAffinity": 89,
    "PreemptionBasic": 35,
}


class Bench:
    """One workload on a fresh scheduler."""

    def __init__(self, workload: BenchmarkWorkload) -> None:
        self.workload = workload
        self.scheduler = Scheduler(
            load_configuration(CONFIGURATION, TABLE), clock=RealClock(), seed=1
        )
        self.pods: dict[str, Pod] = {}
        for kind, item in workload.cluster():
            self.scheduler.handle(kind, None, item)

    def run(self, pods: Iterable[KubeObject]) -> list[float]:
        """Schedule pods; returns the seconds of scheduling cycles for each."""
        for pod in pods:
            assert isinstance(pod, Pod)
            self.pods[pod.metadata.uid] = pod
            self.scheduler.handle("Pod", None, pod)
        taken: defaultdict[str, float] = defaultdict(float)
        while True:
            start = time.perf_counter()
            decision = self.scheduler.schedule_one()
            if decision is None:
                return list(taken.values())
            taken[decision.pod_uid] += time.perf_counter() - start
            self._commit(decision)

    def _commit(self, decision: Decision) -> None:
        """Simulate the control plane: bind the pod, or delete its victims."""
        if decision.result == Result.SCHEDULED:
            pending = self.pods[decision.pod_uid]
            spec = msgspec.structs.replace(pending.spec, node_name=decision.node)
            self.scheduler.bound(decision)
            self._update(pending, msgspec.structs.replace(pending, spec=spec))
        elif decision.nominating is not None:
            pending = self.pods[decision.pod_uid]
            node = decision.nominating.nominated_node
            status = msgspec.structs.replace(pending.status, nominated_node_name=node)
            self._update(pending, msgspec.structs.replace(pending, status=status))
            for intent in decision.intents:
                if isinstance(intent, Eviction):
                    self.scheduler.handle("Pod", self.pods.pop(intent.uid), None)

    def _update(self, old: Pod, new: Pod) -> None:
        self.pods[new.metadata.uid] = new
        self.scheduler.handle("Pod", old, new)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="workloads (default: all)")
    parser.add_argument("--pods", type=int, default=1000, help="timed pods at most (1000)")
    options = parser.parse_args()
    print(f"{'workload':<50}{'nodes':>7}{'pods/s':>8}{'p50 µs':>8}{'p99 µs':>8}  real core")
    for workload in workloads.load():
        if options.names and workload.name not in options.names:
            continue
        if workload.needs:
            print(f"{workload.name:<50} skipped: needs {workload.needs}")
            continue
        bench = Bench(workload)
        bench.run(workload.initial_pods())
        taken = bench.run(workload.timed_pods(options.pods))
        median = statistics.median(taken) * 1e6
        slow = statistics.quantiles(taken, n=100)[98] * 1e6
        rate = len(taken) / sum(taken)
        real = REAL.get(workload.name)
        comparison = f"{real}/s, we are {rate / real:.1f} times as fast" if real else "-"
        nodes = workload.spec["nodes"]
        print(f"{workload.name:<50}{nodes:>7}{rate:>8.0f}{median:>8.0f}{slow:>8.0f}  {comparison}")


if __name__ == "__main__":
    main()
