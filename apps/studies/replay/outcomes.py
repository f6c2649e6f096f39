"""What became of the pods in the recorded and in the replayed life."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
import numpy as np

from apps.engine.profiles.configuration_differences import NOTHING, compare_configurations
from apps.scheduler.config import Configuration
from apps.studies.replay.continuing import Continuing
from apps.studies.replay.differences import Differences
from apps.studies.replay.levels import SERIES, Levels, Samples
from apps.studies.replay.report import (
    Effect,
    Figures,
    PodReplay,
    PriorityWaits,
    ReplayKind,
    ReplayReport,
    Waits,
)


def compare_pods(
    recorded: Levels, continuing: Continuing, differences: Differences, names: Mapping[str, str]
) -> Iterator[PodReplay]:
    """The pods whose outcome differs: first those with a cause, in its order."""
    replayed = continuing.levels
    uids = dict.fromkeys(
        [
            *differences.first,
            *recorded.bound,
            *replayed.bound,
            *recorded.preempted,
            *replayed.preempted,
        ]
    )
    inverse = {continuing.resolve(uid): uid for uid in continuing.instead}
    seen: set[str] = set()
    for recorded_uid in uids:
        uid = inverse.get(recorded_uid, recorded_uid)
        ours = continuing.resolve(uid)
        if uid in seen:
            continue
        seen.add(uid)
        before, after = recorded.bound.get(uid), replayed.bound.get(ours)
        nodes = (before[0] if before else "", after[0] if after else "")
        preempted = (uid in recorded.preempted, ours in replayed.preempted)
        if nodes[0] == nodes[1] and preempted[0] == preempted[1]:
            continue
        first = differences.first.get(ours) or differences.first.get(uid)
        namespace, _, name = (first.pod_key if first else names.get(uid, "/")).partition("/")
        yield PodReplay(
            namespace=namespace,
            name=name,
            uid=uid,
            kind=_kind(nodes, preempted),
            node_before=nodes[0],
            node_after=nodes[1],
            waited_before=before[1] if before else None,
            waited_after=after[1] if after else None,
            attempt=first.attempt if first else None,
            decision=first.decision if first else None,
            cause=first.cause if first else _untried(preempted),
            follows=names.get(first.follows, "") if first else "",
        )


def _kind(nodes: tuple[str, str], preempted: tuple[bool, bool]) -> ReplayKind:
    if nodes[0] == nodes[1]:
        return "not preempted" if preempted[0] else "preempted"
    if nodes[0] and nodes[1]:
        return "other node"
    return "only recorded" if nodes[0] else "only replayed"


def _untried(preempted: tuple[bool, bool]) -> str:
    if preempted[1] and not preempted[0]:
        return "preempted by a pod that was not placed like this in the record"
    if preempted[0] and not preempted[1]:
        return "not preempted: the pod that preempted it is on another node, or is pending"
    return "not tried at the same time"


def sum_up(levels: Levels, attempts: int) -> Figures:
    """The totals of one life."""
    p50, p99 = _percentiles(seconds for _, seconds in levels.bound.values())
    return Figures(
        attempts=attempts,
        bound=len(levels.bound),
        pending=len(levels.pending),
        preempted=len(levels.preempted),
        waiting_p50=p50,
        waiting_p99=p99,
    )


def list_priorities(recorded: Levels, replayed: Levels) -> list[PriorityWaits]:
    """The pods of each priority class that were bound, pending or preempted in record or replay."""
    before, after = _by_priority(recorded), _by_priority(replayed)
    return [
        PriorityWaits(
            priority=priority,
            priority_class=name,
            recorded=before.get((priority, name), _NO_PODS),
            replayed=after.get((priority, name), _NO_PODS),
        )
        for priority, name in sorted({**before, **after}, key=lambda each: (-each[0], each[1]))
    ]


def list_effects(recorded: Configuration, replayed: Configuration) -> list[Effect]:
    """The effective differences; how many nodes are looked at first, as most others follow."""
    effects = []
    for profile in compare_configurations(recorded, replayed):
        name = profile.scheduler_name
        if profile.status != "changed":
            states = ("–", "a profile") if profile.status == "added" else ("a profile", "–")
            effects.append(
                Effect(scheduler_name=name, what="profile", before=states[0], after=states[1])
            )
        for each in profile.differences:
            before, after = each.before, each.after
            if each.what == _PERCENTAGE:
                before, after = _nodes(before), _nodes(after)
            effects.append(Effect(scheduler_name=name, what=each.what, before=before, after=after))
    return sorted(effects, key=lambda each: each.what != _PERCENTAGE)


def _nodes(percentage: str) -> str:
    """What a percentage of nodes to score means."""
    if percentage in ("0", NOTHING):
        return "adaptive: 5 to 50 % of the nodes"
    return "all nodes" if percentage == "100" else f"{percentage} % of the nodes"


def with_baseline(report: ReplayReport, baseline: ReplayReport) -> ReplayReport:
    """The report, with what another one has replayed as its baseline."""
    waits = {(each.priority, each.priority_class): each.replayed for each in baseline.priorities}
    return msgspec.structs.replace(
        report,
        baseline=baseline.replayed,
        baseline_series=baseline.replayed_series,
        priorities=[
            msgspec.structs.replace(
                each, baseline=waits.get((each.priority, each.priority_class), _NO_PODS)
            )
            for each in report.priorities
        ],
    )


_PERCENTAGE: Final = "percentageOfNodesToScore"
_NO_PODS: Final = Waits(bound=0, pending=0, preempted=0, waiting_p50=None, waiting_p99=None)


def _by_priority(levels: Levels) -> dict[tuple[int, str], Waits]:
    groups: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
    for uid in dict.fromkeys([*levels.bound, *levels.pending, *sorted(levels.preempted)]):
        groups[levels.priorities[uid]].append(uid)
    waits = {}
    for priority, uids in groups.items():
        p50, p99 = _percentiles(levels.bound[uid][1] for uid in uids if uid in levels.bound)
        waits[priority] = Waits(
            bound=sum(uid in levels.bound for uid in uids),
            pending=sum(uid in levels.pending for uid in uids),
            preempted=sum(uid in levels.preempted for uid in uids),
            waiting_p50=p50,
            waiting_p99=p99,
        )
    return waits


def _percentiles(waits: Iterable[float]) -> tuple[float | None, float | None]:
    """The median and the 99th percentile; None without values."""
    values = list(waits)
    if not values:
        return None, None
    return float(np.percentile(values, 50)), float(np.percentile(values, 99))


def list_series(samples: Samples) -> dict[str, list[float | None]]:
    """Name of a level -> its values over time."""

    def value(measured: Mapping[str, Any], name: str) -> float | None:
        measure = measured.get(name)
        return round(measure, 6) if measure is not None else None

    return {name: [value(each, name) for each in samples.values] for name, _ in SERIES}
