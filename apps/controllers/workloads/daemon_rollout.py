"""Computes the missing and the surplus pods of a DaemonSet on each of its nodes.

During a rollout a node may have no pod (`maxUnavailable`), or two, the old one until the new one is
available (`maxSurge`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.cluster.admission.defaulting.workloads import TEMPLATE_GENERATION
from apps.controllers.controller import scaled_value
from apps.controllers.workloads.templates import REVISION_LABEL
from apps.controllers.writes import is_active
from apps.scheduler.objects import Pod

Body = dict[str, Any]


@dataclass(slots=True)
class RolloutPlan:
    """Nodes that need a pod now, and pods to delete now."""

    missing: list[str] = field(default_factory=list)
    surplus: list[Pod] = field(default_factory=list)


def plan(
    daemons: Body,
    by_node: Mapping[str, Sequence[Pod]],
    wanted: Collection[str],
    tolerable: Mapping[str, bool],
    available: Collection[str],
    digest: str,
) -> tuple[RolloutPlan, RolloutPlan]:
    """The next steps towards one pod on each wanted node, and then of the current template.

    `tolerable` says of each node whether a pod may stay there, `available` are the names of
    available pods.
    """
    result = RolloutPlan(missing=sorted(set(wanted) - by_node.keys()))
    surge, missing = _limits(daemons, len(wanted))
    old: list[Pod] = []
    surging = 0
    for node in sorted(by_node):
        pods = by_node[node]
        result.surplus += [pod for pod in pods if _has_ended(pod)]
        active = [pod for pod in pods if is_active(pod)]
        if not tolerable.get(node):
            # those that ran on a node that is deleted are garbage
            gone = node not in tolerable
            result.surplus += [pod for pod in active if not (gone and pod.spec.node_name)]
            continue
        current = [pod for pod in active if is_current(daemons, pod, digest)]
        outdated = [pod for pod in active if not is_current(daemons, pod, digest)]
        result.surplus += current[1:] + outdated[1:]
        if not outdated:
            continue
        if not current:
            old.append(outdated[0])
        elif current[0].metadata.name in available or not surge:
            result.surplus.append(outdated[0])
        else:
            surging += 1
    rollout = RolloutPlan()
    if surge:
        # where the new one would not fit, the old one is not kept
        rollout.surplus += [pod for pod in old if _node_of(pod) not in wanted]
        old = [pod for pod in old if _node_of(pod) in wanted]
        _surge(rollout, old, surge - surging, available)
    elif missing:
        serving = [pods for pods in by_node.values() if _is_available(pods, available)]
        away = len(set(wanted)) - len(serving)
        _replace(rollout, old, missing - away, available)
    return result, rollout


def is_current(daemons: Body, pod: Pod, digest: str) -> bool:
    """Whether the pod has the current template, by its hash or by the template's generation."""
    label = generation_label(daemons)
    return revision(pod) == digest or bool(label) and label.items() <= pod.metadata.labels.items()


def generation_label(daemons: Body) -> dict[str, str]:
    """The label of new pods with the generation of the template; empty if it is not known."""
    annotations = daemons["metadata"].get("annotations") or {}
    generation = annotations.get(TEMPLATE_GENERATION)
    return {"pod-template-generation": generation} if generation else {}


def revision(pod: Pod) -> str:
    """The hash of the template that a pod was created from."""
    return pod.metadata.labels.get(REVISION_LABEL, "")


def _surge(result: RolloutPlan, old: Sequence[Pod], room: int, available: Collection[str]) -> None:
    """Add new pods besides old ones; old ones that are not available are replaced at once."""
    broken = [pod for pod in old if pod.metadata.name not in available]
    result.surplus += broken
    serving = [pod for pod in old if pod.metadata.name in available]
    result.missing += [_node_of(pod) for pod in serving[: max(room, 0)]]


def _replace(
    result: RolloutPlan, old: Sequence[Pod], room: int, available: Collection[str]
) -> None:
    """Delete old pods, first those that are not available."""
    broken = [pod for pod in old if pod.metadata.name not in available]
    serving = [pod for pod in old if pod.metadata.name in available]
    result.surplus += broken + serving[: max(room, 0)]


def _is_available(pods: Sequence[Pod], available: Collection[str]) -> bool:
    return any(is_active(pod) and pod.metadata.name in available for pod in pods)


def _has_ended(pod: Pod) -> bool:
    return not is_active(pod) and not pod.metadata.deletion_timestamp


def _node_of(pod: Pod) -> str:
    return pod.spec.node_name


def _limits(daemons: Body, nodes: int) -> tuple[int, int]:
    """(maxSurge, maxUnavailable) as numbers of nodes."""
    strategy = daemons["spec"].get("updateStrategy") or {}
    if strategy.get("type") != "RollingUpdate":
        return 0, 0
    rolling = strategy.get("rollingUpdate") or {}
    surge = scaled_value(rolling.get("maxSurge", 0), nodes)
    return surge, 0 if surge else scaled_value(rolling.get("maxUnavailable", 1), nodes)
