"""Extenders that answer as they did: nobody outside is asked again about the past."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apps.scheduler.decision import Decision
from apps.scheduler.framework.extender import Extender, ExtenderError, ExtenderVerdict
from apps.scheduler.framework.extender_calls import ExtenderVerb
from apps.scheduler.framework.interface import Victims
from apps.scheduler.framework.status import Code, Status
from apps.scheduler.framework.types import PodInfo


class RecordedExtender:
    """Answers for one decision, as its row tells of the extender."""

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
        self._fail_as_before(ExtenderVerb.FILTER)
        refused = {name: status for name in nodes if (status := self._refusal(name)) is not None}
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
        )

    def prioritize(self, pod: PodInfo, nodes: Sequence[str]) -> Mapping[str, int]:
        self._fail_as_before(ExtenderVerb.PRIORITIZE)
        column = self._recorded.scores.get(self.name)
        if column is None:
            return {}
        names = [self._recorded.nodes[row] for row in self._recorded.feasible]
        return dict(zip(names, column.raw.tolist(), strict=True))

    def bind(self, pod: PodInfo, node: str) -> Status | None:
        raise ExtenderError("a binding is not repeated")

    def process_preemption(
        self, pod: PodInfo, candidates: Mapping[str, Victims]
    ) -> Mapping[str, Victims]:
        self._fail_as_before(ExtenderVerb.PREEMPT)
        found = self._recorded.post_filter
        kept = {each.node: each for each in found.candidates} if found is not None else {}
        return {
            node: Victims(
                tuple(pod for pod in victims.pods if pod.key in kept[node].victims),
                kept[node].pdb_violations,
            )
            for node, victims in candidates.items()
            if node in kept
        }

    def _refusal(self, node: str) -> Status | None:
        statuses = self._recorded.node_statuses
        if statuses is None or node not in self._recorded.nodes:
            return None
        status = statuses.at(self._recorded.nodes.index(node))
        return status if status is not None and status.plugin == self.name else None

    def _fail_as_before(self, verb: ExtenderVerb) -> None:
        for call in self._recorded.extender_calls:
            if call.extender == self.name and call.verb is verb and call.error:
                raise ExtenderError(call.error)
