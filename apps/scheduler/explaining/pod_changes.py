"""Changes to a pod that may make it fit: requests, tolerations, rules and constraints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
import numpy as np

from apps.scheduler.config.decoding import camel_case
from apps.scheduler.explaining import effort
from apps.scheduler.explaining.evaluation import Evaluation
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.node_columns import BoolArray, Int64Array
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Affinity, Pod, Taint, Toleration
from apps.scheduler.plugins.helper.node_selection import required_node_affinity
from apps.scheduler.plugins.helper.node_text import requirement_text, taint_text
from apps.scheduler.plugins.helper.resource_text import quantity_text
from apps.scheduler.plugins.helper.taints import (
    NO_EXECUTE,
    NO_SCHEDULE,
    UNSCHEDULABLE_TAINT,
    is_tolerated,
)
from apps.scheduler.plugins.noderesources.fit import NodeResourcesFit
from apps.scheduler.plugins.podtopologyspread.constraints import DO_NOT_SCHEDULE, SCHEDULE_ANYWAY
from apps.scheduler.plugins.podtopologyspread.filtering import PreFilterState
from apps.scheduler.plugins.podtopologyspread.plugin import PRE_FILTER_STATE, PodTopologySpread

#: the most distinct taints tried, those on most nodes first
_MOST_TAINTS: Final = 12


@dataclass(frozen=True, slots=True)
class CandidateChange:
    kind: str
    sentence: str
    pod: Pod
    change: Mapping[str, Any]
    effort: float


def find_changes(
    evaluation: Evaluation, passing: Mapping[str, BoolArray]
) -> Iterator[CandidateChange]:
    """The changes to try; `passing`: filter -> (rows,) bool, the rows that pass this filter."""
    yield from lower_requests(evaluation, passing)
    yield from _tolerate(evaluation)
    yield from _drop_node_rules(evaluation)
    yield from _relax_spreading(evaluation, passing)
    yield from _drop_affinity(evaluation)
    yield from _drop_ports(evaluation)


def lower_requests(
    evaluation: Evaluation, passing: Mapping[str, BoolArray]
) -> Iterator[CandidateChange]:
    """For each insufficient resource: the most that is free on a node that passes otherwise."""
    fit = passing.get(NodeResourcesFit.name)
    if fit is None or fit[evaluation.snapshot.alive].all():
        return
    nodes, pod = evaluation.snapshot, evaluation.pod
    open_rows = nodes.alive & (nodes.pod_count < nodes.allowed_pods)
    for name, passes in passing.items():
        if name != NodeResourcesFit.name:
            open_rows = open_rows & passes
    free = {name: compute_free(evaluation, name) for name in pod.requests}
    for name, amount in pod.requests.items():
        rows = open_rows.copy()
        for other, needed in pod.requests.items():
            if other != name and needed:
                rows &= free[other] >= needed
        most = int(free[name][rows].max()) if rows.any() else 0
        lowered = with_request(pod, name, most) if 0 < most < amount else None
        if lowered is not None:
            text = quantity_text(name, most)
            yield CandidateChange(
                "lower-request",
                f"Lower the request for {name} from {quantity_text(name, amount)} to {text}",
                lowered,
                {"resource": name, "from": quantity_text(name, amount), "to": text},
                effort=effort.lower_request((amount - most) / amount),
            )


def find_missing_labels(evaluation: Evaluation) -> Iterator[tuple[str, str, Int64Array]]:
    """(key, value, rows): nodes that lack only this label of the pod's node selector.

    Labels that say which node it is, or what it consists of, are left out.
    """
    snapshot = evaluation.snapshot
    for key, value in evaluation.pod.pod.spec.node_selector.items():
        if key in effort.IDENTIFYING_LABELS:
            continue
        without = {k: v for k, v in evaluation.pod.pod.spec.node_selector.items() if k != key}
        pod = PodInfo(_spec(evaluation.pod.pod, node_selector=without))
        column = snapshot.label(key)
        known = column.find(value)
        lacking = snapshot.alive if known < 0 else snapshot.alive & (column.ids != known)
        answers = evaluation.framework.filters.run_filter_plugins_with_nominated_pods(
            evaluation.state.clone(), pod, snapshot
        )
        yield key, value, np.flatnonzero((answers.ids == NodeStatuses.FEASIBLE) & lacking)


def compute_free(evaluation: Evaluation, name: str) -> Int64Array:
    """(rows,) int64: the free amount of a resource, without that of pods nominated there."""
    snapshot = evaluation.snapshot
    resource_index = snapshot.resource_index(name)
    if resource_index < 0:
        return np.zeros(len(snapshot), dtype=np.int64)
    free: Int64Array = snapshot.allocatable[resource_index] - snapshot.requested[resource_index]
    nominated = evaluation.framework.filters.nominated_pods(evaluation.pod, snapshot)
    if nominated is not None:
        free = free.copy()
        free[nominated.rows] -= nominated.amounts[resource_index]
    return free


def with_request(pod: PodInfo, name: str, total: int) -> Pod | None:
    """The pod with `total` of a resource requested, reduced in the container that requests most.

    None if that container does not request enough.
    """
    spec = pod.pod.spec
    surplus = pod.requests[name] - total
    own = [_of_container(pod.pod, number, name) for number in range(len(spec.containers))]
    if not own or max(own) < surplus or spec.resources is not None:
        return None
    greediest = own.index(max(own))
    container = spec.containers[greediest]
    requests = dict(container.resources.requests)
    requests[name] = quantity_text(name, own[greediest] - surplus)
    resources = msgspec.structs.replace(container.resources, requests=requests)
    containers = list(spec.containers)
    containers[greediest] = msgspec.structs.replace(container, resources=resources)
    changed = _spec(pod.pod, containers=tuple(containers))
    return changed if PodInfo(changed).requests.get(name, 0) <= total else None


def _of_container(pod: Pod, number: int, name: str) -> int:
    alone = _spec(pod, containers=(pod.spec.containers[number],), init_containers=(), overhead={})
    return PodInfo(alone).requests.get(name, 0)


def _tolerate(evaluation: Evaluation) -> Iterator[CandidateChange]:
    tolerations = evaluation.pod.pod.spec.tolerations
    counts: dict[Taint, int] = {}
    nodes = np.bincount(evaluation.snapshot.taint_ids[evaluation.snapshot.alive], minlength=1)
    for taints, count in zip(evaluation.snapshot.taint_sets, nodes.tolist(), strict=False):
        for taint in taints if count else ():
            # a cordoned node is uncordoned
            hard = taint.effect in (NO_SCHEDULE, NO_EXECUTE) and taint != UNSCHEDULABLE_TAINT
            if hard and not is_tolerated(tolerations, taint):
                counts[taint] = counts.get(taint, 0) + count
    for taint in sorted(counts, key=lambda each: -counts[each])[:_MOST_TAINTS]:
        text = taint_text(taint)
        change = _add_toleration(
            evaluation.pod.pod, taint, f"Add a toleration for the taint {text}"
        )
        if effort.reports_state(taint.key):
            sentence = f"Repair one of the nodes with the taint {text}"
            change = replace(
                change, kind="repair-node", sentence=sentence, effort=effort.REPAIR_NODE
            )
        yield change
    if evaluation.snapshot.unschedulable.any() and not is_tolerated(
        tolerations, UNSCHEDULABLE_TAINT
    ):
        change = _add_toleration(
            evaluation.pod.pod, UNSCHEDULABLE_TAINT, "Uncordon one of the nodes"
        )
        yield CandidateChange("uncordon", change.sentence, change.pod, {}, effort.UNCORDON)


def _add_toleration(pod: Pod, taint: Taint, sentence: str) -> CandidateChange:
    toleration = Toleration(
        key=taint.key,
        operator="Equal" if taint.value else "Exists",
        value=taint.value,
        effect=taint.effect,
    )
    changed = _spec(pod, tolerations=(*pod.spec.tolerations, toleration))
    return CandidateChange(
        "tolerate", sentence, changed, {"taint": taint_text(taint)}, effort.TOLERATE
    )


def _drop_node_rules(evaluation: Evaluation) -> Iterator[CandidateChange]:
    pod = evaluation.pod.pod
    for key, value in pod.spec.node_selector.items():
        without = {k: v for k, v in pod.spec.node_selector.items() if k != key}
        yield CandidateChange(
            "drop-selector",
            f"Remove {key}={value} from the node selector",
            _spec(pod, node_selector=without),
            {"key": key, "value": value},
            effort=effort.drop_selector(key),
        )
    required = required_node_affinity(evaluation.pod)
    if required is None:
        return
    for number, term in enumerate(required.node_selector_terms):
        for each in (*term.match_expressions, *term.match_fields):
            kept = msgspec.structs.replace(
                term,
                match_expressions=tuple(e for e in term.match_expressions if e is not each),
                match_fields=tuple(e for e in term.match_fields if e is not each),
            )
            terms = list(required.node_selector_terms)
            terms[number] = kept
            is_empty = not kept.match_expressions and not kept.match_fields
            selector = None
            if not is_empty:
                selector = msgspec.structs.replace(required, node_selector_terms=tuple(terms))
            yield CandidateChange(
                "drop-node-affinity",
                f"Remove {requirement_text(each)} from the required node affinity",
                _node_affinity(pod, selector),
                {"term": number + 1, "requirement": requirement_text(each)},
                effort=effort.DROP_NODE_RULE,
            )


def _node_affinity(pod: Pod, required: Any) -> Pod:
    affinity = pod.spec.affinity
    assert affinity is not None and affinity.node_affinity is not None
    field = {"required_during_scheduling_ignored_during_execution": required}
    node = msgspec.structs.replace(affinity.node_affinity, **field)
    return _spec(pod, affinity=msgspec.structs.replace(affinity, node_affinity=node))


def _relax_spreading(
    evaluation: Evaluation, passing: Mapping[str, BoolArray]
) -> Iterator[CandidateChange]:
    """The smallest sufficient increase of maxSkew; and the constraint as ScheduleAnyway."""
    written = evaluation.pod.pod.spec.topology_spread_constraints
    hard = [place for place, each in enumerate(written) if _is_hard(each.when_unsatisfiable)]
    state = evaluation.state.find(PRE_FILTER_STATE, PreFilterState)
    rows = evaluation.snapshot.alive
    for name, passes in passing.items():
        rows = rows & passes if name != PodTopologySpread.name else rows
    for number, place in enumerate(hard, 1):
        if state is not None and number <= len(state.constraints):
            each = state.constraints[number - 1]
            slots = each.domains.slots[rows]
            totals = each.totals[slots[slots < each.domains.size]]
            skew = int(totals.min()) + each.self_match - each.least if len(totals) else 0
            if skew > each.constraint.max_skew:
                yield _constraint(evaluation.pod.pod, place, number, max_skew=skew)
        yield _constraint(evaluation.pod.pod, place, number, when_unsatisfiable=SCHEDULE_ANYWAY)


def _is_hard(action: str) -> bool:
    return action == DO_NOT_SCHEDULE


def _constraint(pod: Pod, place: int, number: int, **fields: Any) -> CandidateChange:
    constraints = list(pod.spec.topology_spread_constraints)
    old = constraints[place]
    constraints[place] = msgspec.structs.replace(old, **fields)
    needed = effort.SCHEDULE_ANYWAY
    if "max_skew" in fields:
        needed = effort.increase_max_skew(fields["max_skew"] - old.max_skew)
        sentence = f"Increase maxSkew of spread constraint {number} ({old.topology_key}) from "
        sentence += f"{old.max_skew} to {fields['max_skew']}"
    else:
        sentence = f"Set whenUnsatisfiable of spread constraint {number} ({old.topology_key}) "
        sentence += "to ScheduleAnyway"
    return CandidateChange(
        "relax-spread",
        sentence,
        _spec(pod, topology_spread_constraints=tuple(constraints)),
        {
            "constraint": number,
            "key": old.topology_key,
            **{camel_case(name): value for name, value in fields.items()},
        },
        effort=needed,
    )


def _drop_affinity(evaluation: Evaluation) -> Iterator[CandidateChange]:
    pod = evaluation.pod.pod
    affinity = pod.spec.affinity or Affinity()
    field = "required_during_scheduling_ignored_during_execution"
    for attribute, name in (("pod_affinity", "affinity"), ("pod_anti_affinity", "anti-affinity")):
        group = getattr(affinity, attribute)
        terms = getattr(group, field) if group is not None else ()
        for number, term in enumerate(terms, 1):
            kept = tuple(each for each in terms if each is not term)
            changed = msgspec.structs.replace(group, **{field: kept})
            yield CandidateChange(
                "drop-pod-affinity",
                f"Remove required pod {name} term {number} ({term.topology_key})",
                _spec(pod, affinity=msgspec.structs.replace(affinity, **{attribute: changed})),
                {"affinity": name, "term": number, "key": term.topology_key},
                effort=effort.DROP_POD_RULE,
            )


def _drop_ports(evaluation: Evaluation) -> Iterator[CandidateChange]:
    ports = evaluation.pod.host_ports
    if not ports:
        return
    containers = tuple(
        msgspec.structs.replace(
            each, ports=tuple(msgspec.structs.replace(port, host_port=0) for port in each.ports)
        )
        for each in evaluation.pod.pod.spec.containers
    )
    listed = ", ".join(f"{port.protocol} {port.port}" for port in ports)
    changed = _spec(evaluation.pod.pod, containers=containers, host_network=False)
    yield CandidateChange(
        "drop-host-ports",
        f"Remove host port{'s' if len(ports) > 1 else ''} {listed}",
        changed,
        {"ports": [port.port for port in ports]},
        effort=effort.DROP_POD_RULE,
    )


def _spec(pod: Pod, **fields: Any) -> Pod:
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, **fields))
