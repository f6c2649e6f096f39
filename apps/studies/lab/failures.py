"""What if a node fails: for each node alone, what happens to its pods."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from apps.cluster import limits
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.studies.lab.base import Base, LabAnswer, Progress, ignore_progress
from apps.studies.lab.fitting import without_pods
from apps.studies.lab.simulated_changes import Changes, LostPod, Origin, apply_changes
from apps.studies.lab.simulation import (
    Simulation,
    SimulationRequest,
    read_base_and_changes,
    run_simulation,
)


class UnplacedPod(NamedTuple):
    namespace: str
    name: str
    sentence: str


@dataclass(frozen=True, slots=True)
class NodeFailure:
    """The death of one node."""

    node: str
    simulation: Simulation

    ANSWER: ClassVar = ("node", "moved", "waiting", "preempted", "lost", "not_placed")

    @property
    def moved(self) -> int:
        """Pods that run elsewhere."""
        return len(self.simulation.moved)

    @property
    def preempted(self) -> int:
        return len(self.simulation.run.preempted)

    @property
    def lost(self) -> Sequence[LostPod]:
        return self.simulation.lost

    @property
    def not_placed(self) -> list[UnplacedPod]:
        pods = self.simulation.not_placed
        return [UnplacedPod(pod.namespace, pod.name, pod.sentence) for pod in pods]

    @property
    def waiting(self) -> int:
        """Replacements of lost and preempted pods that found no node."""
        return sum(pod.origin is Origin.REPLACEMENT for pod in self.simulation.not_placed)


@dataclass(frozen=True, slots=True)
class Failures(LabAnswer):
    """What the failure of each node does."""

    #: the one that hurts most first
    nodes: Sequence[NodeFailure]

    ANSWER: ClassVar = ("state", "nodes")


def simulate_failures(
    cluster: Cluster,
    request: SimulationRequest,
    nodes: Sequence[str],
    *,
    user: str = "",
    progress: Progress = ignore_progress,
) -> Failures:
    """Delete each of these nodes alone, by default every node of a small cluster.

    The pods of its controllers are created again and scheduled. Pods that are pending already are
    not. BadRequest for an unknown node, or for too many.
    """
    base, changes = read_base_and_changes(cluster, request, user=user)
    apply_changes(base, without_pods(changes))
    wanted = list(dict.fromkeys(nodes)) or list(base.nodes)
    if not limits.FAILED_NODES.admits(len(wanted)):
        most = limits.FAILED_NODES.highest
        raise BadRequest(f"nodes: name at most {most} nodes, not {len(wanted):,}")
    failures = []
    for index, name in enumerate(wanted):
        progress(index, len(wanted), f"node {name}")
        failures.append(NodeFailure(name, _fail(base, name, request.seed, f"nodes[{index}]")))
    return Failures(
        base,
        sorted(failures, key=lambda f: (-f.waiting, -len(f.lost), -f.moved, f.node)),
    )


def _fail(whole: Base, name: str, seed: int, field: str) -> Simulation:
    if name not in whole.nodes:
        raise BadRequest(f"{field}: there is no node {name!r} at version {whole.version}")
    base = copy.copy(whole)
    base.nodes, base.tree = dict(whole.nodes), copy.deepcopy(whole.tree)
    base.pods, base.pending = dict(whole.pods), dict(whole.pending)
    base.objects = list(whole.objects)
    changed = apply_changes(base, Changes(delete_nodes=[name]))
    return run_simulation(base, changed, seed=seed)
