"""ServiceAffinity: pods of a service on nodes with equal labels, or spread over them (until 1.22).

Filter keeps the pods of a service on nodes with the same values of some labels. Score spreads them
over the values of other labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from apps.scheduler.config.fields import described
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import MAX_NODE_SCORE, PreFilterResult, Verdicts
from apps.scheduler.framework.node_columns import Int32Array, Int64Array, NodeColumns
from apps.scheduler.framework.status import Status, unschedulable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.labels import EVERYTHING, Selector, from_set
from apps.scheduler.objects import Service
from apps.scheduler.plugins.helper.arithmetic import decimal_text, rounded, sum_text
from apps.scheduler.plugins.helper.normalize import raw_range
from legacy_plugins.selector_spread import SiblingPods

NAME: Final = "ServiceAffinity"
REASON: Final = "node(s) didn't match service affinity"
_STATUSES: Final = (None, unschedulable(REASON))
_STATE: Final = f"PreFilter{NAME}"
_PRE_SCORE_STATE: Final = f"PreScore{NAME}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAffinityArgs:
    affinity_labels: tuple[str, ...] = described(
        (), "Pods of a service run on nodes with the same values of these labels."
    )
    anti_affinity_labels_preference: tuple[str, ...] = described(
        (), "Pods of a service are spread over the values of these labels."
    )


@dataclass(frozen=True, slots=True)
class MatchingPods:
    """(uid, node) of the pods in the pod's namespace that have all its labels, in their order."""

    pods: tuple[tuple[str, str], ...]
    has_services: bool

    def clone(self) -> MatchingPods:
        return self


@dataclass(frozen=True, slots=True)
class LabelIds:
    """For each label of the preference, the number of the value on each scored row; -1: none."""

    of_rows: tuple[Int32Array, ...]

    def clone(self) -> LabelIds:
        return self


class ServiceAffinity:
    name = NAME
    is_legacy = True
    args_type = ServiceAffinityArgs

    def __init__(self, args: ServiceAffinityArgs | None, handle: Handle) -> None:
        self._args = args or ServiceAffinityArgs()
        self._handle = handle

    # -- affinity ------------------------------------------------------------------------------

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> tuple[PreFilterResult | None, Status | None]:
        snapshot = self._handle.snapshot
        matching = tuple(
            (other.uid, snapshot.info(row).name)
            for row in snapshot.order.tolist()
            for other in snapshot.info(row).pods.values()
            if _is_like(other, pod)
        )
        state.write(_STATE, MatchingPods(matching, bool(self._services(pod))))
        return None, None

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, nodes: NodeColumns) -> None:
        if _is_like(added, pod):
            matching = state.read(_STATE, MatchingPods)
            entry = (added.uid, nodes.info(0).name)
            state.write(_STATE, MatchingPods((*matching.pods, entry), matching.has_services))

    def remove_pod(
        self, state: CycleState, pod: PodInfo, removed: PodInfo, nodes: NodeColumns
    ) -> None:
        matching = state.read(_STATE, MatchingPods)
        kept = tuple(each for each in matching.pods if each[0] != removed.uid)
        state.write(_STATE, MatchingPods(kept, matching.has_services))

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Verdicts | None:
        wanted = self._wanted_labels(state, pod)
        refused = np.zeros(len(nodes), dtype=np.bool_)
        for key, value in wanted.items():
            refused |= ~nodes.label(key).is_any_of([value])
        return Verdicts(refused.astype(np.uint16), _STATUSES)

    def explain_refusal(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, status: Status
    ) -> Iterator[Detail]:
        node = nodes.info(0).node
        labels: Mapping[str, str] = node.metadata.labels if node is not None else {}
        for key, value in self._wanted_labels(state, pod).items():
            if labels.get(key) != value:
                yield Detail(
                    f"the pods of its service run where {key} is {value}",
                    {"label": key, "value": value, "node": labels.get(key, "")},
                )

    def _wanted_labels(self, state: CycleState, pod: PodInfo) -> dict[str, str]:
        """The values from the pod's node selector, then from the node of the first like pod."""
        asked = pod.pod.spec.node_selector
        wanted = {key: asked[key] for key in self._args.affinity_labels if key in asked}
        matching = state.read(_STATE, MatchingPods)
        if (
            len(wanted) < len(self._args.affinity_labels)
            and matching.has_services
            and matching.pods
        ):
            row = self._handle.snapshot.row_of(matching.pods[0][1])
            node = self._handle.snapshot.info(row).node if row >= 0 else None
            labels: Mapping[str, str] = node.metadata.labels if node is not None else {}
            for key in self._args.affinity_labels:
                if key in labels:
                    wanted.setdefault(key, labels[key])
        return wanted

    # -- anti-affinity -------------------------------------------------------------------------

    def pre_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Status | None:
        labels = self._args.anti_affinity_labels_preference
        ids = tuple(nodes.label(label).ids[rows] for label in labels)
        state.write(_PRE_SCORE_STATE, LabelIds(ids))
        return None

    def score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Int64Array:
        """The number of pods of the pod's service on the node."""
        siblings = SiblingPods(pod.namespace, self._selector(pod))
        counts = self._handle.snapshot.pods_by_labels.counts(siblings)
        return counts.values[nodes.snapshot_rows[rows]]

    def normalize_score(self, state: CycleState, pod: PodInfo, scores: Int64Array) -> Int64Array:
        """100 for a value without pods of the service, 0 for one with all; the labels' mean.

        A node without a label gets nothing for it. The order of the float operations is
        upstream's, as the result is truncated.
        """
        ids = state.read(_PRE_SCORE_STATE, LabelIds).of_rows
        total, result = int(scores.sum()), np.zeros(len(scores), dtype=np.float64)
        for column in ids:
            there = column >= 0
            counts = np.bincount(column[there], weights=scores[there], minlength=1)
            share = np.full(len(scores), float(MAX_NODE_SCORE))
            if total:
                share = MAX_NODE_SCORE * ((total - counts[np.where(there, column, 0)]) / total)
            result += np.where(there, share / len(ids), 0.0)
        return result.astype(np.int64)

    def explain_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> Iterator[Detail]:
        siblings = SiblingPods(pod.namespace, self._selector(pod))
        count = int(
            self._handle.snapshot.pods_by_labels.counts(siblings).values[nodes.snapshot_rows[0]]
        )
        yield Detail(f"{count} pods of the pod's service run on the node", {"score": count})

    def explain_normalization(
        self, state: CycleState, pod: PodInfo, scores: Int64Array, place: int
    ) -> Iterator[Detail]:
        """For each label, the share of the service's pods that run on nodes with another value."""
        ids = state.read(_PRE_SCORE_STATE, LabelIds).of_rows
        total, result = int(scores.sum()), int(self.normalize_score(state, pod, scores)[place])
        shares = []
        for label, column in zip(self._args.anti_affinity_labels_preference, ids, strict=True):
            here = int(scores[column == column[place]].sum()) if column[place] >= 0 else None
            share = _share_elsewhere(here, total)
            shares.append(share)
            yield _describe_label(label, here, total, share)
        mean = sum(shares, Fraction(0)) / max(len(shares), 1)
        terms = sum_text([decimal_text(share) for share in shares])
        yield Detail(
            f"({terms}) / {len(shares)} = {rounded(mean, result)}",
            {**raw_range(scores, place), "score": result},
        )

    def _selector(self, pod: PodInfo) -> Selector:
        """The selector of the first service of the pod; selects everything if it has none."""
        services = self._services(pod)
        return from_set(services[0].spec.selector) if services else EVERYTHING

    def _services(self, pod: PodInfo) -> list[Service]:
        """The services that select the pod, by name."""
        listed = self._handle.listers.services.in_namespace(pod.namespace)
        services = [
            service
            for service in listed
            if service.spec.selector
            and all(pod.labels.get(key) == value for key, value in service.spec.selector.items())
        ]
        return sorted(services, key=lambda service: service.metadata.name)


def _share_elsewhere(here: int | None, total: int) -> Fraction:
    """100 × the service's pods elsewhere / all; `here` is None on nodes without the label."""
    if here is None:
        return Fraction(0)
    return Fraction(MAX_NODE_SCORE * (total - here), total) if total else Fraction(MAX_NODE_SCORE)


def _describe_label(label: str, here: int | None, total: int, share: Fraction) -> Detail:
    if here is None:
        words = "the node does not have it: 0"
    elif not total:
        words = "no pod of the service runs: 100"
    else:
        words = f"100 × ({total} − {here}) / {total} = {decimal_text(share)}"
    figures = {"label": label, "pods": here, "allPods": total, "share": float(share)}
    return Detail(f"label {label}: {words}", figures)


def _is_like(other: PodInfo, pod: PodInfo) -> bool:
    """Whether a pod of the same namespace has all labels of the pod."""
    return other.namespace == pod.namespace and all(
        other.labels.get(key) == value for key, value in pod.labels.items()
    )
