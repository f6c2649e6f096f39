"""Preemption for a whole group: which pods and groups to evict so that it can be scheduled.

With the feature gate WorkloadAwarePreemption, in place of the preemption of each member. All nodes
are one domain: everything of lower priority is taken out; if the group then fits, it is put back
one after the other as long as the group still fits. What cannot be put back is evicted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from apps.scheduler.context import SchedulingContext
from apps.scheduler.framework.runtime import Framework
from apps.scheduler.framework.status import (
    SUCCESS,
    Code,
    Status,
    error,
    unresolvable,
    unschedulable,
)
from apps.scheduler.group_attempt import GroupVictim
from apps.scheduler.group_trial import Outcome, Trial
from apps.scheduler.objects import PodGroup
from apps.scheduler.placement_trials import try_group
from apps.scheduler.placements import group_of
from apps.scheduler.plugins.default_preemption import NAME, DefaultPreemption
from apps.scheduler.preemption.eligibility import REASON_NEVER
from apps.scheduler.preemption.evaluator import Evaluator
from apps.scheduler.preemption.units import Unit, find_units, in_order_of_reprieve, pods_of
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo

GATE: Final = "WorkloadAwarePreemption"
# the texts are upstream's, to the letter
_NOT_REGISTERED: Final = (
    "default preemption plugin is not registered, workload aware preemption is disabled"
)
_HAS_CONSTRAINTS: Final = (
    "workload aware preemption is not supported for pod groups with scheduling constraints"
)
_NO_VICTIMS: Final = "No preemption victims found for incoming preemptor"


def preempt_for_group(
    context: SchedulingContext,
    framework: Framework,
    members: Sequence[QueuedPodInfo],
    trials: Sequence[Trial],
    outcome: Outcome,
) -> tuple[Outcome, tuple[GroupVictim, ...]]:
    """Request evictions if the group was found unschedulable and they would help.

    Returns the outcome, which says why nothing was evicted, and the victims. The evictions are
    writes of the first member's decision.
    """
    if outcome.status.code is not Code.UNSCHEDULABLE or not framework.handle.gates.enabled(GATE):
        return outcome, ()
    victims = _find_victims(context, framework, members)
    if isinstance(victims, Status):
        if victims.is_error:
            return Outcome(victims), ()
        return Outcome(unschedulable(*outcome.status.reasons, victims.message)), ()
    attempt = trials[0].attempt
    group = group_of(context.cache, attempt.pod.pod)
    evaluator = _evaluator_of(framework)
    assert group is not None and evaluator is not None
    evaluator.evict_for_group(attempt.state, attempt.pod, group, pods_of(victims))
    return Outcome(outcome.status, awaits_preemption=True), _describe(context, victims)


def _evaluator_of(framework: Framework) -> Evaluator | None:
    plugin = framework.plugins.get(NAME)
    if not isinstance(plugin, DefaultPreemption) or not framework.has_post_filter_plugins:
        return None
    return plugin.evaluator


def _find_victims(
    context: SchedulingContext, framework: Framework, members: Sequence[QueuedPodInfo]
) -> list[Unit] | Status:
    evaluator = _evaluator_of(framework)
    if evaluator is None:
        return unschedulable(_NOT_REGISTERED)
    member = members[0].pod
    group = group_of(context.cache, member)
    if group is None:
        missing = f'podgroup.scheduling.k8s.io "{member.group_name}" not found'
        return error(f"failed to get pod group object: {missing}")
    if group.topology_key:
        return unschedulable(_HAS_CONSTRAINTS)
    if any(each.pod.spec.preemption_policy == "Never" for each in members):
        return unschedulable(REASON_NEVER)
    units = _units_below(context, group)
    if not units:
        return unresolvable(_NO_VICTIMS)
    return _reprieve(context, framework, members, in_order_of_reprieve(units, evaluator.budgets))


def _units_below(context: SchedulingContext, group: PodGroup) -> list[Unit]:
    """What has a lower priority than the group, in the order of the nodes."""
    cache = context.cache
    pods = [pod for name in cache.node_tree for pod in cache.nodes[name].pods.values()]
    units = find_units(pods, cache.listers.pod_groups)
    return [unit for unit in units if unit.priority < group.priority]


def _reprieve(
    context: SchedulingContext,
    framework: Framework,
    members: Sequence[QueuedPodInfo],
    units: Sequence[Unit],
) -> list[Unit] | Status:
    """The units that have to go, or why the group does not fit even without all of them."""

    def status() -> Status:
        return try_group(context, framework, members, preempts=False)[1].status

    cache = context.cache
    nodes = {cache.pods[pod.uid].node_name for unit in units for pod in unit.pods}
    with cache.order_kept(nodes):
        out = [cache.take_out(unit.pods) for unit in units]
        try:
            without_all = status()
            if without_all is not SUCCESS:
                return without_all
            victims = []
            for number, unit in enumerate(units):
                cache.put_back(out[number])
                out[number] = []
                if status() is not SUCCESS:
                    out[number] = cache.take_out(unit.pods)
                    victims.append(unit)
            return victims
        finally:
            for states in out:
                cache.put_back(states)


def _describe(context: SchedulingContext, units: Sequence[Unit]) -> tuple[GroupVictim, ...]:
    return tuple(
        GroupVictim(
            pod.namespace,
            pod.name,
            context.cache.pods[pod.uid].node_name,
            unit.group,
            unit.priority,
        )
        for unit in sorted(units, key=lambda unit: unit.importance)
        for pod in unit.pods
    )
