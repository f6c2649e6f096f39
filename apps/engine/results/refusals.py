"""The refusals of a decision: each status once, with the nodes it rejects.

The order is the same everywhere: by descending number of nodes, then by plugin and reasons; nodes
that were not evaluated come last. Node names are sorted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from apps.scheduler.decision import Decision
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.status import Status

PRE_FILTER = "PreFilter"
FILTER = "Filter"
#: `RefusalGroup.number` of the nodes that were not evaluated.
NOT_EVALUATED = 0
#: Number of nodes that a page lists; it has a link to all of them.
FIRST_NODES = 12


@dataclass(frozen=True, slots=True)
class NodeRefusal:
    """The status with which a node was rejected."""

    #: PreFilter or Filter; empty: not evaluated
    extension_point: str
    #: the plugin or extender; empty if the status has none
    plugin: str
    code: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RefusalGroup(NodeRefusal):
    """The nodes that one plugin rejected with one status, or those that were not evaluated."""

    #: identifies the status within its decision, for addresses; NOT_EVALUATED without a status
    number: int
    count: int
    #: by name
    nodes: tuple[str, ...]

    ANSWER: ClassVar = ("extension_point", "plugin", "code", "reasons", "count", "nodes")

    @property
    def is_evaluated(self) -> bool:
        return bool(self.extension_point)

    @property
    def source(self) -> str:
        """The plugin, or the extension point where no plugin is named; "" if not evaluated."""
        return self.plugin or self.extension_point

    @property
    def reason(self) -> str:
        return ", ".join(self.reasons)

    @property
    def first_nodes(self) -> Sequence[str]:
        return self.nodes[:FIRST_NODES]

    @property
    def more(self) -> int:
        """The number of nodes that are not among `first_nodes`."""
        return max(0, self.count - FIRST_NODES)


def group_refusals(decision: Decision) -> list[RefusalGroup]:
    """All nodes that are not feasible, grouped by status; empty if Filter failed with an error."""
    if not decision.pre_filter.is_success:
        return _drop_empty([_group(1, PRE_FILTER, decision.pre_filter, decision.nodes)])
    statuses = decision.node_statuses
    if statuses is None:
        return []
    groups = [*group_statuses(statuses, decision.nodes), *_group_without_status(decision, statuses)]
    return sorted(_drop_empty(groups), key=_order)


def group_statuses(statuses: NodeStatuses, names: Sequence[str]) -> list[RefusalGroup]:
    """The nodes that Filter rejected, by status; `names` by row, "" for a row without a node."""
    groups = [
        _group(number, FILTER, status, (names[row] for row in rows.tolist()))
        for number, rows in _group_rows_by_id(statuses.ids)
        if number > 0 and (status := statuses.statuses[number]) is not None
    ]
    return sorted(_drop_empty(groups), key=_order)


def find_refusal(decision: Decision, node: str) -> RefusalGroup | None:
    """The group of a node; None for a feasible node, or where no filter was reached."""
    return next((group for group in group_refusals(decision) if node in group.nodes), None)


def count_by_source(groups: Iterable[RefusalGroup]) -> list[tuple[str, int]]:
    """(plugin or extension point, its nodes): PreFilter first, then the one with most nodes.

    The nodes that were not evaluated come last, under the name "".
    """
    early, late = Counter[str](), Counter[str]()
    for group in groups:
        (early if group.extension_point == PRE_FILTER else late)[group.source] += group.count
    unevaluated = late.pop("", 0)
    return [
        *_sort_by_count(early),
        *_sort_by_count(late),
        *([("", unevaluated)] if unevaluated else []),
    ]


def frequent_reasons(decision: Decision, limit: int) -> list[str]:
    """The reasons of refusals of nodes or of the pod, most nodes first, at most `limit`.

    Cheap enough for every recorded decision, because it reads no node names.
    """
    counts: Counter[str] = Counter()
    for status, nodes in _count_statuses(decision):
        for reason in dict.fromkeys(status.reasons):
            counts[reason] += nodes
    return [reason for reason, _ in counts.most_common(limit)]


def rank_plugins(decision: Decision) -> list[str]:
    """The plugins that rejected the pod or nodes for it, the one that rejected most nodes first.

    Of two with as many nodes, the one that runs later comes first: its nodes passed all filters
    before it. Cheap enough for every recorded decision.
    """
    names = decision.unschedulable_plugins
    if len(names) < 2:
        return [*names]
    counts = dict.fromkeys(sorted(names, reverse=True), 0)
    for status, nodes in _count_statuses(decision):
        if status.plugin in names:
            # moves to the end: in the order in which the plugins ran
            counts[status.plugin] = counts.pop(status.plugin) + nodes
    ranked = [*counts][::-1]
    ranked.sort(key=counts.__getitem__, reverse=True)
    return ranked


def _count_statuses(decision: Decision) -> Iterator[tuple[Status, int]]:
    """Every refusal with its number of nodes, in the order in which they occurred."""
    statuses = decision.node_statuses
    if statuses is not None and len(statuses.statuses) > 1:
        yield from statuses.used()
    for outcome in (decision.pre_filter, decision.rejection):
        if outcome is not None and not outcome.is_success:
            yield outcome, decision.total_nodes


def _sort_by_count(counts: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _group_without_status(decision: Decision, statuses: NodeStatuses) -> Iterator[RefusalGroup]:
    """The nodes that PreFilter excluded, and those that were not evaluated."""
    rows = np.flatnonzero(statuses.ids == NodeStatuses.NOT_EVALUATED).tolist()
    names = {decision.nodes[row] for row in rows}
    allowed = decision.pre_filter_nodes
    left_out = names - allowed if allowed is not None else set()
    status = statuses.absent
    if not status.reasons:
        status = Status(status.code, ("node(s) left out by PreFilter",), status.plugin)
    yield _group(len(statuses.statuses), PRE_FILTER, status, left_out)
    others = _sort_names(names - left_out)
    reasons = (_why_not_evaluated(decision),)
    yield RefusalGroup("", "", "", reasons, NOT_EVALUATED, len(others), others)


def _why_not_evaluated(decision: Decision) -> str:
    if decision.is_batched:
        return "not evaluated: the pod fits the next node of a batch"
    if decision.nominated_fast_path:
        return "not evaluated: the pod fits its nominated node"
    return f"not evaluated: {len(decision.feasible):,} feasible nodes were enough"


def _group_rows_by_id(ids: NDArray[np.int32]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Every id with the rows that have it."""
    order = np.argsort(ids, kind="stable")
    numbers, starts = np.unique(ids[order], return_index=True)
    ends = [*starts, len(ids)][1:]
    for number, start, end in zip(numbers, starts, ends, strict=True):
        yield int(number), order[start:end]


def _group(number: int, extension_point: str, status: Status, nodes: Iterable[str]) -> RefusalGroup:
    names = _sort_names(nodes)
    refusal = (extension_point, status.plugin, status.code.label, status.reasons)
    return RefusalGroup(*refusal, number, len(names), names)


def _sort_names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(filter(None, names)))


def _drop_empty(groups: Iterable[RefusalGroup]) -> list[RefusalGroup]:
    return [group for group in groups if group.nodes]


def _order(group: RefusalGroup) -> tuple[bool, int, str, tuple[str, ...]]:
    return not group.is_evaluated, -group.count, group.plugin, group.reasons
