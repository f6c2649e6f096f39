"""DynamicResources: refuses pods with resource claims, which are not supported; others pass."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

from apps.scheduler.config.errors import Problems
from apps.scheduler.config.fields import Duration, described
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.diagnosis import Diagnosis
from apps.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    Resource,
)
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.interface import PostFilterResult, PreFilterResult, Verdicts
from apps.scheduler.framework.nodes import Int64Array, NodeColumns, Reads, constant
from apps.scheduler.framework.status import SKIP, Status, error, unresolvable, unschedulable
from apps.scheduler.framework.types import PodInfo

NAME: Final = "DynamicResources"
REASON_NO_CLAIMS = "no new claims to deallocate"
#: upstream's message, a bug, when the PreFilter of an earlier plugin has ended the cycle
REASON_NOT_REACHED = "not found"
REASON_NOT_SERVED = "resource claims are not served by this cluster"


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicResourcesArgs:
    filter_timeout: Duration = described(
        10.0, "The longest time that filtering one node may take, such as 10s; 0s: no limit."
    )
    binding_timeout: Duration = described(
        600.0, "The longest time to wait until devices are bound; at least 1s."
    )


class _Reached:
    """Present in the state of a cycle in which the PreFilter of this plugin ran."""

    def clone(self) -> _Reached:
        return self


class DynamicResources:
    """Behaves as upstream for pods without claims, and refuses the others."""

    name = NAME
    sign_reads: Reads = "nodes"
    args_type = DynamicResourcesArgs
    default_weight = 2

    def __init__(self, args: DynamicResourcesArgs | None, handle: Handle) -> None:
        pass

    def sign(self, pod: PodInfo) -> Hashable | None:
        return None if pod.pod.spec.resource_claims else ()

    @staticmethod
    def check_args(args: DynamicResourcesArgs, path: str, problems: Problems) -> None:
        if args.filter_timeout < 0:
            problems.invalid(
                f"{path}.filterTimeout", f"{args.filter_timeout:g}s", "must be zero or positive"
            )
        if args.binding_timeout < 1:
            problems.invalid(
                f"{path}.bindingTimeout", f"{args.binding_timeout:g}s", "must be at least 1 second"
            )

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        return unresolvable(REASON_NOT_SERVED) if pod.pod.spec.resource_claims else None

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> tuple[PreFilterResult | None, Status | None]:
        if pod.pod.spec.resource_claims:
            return None, unresolvable(REASON_NOT_SERVED)
        state.write(NAME, _Reached())
        return None, SKIP

    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Verdicts | None:
        return None

    def post_filter(
        self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis
    ) -> tuple[PostFilterResult | None, Status]:
        if state.find(NAME, _Reached) is None:
            return None, error(REASON_NOT_REACHED)
        return None, unschedulable(REASON_NO_CLAIMS)

    def score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Int64Array:
        return constant(len(rows), 0)

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return None

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        pass

    def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return None

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        node = ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
        either = ActionType.ADD | ActionType.UPDATE
        generated = ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM
        return tuple(
            ClusterEventWithHint(ClusterEvent(resource, action))
            for resource, action in (
                (Resource.NODE, node),
                (Resource.RESOURCE_CLAIM, either),
                (Resource.POD, generated),
                (Resource.DEVICE_CLASS, either),
                (Resource.RESOURCE_SLICE, either),
            )
        )
