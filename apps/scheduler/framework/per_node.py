"""Plugins whose methods are called for one node at a time.

In-tree plugins take and return columns (framework.interface). A class that inherits
``PerNodePlugin`` may have these methods for single nodes instead; its other methods (PreEnqueue,
Reserve, Permit …) are as in framework.interface:

    pre_filter(state, pod, nodes) -> (PreFilterResult | None, Status | None)
    add_pod, remove_pod(state, pod, other, node_info) -> None
    filter(state, pod, node_info) -> Status | None
    pre_score(state, pod, nodes) -> Status | None
    score(state, pod, node_info) -> int
    normalize_score(state, pod, scores) -> scores
    explain_refusal(state, pod, node_info, status) -> Details (framework.explanation)
    explain_score(state, pod, node_info) -> Details
    explain_normalization(state, pod, scores, node) -> Details

``node_info`` is a NodeInfo, ``nodes`` a sequence of them (created on access), ``scores`` a dict
from node name to score, ``node`` one of its names. ``columnar`` turns such a class into one whose
methods take columns. Filter is only called for nodes that no filter before it refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import index
from typing import Any, ClassVar, overload

import numpy as np

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import Verdicts
from apps.scheduler.framework.node_columns import Int64Array, NodeColumns
from apps.scheduler.framework.status import Status
from apps.scheduler.framework.types import NodeInfo, PodInfo

_SCORED = "PerNodeScored/"


class PerNodePlugin:
    """Base of plugins with per-node methods.

    ``args``: of the class's ``args_type``; without one, the pluginConfig as written, or None.
    """

    #: the name by which a profile enables the plugin
    name: ClassVar[str]

    def __init__(self, args: Any, handle: Handle) -> None:
        self.args = args
        self.handle = handle


class NodeInfos(Sequence[NodeInfo]):
    """Rows of a table as NodeInfos."""

    def __init__(self, nodes: NodeColumns, rows: Int64Array) -> None:
        self._nodes = nodes
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> NodeInfo: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[NodeInfo]: ...
    def __getitem__(self, place: int | slice) -> NodeInfo | Sequence[NodeInfo]:
        if isinstance(place, slice):
            return NodeInfos(self._nodes, self._rows[place])
        return self._nodes.info(int(self._rows[place]))


def columnar(plugin: type[PerNodePlugin]) -> type[Any]:
    """A subclass of ``plugin`` whose per-node methods take columns."""
    methods = {
        name: adapt(getattr(plugin, name))
        for name, adapt in _ADAPTERS.items()
        if callable(getattr(plugin, name, None))
    }
    given = getattr(plugin, "filter", None)
    if given is not None:
        methods["filter_rows"] = _filter_rows(given)
    named = {"__module__": plugin.__module__, "__doc__": plugin.__doc__}
    return type(plugin.__name__, (plugin,), {**named, **methods})


def _pre_filter(given: Callable[..., Any]) -> Callable[..., Any]:
    def pre_filter(self: Any, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Any:
        return given(self, state, pod, NodeInfos(nodes, np.flatnonzero(nodes.alive)))

    return pre_filter


def _pod_change(given: Callable[..., Any]) -> Callable[..., Any]:
    def change(
        self: Any, state: CycleState, pod: PodInfo, other: PodInfo, nodes: NodeColumns
    ) -> None:
        given(self, state, pod, other, nodes.info(0))

    return change


def _filter(given: Callable[..., Any]) -> Callable[..., Verdicts]:
    filter_rows = _filter_rows(given)

    def filter(self: Any, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Verdicts:
        return filter_rows(self, state, pod, nodes, np.flatnonzero(nodes.alive))

    return filter


def _filter_rows(given: Callable[..., Any]) -> Callable[..., Verdicts]:
    def filter_rows(
        self: Any, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Verdicts:
        ids = np.zeros(len(nodes), dtype=np.uint16)
        numbers: dict[Status, int] = {}
        for row in rows.tolist():
            status = given(self, state, pod, nodes.info(row))
            if status is None:
                continue
            if not isinstance(status, Status):
                raise TypeError(f"filter returned {status!r}, which is neither a Status nor None")
            if not status.is_success:
                ids[row] = numbers.setdefault(status, len(numbers) + 1)
        return Verdicts(ids, [None, *numbers])

    return filter_rows


def _explain_refusal(given: Callable[..., Any]) -> Callable[..., Any]:
    def explain_refusal(
        self: Any, state: CycleState, pod: PodInfo, nodes: NodeColumns, status: Status
    ) -> Any:
        return given(self, state, pod, nodes.info(0), status)

    return explain_refusal


def _explain_score(given: Callable[..., Any]) -> Callable[..., Any]:
    def explain_score(self: Any, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Any:
        return given(self, state, pod, nodes.info(0))

    return explain_score


def _explain_normalization(given: Callable[..., Any]) -> Callable[..., Any]:
    def explain_normalization(
        self: Any, state: CycleState, pod: PodInfo, scores: Int64Array, place: int
    ) -> Any:
        names = state.read(_SCORED + self.name, _Scored).names
        by_node = dict(zip(names, scores.tolist(), strict=True))
        return given(self, state, pod, by_node, names[place])

    return explain_normalization


def _pre_score(given: Callable[..., Any]) -> Callable[..., Any]:
    def pre_score(
        self: Any, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Any:
        return given(self, state, pod, NodeInfos(nodes, rows))

    return pre_score


class _Scored:
    """The names of the nodes in the order of the scores, for normalize_score."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def clone(self) -> _Scored:
        return self


def _score(given: Callable[..., Any]) -> Callable[..., Int64Array]:
    def score(
        self: Any, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Int64Array:
        infos = [nodes.info(row) for row in rows.tolist()]
        state.write(_SCORED + self.name, _Scored([info.name for info in infos]))
        return _column("score", [given(self, state, pod, info) for info in infos])

    return score


def _normalize_score(given: Callable[..., Any]) -> Callable[..., Int64Array]:
    def normalize_score(
        self: Any, state: CycleState, pod: PodInfo, scores: Int64Array
    ) -> Int64Array:
        names = state.read(_SCORED + self.name, _Scored).names
        normalized = given(self, state, pod, dict(zip(names, scores.tolist(), strict=True)))
        if not isinstance(normalized, Mapping):
            raise TypeError(
                f"normalize_score returned {normalized!r}, which is no mapping of scores"
            )
        return _column("normalize_score", [normalized[name] for name in names])

    return normalize_score


def _column(method: str, scores: Sequence[Any]) -> Int64Array:
    try:
        return np.array([index(score) for score in scores], dtype=np.int64)
    except TypeError as wrong:
        raise TypeError(f"{method} must give whole numbers: {wrong}") from None


_ADAPTERS: Mapping[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "pre_filter": _pre_filter,
    "add_pod": _pod_change,
    "remove_pod": _pod_change,
    "filter": _filter,
    "explain_refusal": _explain_refusal,
    "explain_score": _explain_score,
    "explain_normalization": _explain_normalization,
    "pre_score": _pre_score,
    "score": _score,
    "normalize_score": _normalize_score,
}
