"""Extenders that replay their recorded answers, without a call to the real extender."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apps.scheduler.decision import Decision
from apps.scheduler.framework.extender import Extender, ExtenderError, ExtenderVerdict
from apps.scheduler.framework.extender_calls import ExtenderVerb
from apps.scheduler.framework.interface import Victims
from apps.scheduler.framework.status import Code, Status
from apps.scheduler.framework.types import PodInfo


class RecordedExtender:
    """Replays the answers recorded in one decision."""

    is_binder = False

    def __init__(self, extender: Extender, recorded: Decision) -> None:
        self.name = extender.name
        self.is_ignorable = extender.is_ignorable
        self.is_filter = extender.is_filter
        self.is_prioritizer = extender.is_prioritizer
        self.supports_preemption = extender.supports_preemption
        self.weight = extender.weight
        self.is_interested = extender.is_interested
        self._recorded = recorded

    def filter(self, pod: PodInfo, nodes: Sequence[str]) -> ExtenderVerdict:
        self._replay_failure(ExtenderVerb.FILTER)
        refused = {
            name: status for name in nodes if (status := self._find_refusal(name)) is not None
        }
        return ExtenderVerdict(
            feasible=frozenset(nodes) - refused.keys(),
            failed={
                name: status.message
                for name, status in refused.items()
                if status.code is Code.UNSCHEDULABLE
            },
            unresolvable={
                name: status.message
                for name, status in refused.items()
                if status.code is not Code.UNSCHEDULABLE and status.reasons
            },
            has_objects=any(
                call.has_objects
                for call in self._recorded.extender_calls
                if call.extender == self.name
            ),
        )

    def prioritize(self, pod: PodInfo, nodes: Sequence[str]) -> Mapping[str, int]:
        self._replay_failure(ExtenderVerb.PRIORITIZE)
        column = self._recorded.scores.get(self.name)
        if column is None:
            return {}
        names = [self._recorded.nodes[row] for row in self._recorded.feasible]
        return dict(zip(names, column.raw.tolist(), strict=True))

    def bind(self, pod: PodInfo, node: str) -> Status | None:
        raise ExtenderError("bindings are not recomputed")

    def process_preemption(
        self, pod: PodInfo, candidates: Mapping[str, Victims]
    ) -> Mapping[str, Victims]:
        self._replay_failure(ExtenderVerb.PREEMPT)
        preemption = self._recorded.post_filter
        recorded = (
            {each.node: each for each in preemption.candidates} if preemption is not None else {}
        )
        return {
            node: Victims(
                tuple(pod for pod in victims.pods if pod.key in recorded[node].victims),
                recorded[node].pdb_violations,
            )
            for node, victims in candidates.items()
            if node in recorded
        }

    def _find_refusal(self, node: str) -> Status | None:
        statuses = self._recorded.node_statuses
        if statuses is None or node not in self._recorded.nodes:
            return None
        status = statuses.at(self._recorded.nodes.index(node))
        return status if status is not None and status.plugin == self.name else None

    def _replay_failure(self, verb: ExtenderVerb) -> None:
        for call in self._recorded.extender_calls:
            if call.extender == self.name and call.verb is verb and call.error:
                raise ExtenderError(call.error)
