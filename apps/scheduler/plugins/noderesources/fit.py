"""NodeResourcesFit: enough free CPU, memory, other resources and pod slots; and a score."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from apps.scheduler.framework import resources
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.events import ClusterEventWithHint
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import PreFilterResult, Verdicts
from apps.scheduler.framework.node_columns import (
    AmountsName,
    BoolArray,
    Int64Array,
    NodeColumns,
    Reads,
    UInt16Array,
    take,
)
from apps.scheduler.framework.pod_change import PODS
from apps.scheduler.framework.status import Code, Status
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.plugins.helper.pod_signs import requests_sign
from apps.scheduler.plugins.noderesources import fit_hints
from apps.scheduler.plugins.noderesources.amounts import amounts
from apps.scheduler.plugins.noderesources.args import (
    NodeResourcesFitArgs,
    check_args,
    default_args,
    ignore_resources,
)
from apps.scheduler.plugins.noderesources.devices import BackedResources
from apps.scheduler.plugins.noderesources.refusal_details import (
    REASON_TOO_MANY_PODS,
    insufficient,
    missing_room,
)
from apps.scheduler.plugins.noderesources.score_details import describe_shares
from apps.scheduler.plugins.noderesources.scoring import scorer_for

NAME: Final = "NodeResourcesFit"
_NATIVE_ORDER: Final = (resources.CPU, resources.MEMORY, resources.EPHEMERAL_STORAGE)

#: answers about a row whose combinations are counted in a table
_FEW_ANSWERS: Final = 10
#: combinations of requests and answers whose status is remembered
_MAX_CODES: Final = 4096

#: (resource, amount > 0) in the order of the reasons
_Wanted = tuple[tuple[str, int], ...]


class NodeResourcesFit:
    name = NAME
    sign_reads: Reads = "amounts"
    args_type = NodeResourcesFitArgs
    default_args = staticmethod(default_args)
    check_args = staticmethod(check_args)
    ignore_resources = staticmethod(ignore_resources)
    default_weight = 1

    def __init__(self, args: NodeResourcesFitArgs | None, handle: Handle) -> None:
        args = args or NodeResourcesFitArgs()
        self._handle = handle
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        self._strategy = args.scoring_strategy
        self._scorer = scorer_for(args.scoring_strategy)
        self._backed = BackedResources(handle.listers, handle.gates)
        self._statuses: list[Status | None] = [None]
        #: (reasons, unresolvable) -> index into ``_statuses``
        self._status_ids: dict[tuple[tuple[str, ...], bool], int] = {}
        self._ids_by_code: dict[tuple[_Wanted, int], int] = {}

    def sign(self, pod: PodInfo) -> Hashable | None:
        return self._find_wanted(pod.spec_requests), tuple(pod.fit_scoring_requests.items())

    def sign_pod(self, pod: PodInfo) -> Hashable | None:
        return requests_sign(pod)

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> tuple[PreFilterResult | None, Status | None]:
        state.write(NAME, _PreFilterState(self._find_wanted(pod.spec_requests)))
        return None, None

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Verdicts | None:
        wanted = state.read(NAME, _PreFilterState).wanted
        backed = self._backed.among(name for name, _ in wanted)
        key = (self, "filter", wanted, backed)
        ids = nodes.memo(key, lambda table: self._verdicts(wanted, table, backed), depends="pods")
        return Verdicts(ids, self._statuses)

    def room(self, state: CycleState, nodes: NodeColumns) -> tuple[Int64Array, Int64Array]:
        wanted = state.read(NAME, _PreFilterState).wanted
        indices = [nodes.resource_index(name) for name, _ in wanted]
        slots = nodes.allowed_pods - nodes.pod_count - 1
        needed = np.array([amount for _, amount in wanted], dtype=np.int64)
        free = nodes.allocatable[indices] - nodes.requested[indices] - needed[:, np.newaxis]
        as_devices = self._as_devices(wanted, nodes, self._backed.among(name for name, _ in wanted))
        free[as_devices] = np.iinfo(np.int64).max
        return np.array([PODS, *indices], dtype=np.int64), np.concatenate((slots[np.newaxis], free))

    def explain_refusal(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, status: Status
    ) -> Iterator[Detail]:
        node = nodes.info(0)
        nominated = {each.uid for each in self._handle.nominator.pods_for_node(node.name)}
        return missing_room(pod, node, status, nominated)

    def pre_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Status | None:
        return None

    def score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Int64Array:
        requests = pod.fit_scoring_requests

        backed = self._backed.among(each.name for each in self._strategy.resources)

        def scores(table: NodeColumns) -> Int64Array:
            columns = amounts(
                self._strategy.resources,
                requests,
                table,
                nonzero=True,
                devices=self._backed.totals_on(table, backed),
            )
            return self._scorer(columns, len(table))

        if any(requests.get(name) for name in backed):
            # Devices in use are not among what a memoized column may depend on.
            return take(scores(nodes), rows)
        key = (NAME, "score", self._strategy, tuple(requests.items()))
        return take(nodes.memo(key, scores, depends="pods"), rows)

    def explain_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> Iterator[Detail]:
        """The use and the score of each resource, and their weighted mean."""
        listed, wanted = self._strategy.resources, pod.fit_scoring_requests
        backed = self._backed.among(each.name for each in listed)
        devices = self._backed.totals_on(nodes, backed)
        columns = amounts(listed, wanted, nodes, nonzero=True, devices=devices)
        explicit = amounts(listed, wanted, nodes, nonzero=False, devices=devices)
        assumed = {
            column.name: int(column.requested[0] - written.requested[0])
            + column.pod
            - pod.requests.get(column.name, 0)
            for column, written in zip(columns, explicit, strict=True)
        }
        return describe_shares(self._strategy, columns, self._scorer, assumed)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return fit_hints.EVENTS

    def _find_wanted(self, requests: Mapping[str, int]) -> _Wanted:
        """The requests, without the resources that the profile ignores."""
        ordered = [name for name in _NATIVE_ORDER if name in requests]
        ordered += [name for name in requests if name not in _NATIVE_ORDER]
        return tuple(
            (name, requests[name])
            for name in ordered
            if requests[name] > 0 and not self._ignores(name)
        )

    def _ignores(self, name: str) -> bool:
        return resources.is_extended(name) and (
            name in self._ignored or name.partition("/")[0] in self._ignored_groups
        )

    @staticmethod
    def _as_devices(wanted: _Wanted, nodes: NodeColumns, backed: frozenset[str]) -> BoolArray:
        """(wanted, n) bool: the node does not have the resource, DynamicResources decides."""
        if not backed:
            return np.zeros((len(wanted), len(nodes)), dtype=np.bool_)
        is_backed = np.array([name in backed for name, _ in wanted])[:, np.newaxis]
        is_absent = _of_resources("allocatable", wanted, nodes) == 0
        return np.asarray(is_backed & is_absent, dtype=np.bool_)

    def _verdicts(self, wanted: _Wanted, nodes: NodeColumns, backed: frozenset[str]) -> UInt16Array:
        needed = _column_of_amounts(wanted)
        allocatable = _of_resources("allocatable", wanted, nodes)
        lacking = allocatable - _of_resources("requested", wanted, nodes) < needed
        beyond = allocatable < needed
        if backed:
            own = ~self._as_devices(wanted, nodes, backed)
            lacking &= own
            beyond &= own
        full = nodes.pod_count >= nodes.allowed_pods
        refused = lacking.any(axis=0)
        refused |= full
        ids = np.zeros(len(nodes), dtype=np.uint16)
        rows = refused.nonzero()[0]
        if len(rows):
            lacking = lacking.take(rows, axis=1)
            unresolvable = beyond.take(rows, axis=1).any(axis=0)
            ids[rows] = self._intern(wanted, np.array([full.take(rows), *lacking, unresolvable]))
        return ids

    def _intern(self, wanted: _Wanted, answers: BoolArray) -> UInt16Array:
        """The status of each column of ``answers``: pods, every resource wanted, unresolvable.

        There are few distinct columns, so texts are created once for each.
        """
        if len(answers) <= _FEW_ANSWERS:
            codes = _bits(len(answers)).dot(answers)
            distinct = np.bincount(codes).nonzero()[0]
        else:
            codes = np.zeros(answers.shape[1], dtype=np.int64 if len(answers) < 63 else object)
            for bit, answer in enumerate(answers):
                codes[answer] += 1 << bit
            distinct = np.unique(codes)
        ids = np.array([self._known_id(wanted, int(code)) for code in distinct], dtype=np.uint16)
        return ids if len(ids) == 1 else ids[distinct.searchsorted(codes)]

    def _known_id(self, wanted: _Wanted, code: int) -> int:
        """``_status_id`` of the reasons of ``wanted``."""
        number = self._ids_by_code.get((wanted, code))
        if number is None:
            if len(self._ids_by_code) >= _MAX_CODES:
                self._ids_by_code.clear()
            reasons = [REASON_TOO_MANY_PODS, *(insufficient(name) for name, _ in wanted)]
            number = self._ids_by_code[wanted, code] = self._status_id(reasons, code)
        return number

    def _status_id(self, reasons: Sequence[str], code: int) -> int:
        """The id of a status; a bit of ``code`` for each reason, and one for unresolvable."""
        given = tuple(reason for bit, reason in enumerate(reasons) if code >> bit & 1)
        unresolvable = bool(code >> len(reasons))
        number = self._status_ids.get((given, unresolvable))
        if number is None:
            kind = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if unresolvable else Code.UNSCHEDULABLE
            number = self._status_ids[given, unresolvable] = len(self._statuses)
            self._statuses.append(Status(kind, given, NAME))
        return number


class _PreFilterState:
    """The requests of the pod; immutable."""

    __slots__ = ("wanted",)

    def __init__(self, wanted: _Wanted) -> None:
        self.wanted = wanted

    def clone(self) -> _PreFilterState:
        return self


def _of_resources(name: AmountsName, wanted: _Wanted, nodes: NodeColumns) -> Int64Array:
    """(wanted, n) int64: one of the matrices; 0 for a resource that no node has."""
    indices = tuple([nodes.resource_index(resource) for resource, _ in wanted])
    # Several times as fast as indexing.
    matrix: Int64Array = getattr(nodes, name)
    amounts = matrix.take(_index_of(indices), axis=0)
    if -1 in indices:
        amounts[[index < 0 for index in indices]] = 0
    return amounts


@lru_cache(maxsize=1024)
def _index_of(indices: tuple[int, ...]) -> Int64Array:
    return np.array(indices, dtype=np.int64)


@lru_cache(maxsize=1024)
def _column_of_amounts(wanted: _Wanted) -> Int64Array:
    """(wanted, 1) int64"""
    return np.array([amount for _, amount in wanted], dtype=np.int64)[:, np.newaxis]


@lru_cache(maxsize=_FEW_ANSWERS)
def _bits(count: int) -> Int64Array:
    """(count,) int64: the powers of two"""
    return 1 << np.arange(count, dtype=np.int64)
