"""Preemption, step by step: for a pod that fits on no node, select a node and its victims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from apps.scheduler.framework import intents
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.diagnosis import Diagnosis, fit_error_message
from apps.scheduler.framework.extender import Extender, ExtenderError
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import NominatingInfo, PostFilterResult, Victims
from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.framework.status import SUCCESS, Status, error, unschedulable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import PodGroup
from apps.scheduler.preemption.budgets import Budgets
from apps.scheduler.preemption.candidate_search import (
    SearchResult,
    find_candidates,
    num_candidates,
    potential_rows,
)
from apps.scheduler.preemption.dry_run import DryRun
from apps.scheduler.preemption.eligibility import why_not_eligible
from apps.scheduler.preemption.evictable import EvictablePods
from apps.scheduler.preemption.in_flight import InFlight
from apps.scheduler.preemption.known_outcomes import KnownOutcomes
from apps.scheduler.preemption.outcomes import NodeVictims, Outcomes
from apps.scheduler.preemption.ranking import build_candidate, figures_table, rank_candidates

NO_CANDIDATE: Final = "no candidate node for preemption"
PREEMPTED: Final = "preempted"
# upstream's words in events and conditions
_GROUP: Final = "podgroup"
_WHOLE_CLUSTER: Final = "cluster"
Outcome = tuple[PostFilterResult | None, Status]


class Evaluator:
    """One for each profile; ``name`` is the plugin on whose behalf it acts."""

    def __init__(
        self,
        name: str,
        handle: Handle,
        *,
        min_candidate_nodes_percentage: int,
        min_candidate_nodes_absolute: int,
    ) -> None:
        self._name = name
        self._min_percentage = min_candidate_nodes_percentage
        self._min_absolute = min_candidate_nodes_absolute
        self._handle = handle
        self.budgets = budgets = Budgets(handle.listers.pod_disruption_budgets)
        self._evictable_pods = EvictablePods(handle.snapshot, budgets)
        self._known = KnownOutcomes(handle, budgets)
        self.in_flight = InFlight(handle.find_pod)
        #: whether outcomes of earlier cycles are used; decisions are the same
        self.reuses_outcomes = True

    def preempt(self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis) -> Outcome:
        """Nominate a node and request the eviction of its victims.

        Without ``nominating`` in the result the pod's nomination does not change: the pod is not
        eligible (it may be waiting for its victims), or there was an error. If no eviction would
        help, the nomination is withdrawn.
        """
        snapshot = self._handle.snapshot
        reason = why_not_eligible(pod, snapshot, diagnosis)
        if reason:
            return None, unschedulable(reason)
        rows = potential_rows(snapshot, diagnosis)
        offset = self._handle.draw(len(rows)) if len(rows) else 0
        search = self._find_candidates(state, pod, np.roll(rows, -offset))
        if not search.candidates:
            return self._no_candidates(search, offset)
        try:
            candidates, figures = self._ask_extenders(pod, search)
        except ExtenderError as failure:
            return None, error(str(failure))
        if not candidates:
            return None, unschedulable(NO_CANDIDATE)
        ranking = rank_candidates([each.candidate for each in candidates], figures)
        node = ranking.ties[self._handle.draw(len(ranking.ties))]
        (victims,) = (each.victims for each in candidates if each.candidate.node == node)
        displaced = self._prepare(state, pod, node, victims)
        return (
            PostFilterResult(
                nominating=NominatingInfo(node),
                victims=victims.pods,
                candidates=ranking.candidates,
                node_statuses=search.statuses,
                ties=ranking.ties,
                decided_by=ranking.decided_by,
                offset=offset,
                displaced=displaced,
            ),
            SUCCESS,
        )

    def _find_candidates(self, state: CycleState, pod: PodInfo, rows: Int64Array) -> SearchResult:
        handle = self._handle
        wanted = num_candidates(len(rows), self._min_percentage, self._min_absolute)
        signature = handle.filters.signature(state, pod) if self.reuses_outcomes else None
        dry_run = DryRun(
            handle.filters,
            handle.snapshot,
            state,
            pod,
            self._evictable_pods,
            is_signed=signature is not None,
        )
        if signature is None:
            return find_candidates(dry_run, Outcomes(len(handle.snapshot)), rows, wanted)
        outcomes = self._known.find(signature, pod)
        self._known.forget_own_node(outcomes, pod)
        search = find_candidates(dry_run, outcomes, rows, wanted)
        self._known.forget_own_node(outcomes, pod)
        if search.errors:
            self._known.clear()
        return search

    def _ask_extenders(
        self, pod: PodInfo, search: SearchResult
    ) -> tuple[Sequence[NodeVictims], Int64Array]:
        """The candidates that extenders leave, and their figures. Raises ExtenderError."""
        extenders = [
            each
            for each in self._handle.extenders
            if each.supports_preemption and each.is_interested(pod)
        ]
        if not extenders:
            return search.candidates, search.figures
        before = {each.candidate.node: each.victims for each in search.candidates}
        candidates = [
            NodeVictims(build_candidate(node, victims), victims)
            for node, victims in ask_extenders(extenders, pod, before).items()
        ]
        return candidates, figures_table(each.candidate for each in candidates)

    def _no_candidates(self, search: SearchResult, offset: int) -> Outcome:
        if search.errors:
            result = PostFilterResult(node_statuses=search.statuses, offset=offset)
            return result, error(_join_messages(search.errors))
        message = fit_error_message(Diagnosis(search.statuses), self._handle.snapshot.total_nodes)
        result = PostFilterResult(NominatingInfo(), node_statuses=search.statuses, offset=offset)
        return result, unschedulable(message)

    def _prepare(
        self, state: CycleState, pod: PodInfo, node: str, victims: Victims
    ) -> tuple[PodInfo, ...]:
        """Request the evictions; returns the pods that lose their nomination to the node.

        Pods of lower priority that are nominated to the node may no longer fit there, so their
        nomination is withdrawn. Nothing is requested for victims that are terminating already.
        """
        live = [victim for victim in victims.pods if not victim.is_terminating]
        if not live:
            return ()
        for victim in live:
            self._evict(state, pod, victim, "pod")
        self.in_flight.start(pod.uid, live)
        displaced = tuple(
            other
            for other in self._handle.nominator.pods_for_node(node)
            if other.priority < pod.priority
        )
        for other in displaced:
            cleared = {"status": {"nominatedNodeName": None}}
            patch = intents.MergePatch("Pod", other.namespace, other.name, cleared, "status")
            intents.add(state, patch)
        return displaced

    def evict_for_group(
        self, state: CycleState, member: PodInfo, group: PodGroup, victims: Sequence[PodInfo]
    ) -> None:
        """Request the evictions that make room for a group, as writes of a member's decision."""
        live = [victim for victim in victims if not victim.is_terminating]
        uid = group.metadata.uid
        for victim in live:
            self._evict(state, member, victim, _GROUP, f"{_GROUP} {uid} on node {_WHOLE_CLUSTER}")
        if live:
            self.in_flight.start(uid, live)

    def _evict(
        self, state: CycleState, pod: PodInfo, victim: PodInfo, kind: str, beneficiary: str = ""
    ) -> None:
        """Delete the victim; a pod that is not bound yet returns to the queue instead.

        ``kind``: of what room is made for, as the condition of the victim names it.
        """
        waiting = self._handle.waiting_pods.get(victim.uid)
        if waiting is not None:
            waiting.preempt(self._name, PREEMPTED)
            stays = True
        else:
            stays = self._handle.call_off_binding(victim.uid, f"preempted by {self._name}")
        scheduler = pod.pod.spec.scheduler_name
        intents.add(
            state,
            intents.Eviction(
                namespace=victim.namespace,
                name=victim.name,
                uid=victim.uid,
                message=f"{scheduler}: preempting to accommodate a higher priority {kind}",
                delete=not stays,
                beneficiary=beneficiary,
                version=victim.pod.metadata.resource_version,
            ),
        )


def _join_messages(messages: Iterable[str]) -> str:
    """Distinct messages as upstream joins errors: more than one in brackets."""
    distinct = list(dict.fromkeys(messages))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"


def ask_extenders(
    extenders: Iterable[Extender], pod: PodInfo, candidates: Mapping[str, Victims]
) -> Mapping[str, Victims]:
    """The candidates that remain after every extender was called, one after the other.

    Raises ExtenderError if an extender fails that is not ignorable.
    """
    for extender in extenders:
        try:
            answer = extender.process_preemption(pod, candidates)
        except ExtenderError:
            if extender.is_ignorable:
                continue
            raise
        candidates = _check(extender, answer)
        if not candidates:
            break
    return candidates


def _check(extender: Extender, answer: Mapping[str, Victims]) -> Mapping[str, Victims]:
    """The answer without nodes that have no victims."""
    for node, victims in answer.items():
        if not victims.pods and not extender.is_ignorable:
            raise ExtenderError(f'expected at least one victim pod on node "{node}"')
    return {node: victims for node, victims in answer.items() if victims.pods}
