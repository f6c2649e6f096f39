"""Whether a pod could run on other nodes: what every filter says of each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import msgspec

from apps.cluster.errors import BadRequest, NotFound
from apps.cluster.models import Cluster
from apps.scheduler.clock import VirtualClock
from apps.scheduler.explaining.evaluation import Refusal, evaluate
from apps.scheduler.explaining.refusing import refusals_at
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Pod
from apps.studies.lab.base import Base, LabAnswer, build_scheduler, read_base
from apps.studies.lab.configurations import choose_configuration


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """One node; without refusals the pod could run there."""

    node: str
    refusals: Sequence[Refusal]

    ANSWER: ClassVar = ("node", "fits", "sentence", "refusals")

    @property
    def fits(self) -> bool:
        return not self.refusals

    @property
    def sentence(self) -> str:
        """Every refusal with its figures; empty if the pod could run there."""
        return " ".join(
            f"{refusal.plugin}: {'; '.join(detail.sentence for detail in refusal.details)}."
            for refusal in self.refusals
        )


@dataclass(frozen=True, slots=True)
class Moving(LabAnswer):
    """What the filters say of a pod."""

    #: `namespace/name`
    pod: str
    #: where it runs; the answers are as if it did not
    runs_on: str
    nodes: Sequence[NodeAnswer]

    ANSWER: ClassVar = ("state", "pod", "runs_on", "nodes")


def ask_nodes(cluster: Cluster, pod: str, nodes: Sequence[str]) -> Moving:
    """Ask the filters of the active configuration about a pod and each of these nodes.

    A pod that runs is taken off its node first, so its own node answers like the others. Nothing
    is preempted. NotFound if there is no such pod or node, BadRequest if no profile has its
    schedulerName.
    """
    base = read_base(cluster, None, choose_configuration(cluster))
    wanted = _take_off(base, pod)
    runs_on = wanted.spec.node_name
    spec = msgspec.structs.replace(wanted.spec, node_name="")
    scheduler = build_scheduler(base, VirtualClock(base.at.timestamp()))
    try:
        if spec.scheduler_name not in scheduler.profiles:
            raise BadRequest(f"pod: no profile has its schedulerName {spec.scheduler_name!r}")
        free = PodInfo(msgspec.structs.replace(wanted, spec=spec))
        evaluation = evaluate(scheduler, free)
        answers = []
        for name in nodes:
            row = evaluation.snapshot.row_of(name)
            if row < 0:
                raise NotFound("nodes", name)
            answers.append(NodeAnswer(name, refusals_at(evaluation, row)))
    finally:
        scheduler.close()
    return Moving(base, pod, runs_on, answers)


def _take_off(base: Base, key: str) -> Pod:
    for uid, info in base.pods.items():
        if info.key == key:
            del base.pods[uid]
            return info.pod
    for pod in base.pending.values():
        if pod.key == key:
            return pod
    raise NotFound("pods", key)
