"""Compare runs of pods that are alike with a real control plane: opportunistic batching.

    python -m tools.truth.batches [--sequences 10] [--seed 1]

The folder named by REAL_KUBERNETES, or ../shared/real beside the checkout, starts the real one with
its scheduler; without it nothing is compared, and the output says so. Both get the same nodes and
the same pods, some of them like those before them, and come to rest after each step. Pods are
batched because PodTopologySpread has no default constraints. A sequence with nodes that are equally
good is drawn again, because the real scheduler would draw among them. So is one with a pod that
fits nowhere, which is tried again at some time.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from typing import Any

from apps.scheduler.decision import Decision
from tools.truth.groups import READY, Real, build, play_ours, print_difference
from tools.truth.servers import control_plane
from tools.truth.table import OUTPUT, Row, heading, real_folder

Body = dict[str, Any]

_NO_DEFAULTS = {"name": "PodTopologySpread", "args": {"defaultingType": "List"}}
CONFIG: Body = {
    "profiles": [{"schedulerName": "default-scheduler", "pluginConfig": [_NO_DEFAULTS]}]
}
#: A sequence differs if it differs in so many plays: a ranking lasts 500 ms of real time.
_PLAYS = 3
_CAPACITIES = ((2, 8), (4, 16), (8, 16), (16, 64), (64, 128))


class Batches:
    """Steps of creations and deletions, from a seed."""

    def __init__(self, seed: str) -> None:
        self.dice = random.Random(seed)
        self.nodes = [f"n{number}" for number in range(self.dice.randint(3, 9))]
        self._pods = 0

    def steps(self) -> Iterator[list[Body]]:
        yield [*map(self._node, self.nodes)]
        templates = [self._template() for _ in range(self.dice.randint(1, 3))]
        for _ in range(self.dice.randint(1, 3)):
            first = self._pods
            runs = [self._run(templates) for _ in range(self.dice.randint(1, 4))]
            yield [pod for run in runs for pod in run]
            ended = self.dice.sample(range(first, self._pods), (self._pods - first) // 3)
            yield [{"deleted": f"p{number}"} for number in ended]

    def _node(self, name: str) -> Body:
        dice = self.dice
        cpu, memory = dice.choice(_CAPACITIES)
        capacity = {"cpu": str(cpu), "memory": f"{memory}Gi", "pods": dice.choice(("3", "110"))}
        labels = {"kubernetes.io/hostname": name, "rack": f"r{dice.randint(0, 2)}"}
        spec: Body = {}
        if dice.random() < 0.3:
            effect = dice.choice(("NoSchedule", "PreferNoSchedule"))
            spec["taints"] = [{"key": "team", "value": "a", "effect": effect}]
        status = {"capacity": capacity, "allocatable": capacity, "conditions": [READY]}
        return build("Node", name, labels=labels, spec=spec, status=status)

    def _run(self, templates: list[Body]) -> list[Body]:
        """Pods in a row, most of them of one template."""
        number = self.dice.randint(2, 9)
        template = self.dice.choice(templates)
        return [
            self._pod(template if self.dice.random() < 0.9 else self.dice.choice(templates))
            for _ in range(number)
        ]

    def _pod(self, template: Body) -> Body:
        name = f"p{self._pods}"
        self._pods += 1
        return build("Pod", name, spec={**template, "terminationGracePeriodSeconds": 0})

    def _template(self) -> Body:
        dice = self.dice
        requests = {"cpu": dice.choice(("500m", "1", "1500m", "3")), "memory": "512Mi"}
        container: Body = {"name": "c", "image": "i", "resources": {"requests": requests}}
        if dice.random() < 0.3:
            port = 8000 + dice.randint(0, 1)
            container["ports"] = [{"containerPort": port, "hostPort": port}]
        weights = dice.sample(range(1, 101), len(self.nodes))
        preferred = [
            {"weight": weight, "preference": {"matchExpressions": [_is(name)]}}
            for name, weight in zip(self.nodes, weights, strict=True)
        ]
        affinity: Body = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
        if dice.random() < 0.2:
            racks = {"key": "rack", "operator": "NotIn", "values": ["r0"]}
            required = {"nodeSelectorTerms": [{"matchExpressions": [racks]}]}
            affinity["requiredDuringSchedulingIgnoredDuringExecution"] = required
        spec: Body = {"containers": [container], "affinity": {"nodeAffinity": affinity}}
        if dice.random() < 0.3:
            spec["tolerations"] = [{"key": "team", "operator": "Exists"}]
        if dice.random() < 0.2:
            spec["volumes"] = [{"name": "v", "configMap": {"name": "c"}}]
        if dice.random() < 0.2:
            spec["topologySpreadConstraints"] = [
                {
                    "maxSkew": 2,
                    "topologyKey": "rack",
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {},
                }
            ]
        return spec


def _is(name: str) -> Body:
    return {"key": "kubernetes.io/hostname", "operator": "In", "values": [name]}


def untied(seed: int) -> tuple[list[list[Body]], list[Body], int]:
    """Steps with one answer, our states, and how many pods continued a batch."""
    number = 0
    while True:
        steps, decisions = [*Batches(f"{seed} {number}").steps()], []
        ours = play_ours(seed, CONFIG, steps, decisions.append)
        if all(map(_has_one_answer, decisions)):
            return steps, ours, sum(each.is_batched for each in decisions)
        number += 1


def _has_one_answer(decision: Decision) -> bool:
    totals = decision.total.tolist()
    return bool(decision.node) and len(set(totals)) == len(totals)


def main() -> int:
    options = _parser().parse_args()
    scripts, folder = real_folder(), OUTPUT / "batches"
    if not (scripts / "start").exists():
        print(f"NOTHING WAS COMPARED: {scripts / 'start'} does not exist (set REAL_KUBERNETES)")
        return 0
    row, batched = Row("pods in batches, in sequences"), 0
    with control_plane(scripts, folder, "--scheduler", "--controllers", config=CONFIG) as server:
        for seed in range(options.seed, options.seed + options.sequences):
            steps, ours, continued = untied(seed)
            for _ in range(_PLAYS):
                real = Real(server).play(steps)
                if real == ours:
                    break
            row.compared += 1
            batched += continued
            print(f"sequence {seed}: {len(steps)} steps", flush=True)
            if real != ours:
                row.differing.append(f"sequence {seed}")
                print_difference(seed, real, ours)
    print(f"{batched} pods took the next node of a batch")
    print(heading("what"))
    print(row)
    return row.save("batches")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.truth.batches")
    parser.add_argument("--sequences", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    return parser


if __name__ == "__main__":
    sys.exit(main())
