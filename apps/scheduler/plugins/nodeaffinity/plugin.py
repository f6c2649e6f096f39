"""NodeAffinity: nodeSelector and node affinity, of the pod and of the profile."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Final

import msgspec
import numpy as np

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    QueueingHint,
    Resource,
)
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import PreFilterResult, Verdicts
from apps.scheduler.framework.node_columns import (
    BoolArray,
    Int64Array,
    NodeColumns,
    Reads,
    UInt16Array,
    take,
)
from apps.scheduler.framework.status import SKIP, Status, error, unresolvable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.labels import SelectorError, from_set, node_selector_term_matches
from apps.scheduler.objects import (
    Node,
    NodeSelector,
    NodeSelectorTerm,
    Pod,
    PreferredSchedulingTerm,
)
from apps.scheduler.objects import NodeAffinity as Affinity
from apps.scheduler.plugins.helper.node_selection import (
    NAME_FIELD,
    is_empty,
    matches_pod,
    matches_selector,
    matches_term,
    required_node_affinity,
)
from apps.scheduler.plugins.helper.normalize import (
    default_normalize_score,
    explain_default_normalization,
)
from apps.scheduler.plugins.nodeaffinity.args import NodeAffinityArgs, check_args
from apps.scheduler.plugins.nodeaffinity.refusal_details import unmet_rules
from apps.scheduler.plugins.nodeaffinity.score_details import describe_preferences

NAME: Final = "NodeAffinity"
REASON_POD: Final = "node(s) didn't match Pod's node affinity/selector"
REASON_ENFORCED: Final = "node(s) didn't match scheduler-enforced node affinity"
REASON_CONFLICT: Final = "pod affinity terms conflict"

_ENFORCED, _POD = 1, 2
_STATUSES = (None, unresolvable(REASON_ENFORCED), unresolvable(REASON_POD))


class NodeAffinity:
    name = NAME
    sign_reads: Reads = "nodes"
    normalizes_by_extremes = True
    args_type = NodeAffinityArgs
    check_args = staticmethod(check_args)
    default_weight = 2

    def __init__(self, args: NodeAffinityArgs | None, handle: Handle) -> None:
        added = args.added_affinity if args is not None else None
        affinity = added or Affinity()
        self._added = affinity.required_during_scheduling_ignored_during_execution
        self._added_preferred = affinity.preferred_during_scheduling_ignored_during_execution
        self._added_key = msgspec.json.encode(added)

    def sign(self, pod: PodInfo) -> Hashable | None:
        return _required_key(pod), msgspec.json.encode(self._preferred(pod))

    def sign_pod(self, pod: PodInfo) -> Hashable | None:
        spec = pod.pod.spec
        own = spec.affinity.node_affinity if spec.affinity is not None else None
        return frozenset(spec.node_selector.items()), None if own is None else _sign(own)

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> tuple[PreFilterResult | None, Status | None]:
        required = required_node_affinity(pod)
        if required is None and self._added is None and not pod.pod.spec.node_selector:
            return None, SKIP
        listed = names_allowed(required) if required is not None else None
        if listed is None:
            return None, None
        if not listed:
            return None, unresolvable(REASON_CONFLICT)
        return PreFilterResult(listed), None

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Verdicts | None:
        def verdicts(table: NodeColumns) -> UInt16Array:
            ids = np.where(matches_pod(pod, table), 0, _POD).astype(np.uint16)
            if self._added is not None:
                ids[~matches_selector(self._added, table)] = _ENFORCED
            return ids

        key = (NAME, "filter", self._added_key, _required_key(pod))
        return Verdicts(nodes.memo(key, verdicts, depends="node"), _STATUSES)

    def explain_refusal(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, status: Status
    ) -> Iterator[Detail]:
        node = nodes.info(0).node
        return unmet_rules(pod, node) if node is not None else iter(())

    def pre_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Status | None:
        """Skip if nothing is preferred; an invalid preference is an error."""
        terms = self._preferred(pod)
        if not terms:
            return SKIP
        try:
            nothing = nodes.select(rows[:0])
            for term in terms:
                matches_term(term.preference, nothing)
        except SelectorError as invalid:
            return error(str(invalid))
        return None

    def score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Int64Array:
        """The sum of the weights of all preferences the node satisfies."""
        terms = self._preferred(pod)

        def weights(table: NodeColumns) -> Int64Array:
            total = np.zeros(len(table), dtype=np.int64)
            for term in terms:
                total[_prefers(term, table)] += term.weight
            return total

        key = (NAME, "score", self._added_key, msgspec.json.encode(terms))
        return take(nodes.memo(key, weights, depends="node"), rows)

    def explain_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> Iterator[Detail]:
        """Each preference of the profile and of the pod, and whether the node satisfies it."""
        preferences = self._preferred(pod)
        satisfied = [bool(_prefers(term, nodes)[0]) for term in preferences]
        return describe_preferences(preferences, satisfied, len(self._added_preferred))

    def normalize_score(self, state: CycleState, pod: PodInfo, scores: Int64Array) -> Int64Array:
        return default_normalize_score(scores)

    def explain_normalization(
        self, state: CycleState, pod: PodInfo, scores: Int64Array, place: int
    ) -> Iterator[Detail]:
        return explain_default_normalization(scores, place)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        node = ClusterEvent(Resource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL)
        return (
            ClusterEventWithHint(
                node,
                self._hint_node_changed,
                looks_for="that matches the pod's node selector and affinity",
            ),
        )

    def _hint_node_changed(self, pod: PodInfo, old: Node | None, new: Node) -> QueueingHint:
        """The node matches now, and did not before (or is new)."""
        if not self._node_matches(pod.pod, new):
            return QueueingHint.QUEUE_SKIP
        was_matched = old is not None and self._node_matches(pod.pod, old)
        return QueueingHint.QUEUE_SKIP if was_matched else QueueingHint.QUEUE

    def _node_matches(self, pod: Pod, node: Node) -> bool:
        if self._added is not None and not _selects(self._added, node):
            return False
        if not from_set(pod.spec.node_selector).matches(node.metadata.labels):
            return False
        affinity = pod.spec.affinity
        if affinity is None or affinity.node_affinity is None:
            return True
        required = affinity.node_affinity.required_during_scheduling_ignored_during_execution
        return required is None or _selects(required, node)

    def _preferred(self, pod: PodInfo) -> tuple[PreferredSchedulingTerm, ...]:
        own: tuple[PreferredSchedulingTerm, ...] = ()
        affinity = pod.pod.spec.affinity
        if affinity is not None and affinity.node_affinity is not None:
            own = affinity.node_affinity.preferred_during_scheduling_ignored_during_execution
        return self._added_preferred + own


def names_allowed(selector: NodeSelector) -> frozenset[str] | None:
    """The only nodes that can match, if every term lists names; None if some term does not."""
    if not selector.node_selector_terms:
        return None
    allowed: frozenset[str] = frozenset()
    for term in selector.node_selector_terms:
        lists = [
            frozenset(field.values)
            for field in term.match_fields
            if field.key == NAME_FIELD and field.operator == "In"
        ]
        if not lists:
            return None
        allowed |= frozenset.intersection(*lists)
    return allowed


def _required_key(pod: PodInfo) -> bytes:
    """Equal for pods with the same result of the filter."""
    return msgspec.json.encode((pod.pod.spec.node_selector, required_node_affinity(pod)))


def _sign(affinity: Affinity) -> Hashable:
    """The terms, in whatever order they and their parts are written."""
    required = affinity.required_during_scheduling_ignored_during_execution
    terms = required.node_selector_terms if required is not None else ()
    preferred = affinity.preferred_during_scheduling_ignored_during_execution
    return (
        tuple(sorted(_sign_term(each) for each in terms)),
        tuple(sorted((each.weight, _sign_term(each.preference)) for each in preferred)),
    )


def _sign_term(term: NodeSelectorTerm) -> tuple[tuple[tuple[str, str, tuple[str, ...]], ...], ...]:
    return tuple(
        tuple(sorted((each.key, each.operator, tuple(sorted(each.values))) for each in part))
        for part in (term.match_expressions, term.match_fields)
    )


def _prefers(term: PreferredSchedulingTerm, nodes: NodeColumns) -> BoolArray:
    if term.weight == 0 or is_empty(term.preference):
        return np.zeros(len(nodes), dtype=np.bool_)
    return matches_term(term.preference, nodes)


def _selects(selector: NodeSelector, node: Node) -> bool:
    """Whether any term matches the node; invalid terms do not match."""
    for term in selector.node_selector_terms:
        try:
            if node_selector_term_matches(term, node.metadata.labels, node.metadata.name):
                return True
        except SelectorError:
            continue
    return False
