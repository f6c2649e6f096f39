"""Pods as a scheduler sees them whose feature gates turn fields of the API off."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from apps.scheduler.features import FeatureGates
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import LabelSelector, Pod, TopologySpreadConstraint

#: PodInfo → the same pod without the fields that are turned off; itself if it has none of them
View = Callable[[PodInfo], PodInfo]

_COMPARISONS: Final = frozenset({"Lt", "Gt"})


def view_of_pods(gates: FeatureGates) -> View:
    """The view for these gates. It is applied to each version of a pod, so it has to be cheap."""
    steps: list[Callable[[Pod], Pod]] = []
    if not gates.enabled("GenericWorkload"):
        steps.append(_without_group)
    if not gates.enabled("TaintTolerationComparisonOperators"):
        steps.append(_without_comparisons)
    if not gates.enabled("MatchLabelKeysInPodTopologySpread"):
        steps.append(_without_label_keys)
    if not gates.enabled("PodLevelResources"):
        steps.append(_without_pod_level_resources)
    elif not gates.enabled("InPlacePodLevelResourcesVerticalScaling"):
        steps.append(_without_pod_level_status)
    if not gates.enabled("DRANodeAllocatableResources"):
        steps.append(_without_claim_resources)

    def view(info: PodInfo) -> PodInfo:
        pod = info.pod
        for step in steps:
            pod = step(pod)
        return info if pod is info.pod else PodInfo(pod)

    return view


def _without_group(pod: Pod) -> Pod:
    return pod if pod.spec.scheduling_group is None else _with_spec(pod, scheduling_group=None)


def _without_comparisons(pod: Pod) -> Pod:
    # A loop: this runs for each version of each pod.
    for toleration in pod.spec.tolerations:
        if toleration.operator in _COMPARISONS:
            break
    else:
        return pod
    kept = tuple(each for each in pod.spec.tolerations if each.operator not in _COMPARISONS)
    return _with_spec(pod, tolerations=kept)


def _without_label_keys(pod: Pod) -> Pod:
    constraints = pod.spec.topology_spread_constraints
    if not any(each.match_label_keys for each in constraints):
        return pod
    labels = pod.metadata.labels
    return _with_spec(
        pod,
        topology_spread_constraints=tuple(_without_keys(each, labels) for each in constraints),
    )


def _without_keys(
    constraint: TopologySpreadConstraint, labels: Mapping[str, str]
) -> TopologySpreadConstraint:
    """The constraint without its keys and the requirements that the API server made of them."""
    selector = constraint.label_selector
    if selector is not None:
        selector = _without_merged(selector, constraint.match_label_keys, labels)
    return msgspec.structs.replace(constraint, match_label_keys=(), label_selector=selector)


def _without_merged(
    selector: LabelSelector, keys: tuple[str, ...], labels: Mapping[str, str]
) -> LabelSelector:
    merged = {(key, (labels[key],)) for key in keys if key in labels}
    expressions = tuple(
        each
        for each in selector.match_expressions
        if each.operator != "In" or (each.key, tuple(each.values)) not in merged
    )
    return msgspec.structs.replace(selector, match_expressions=expressions)


def _without_pod_level_resources(pod: Pod) -> Pod:
    pod = _without_pod_level_status(pod)
    return pod if pod.spec.resources is None else _with_spec(pod, resources=None)


def _without_pod_level_status(pod: Pod) -> Pod:
    status = pod.status
    if status.resources is None and not status.allocated_resources:
        return pod
    status = msgspec.structs.replace(status, resources=None, allocated_resources={})
    return msgspec.structs.replace(pod, status=status)


def _without_claim_resources(pod: Pod) -> Pod:
    if not pod.status.node_allocatable_resource_claim_statuses:
        return pod
    status = msgspec.structs.replace(pod.status, node_allocatable_resource_claim_statuses=())
    return msgspec.structs.replace(pod, status=status)


def _with_spec(pod: Pod, **fields: object) -> Pod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, **fields))
