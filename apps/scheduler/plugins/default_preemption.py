"""DefaultPreemption: evicts pods of lower priority to make room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from apps.scheduler.config.checks import check_range
from apps.scheduler.config.errors import Problems
from apps.scheduler.config.fields import described
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.diagnosis import Diagnosis
from apps.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    Resource,
    never_queue,
)
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import PostFilterResult
from apps.scheduler.framework.status import Status, unresolvable, unschedulable
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects.meta import Int32
from apps.scheduler.preemption.evaluator import Evaluator

NAME: Final = "DefaultPreemption"
REASON_IN_FLIGHT: Final = "waiting for the preemption for this pod to be finished"
REASON_GROUP_IN_FLIGHT: Final = "waiting for the preemption for this pod group to be finished"
#: why a member of a group does not preempt for itself
REASON_FOR_GROUP: Final = "preemption: not eligible due to workload aware preemption enabled"
#: of a group with a topology constraint
REASON_PLACEMENTS: Final = (
    "preemption: not eligible due to placement-based pod group scheduling limitation"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultPreemptionArgs:
    min_candidate_nodes_percentage: Int32 = described(
        10, "0 to 100: percent of the nodes for which preemption computes candidates, at least."
    )
    min_candidate_nodes_absolute: Int32 = described(
        100, "Number of nodes for which preemption computes candidates, at least."
    )


class DefaultPreemption:
    name = NAME
    args_type = DefaultPreemptionArgs

    def __init__(self, args: DefaultPreemptionArgs | None, handle: Handle) -> None:
        args = args or DefaultPreemptionArgs()
        self._is_asynchronous = handle.gates.enabled("SchedulerAsyncPreemption")
        self._groups = handle.listers.pod_groups
        self.preempts_for_groups = handle.gates.enabled("WorkloadAwarePreemption")
        self._is_tried_in_placements = handle.gates.enabled("TopologyAwareWorkloadScheduling")
        self.evaluator = Evaluator(
            NAME,
            handle,
            min_candidate_nodes_percentage=args.min_candidate_nodes_percentage,
            min_candidate_nodes_absolute=args.min_candidate_nodes_absolute,
        )

    @staticmethod
    def check_args(args: DefaultPreemptionArgs, path: str, problems: Problems) -> None:
        percentage = args.min_candidate_nodes_percentage
        absolute = args.min_candidate_nodes_absolute
        percentage_path = f"{path}.minCandidateNodesPercentage"
        absolute_path = f"{path}.minCandidateNodesAbsolute"
        check_range(percentage, 0, 100, percentage_path, problems)
        if absolute < 0:
            problems.invalid(absolute_path, absolute, "not in valid range [0, inf)")
        if percentage == absolute == 0:
            both = "cannot be zero at the same time as"
            problems.invalid(percentage_path, 0, f"{both} minCandidateNodesAbsolute")
            problems.invalid(absolute_path, 0, f"{both} minCandidateNodesPercentage")

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Keeps the pod out of the queue while its victims are still terminating."""
        if self.preempts_for_groups and pod.pod.group_name:
            group = self._groups.get(pod.pod.group_name, pod.namespace)
            uid = group.metadata.uid if group is not None else ""
            waits = self._is_asynchronous and self.evaluator.in_flight.is_running(uid)
            return unresolvable(REASON_GROUP_IN_FLIGHT) if waits else None
        waits = self._is_asynchronous and self.evaluator.in_flight.is_running(pod.uid)
        return unresolvable(REASON_IN_FLIGHT) if waits else None

    def post_filter(
        self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis
    ) -> tuple[PostFilterResult | None, Status]:
        if pod.pod.group_name and self._needs_one_domain(pod):
            return None, unschedulable(REASON_PLACEMENTS)
        if pod.pod.group_name and self.preempts_for_groups:
            return None, unschedulable(REASON_FOR_GROUP)
        result, status = self.evaluator.preempt(state, pod, diagnosis)
        if status.reasons:
            status = replace(status, reasons=(f"preemption: {status.message}",))
        return result, status

    def _needs_one_domain(self, pod: PodInfo) -> bool:
        group = self._groups.get(pod.pod.group_name, pod.namespace)
        return self._is_tried_in_placements and group is not None and bool(group.topology_key)

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        # Preemption never requests a retry: the plugins that rejected the pod do, if it helps.
        deleted = ClusterEvent(Resource.POD, ActionType.DELETE)
        return (ClusterEventWithHint(deleted, never_queue),)
