"""Priority classes and disruption budgets, as read by preemption."""

from __future__ import annotations

from apps.scheduler.objects.meta import (
    Condition,
    Int32,
    Int64,
    KubeObject,
    KubeStruct,
    LabelSelector,
    Time,
)


class PriorityClass(KubeObject, frozen=True):
    value: Int32 = 0
    global_default: bool = False
    description: str = ""
    preemption_policy: str = "PreemptLowerPriority"


class PodDisruptionBudgetSpec(KubeStruct, frozen=True):
    selector: LabelSelector | None = None
    #: a count or a percentage ("30%")
    min_available: Int32 | str | None = None
    max_unavailable: Int32 | str | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(KubeStruct, frozen=True):
    disruptions_allowed: Int32 = 0
    current_healthy: Int32 = 0
    desired_healthy: Int32 = 0
    expected_pods: Int32 = 0
    observed_generation: Int64 = 0
    #: pod name → the time at which its eviction was permitted
    disrupted_pods: dict[str, Time] = {}
    conditions: tuple[Condition, ...] = ()


class PodDisruptionBudget(KubeObject, frozen=True):
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()
