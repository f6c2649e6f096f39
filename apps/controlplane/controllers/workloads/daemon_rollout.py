"""Which pods of a DaemonSet are missing and which are too many, on each of its nodes.

While a template is rolled out a node may be without its pod (`maxUnavailable`), or have two, the
old one until the new one is available (`maxSurge`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.controlplane.controllers.workloads.templates import REVISION_LABEL
from apps.controlplane.controllers.writes import is_active
from apps.scheduler.objects import Pod

Body = dict[str, Any]


@dataclass(slots=True)
class Plan:
    """Nodes that get a pod now, and pods that go now."""

    missing: list[str] = field(default_factory=list)
    surplus: list[Pod] = field(default_factory=list)


def plan(
    daemons: Body,
    by_node: Mapping[str, Sequence[Pod]],
    wanted: Collection[str],
    tolerable: Collection[str],
    available: Collection[str],
    digest: str,
) -> Plan:
    """The next step towards one pod of the current template on each wanted node.

    `tolerable` are nodes where a pod may stay, `available` the names of pods that serve.
    """
    made = Plan(missing=sorted(set(wanted) - by_node.keys()))
    surge, missing = _limits(daemons, len(wanted))
    old: list[Pod] = []
    surging = 0
    for node in sorted(by_node):
        pods = by_node[node]
        made.surplus += [pod for pod in pods if _is_over(pod)]
        active = [pod for pod in pods if is_active(pod)]
        if node not in tolerable:
            made.surplus += active
            continue
        current = [pod for pod in active if revision(pod) == digest]
        outdated = [pod for pod in active if revision(pod) != digest]
        made.surplus += current[1:] + outdated[1:]
        if not outdated:
            continue
        if not current:
            old.append(outdated[0])
        elif current[0].metadata.name in available or not surge:
            made.surplus.append(outdated[0])
        else:
            surging += 1
    if surge:
        _surge(made, old, surge - surging, available)
    elif missing:
        serving = [pods for pods in by_node.values() if _serves(pods, available)]
        away = len(set(wanted)) - len(serving)
        _replace(made, old, missing - away, available)
    return made


def revision(pod: Pod) -> str:
    """The template a pod was made of."""
    return pod.metadata.labels.get(REVISION_LABEL, "")


def _surge(made: Plan, old: Sequence[Pod], room: int, available: Collection[str]) -> None:
    """New pods beside old ones; an old one that does not serve need not be waited for."""
    broken = [pod for pod in old if pod.metadata.name not in available]
    made.surplus += broken
    serving = [pod for pod in old if pod.metadata.name in available]
    made.missing += [_node_of(pod) for pod in serving[: max(room, 0)]]


def _replace(made: Plan, old: Sequence[Pod], room: int, available: Collection[str]) -> None:
    """Take old pods away, first those that do not serve anyway."""
    broken = [pod for pod in old if pod.metadata.name not in available]
    serving = [pod for pod in old if pod.metadata.name in available]
    made.surplus += broken + serving[: max(room, 0)]


def _serves(pods: Sequence[Pod], available: Collection[str]) -> bool:
    return any(is_active(pod) and pod.metadata.name in available for pod in pods)


def _is_over(pod: Pod) -> bool:
    return not is_active(pod) and not pod.metadata.deletion_timestamp


def _node_of(pod: Pod) -> str:
    return pod.spec.node_name


def _limits(daemons: Body, nodes: int) -> tuple[int, int]:
    """(how many nodes may have two pods, how many may have none) during a rollout."""
    strategy = daemons["spec"].get("updateStrategy") or {}
    if strategy.get("type") != "RollingUpdate":
        return 0, 0
    rolling = strategy.get("rollingUpdate") or {}
    surge = _share(rolling.get("maxSurge", 0), nodes)
    return surge, 0 if surge else _share(rolling.get("maxUnavailable", 1), nodes)


def _share(amount: int | str, total: int) -> int:
    if isinstance(amount, int):
        return amount
    return -(-int(amount.rstrip("%")) * total // 100)
