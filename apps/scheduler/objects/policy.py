"""Priorities and disruption budgets: what preemption reads."""

from __future__ import annotations

from apps.scheduler.objects.meta import Condition, KubeObject, KubeStruct, LabelSelector, Time


class PriorityClass(KubeObject, frozen=True):
    value: int = 0
    global_default: bool = False
    description: str = ""
    preemption_policy: str = "PreemptLowerPriority"


class PodDisruptionBudgetSpec(KubeStruct, frozen=True):
    selector: LabelSelector | None = None
    #: a count or a percentage ("30%")
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(KubeStruct, frozen=True):
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    observed_generation: int = 0
    #: pod name → when its eviction was granted
    disrupted_pods: dict[str, Time] = {}
    conditions: tuple[Condition, ...] = ()


class PodDisruptionBudget(KubeObject, frozen=True):
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()
