"""From the devices that a search picked to the allocation of a claim."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from apps.scheduler.objects import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ResourceClaim,
)
from apps.scheduler.plugins.dynamicresources.device_search import Pick, RequestData, Solution


def allocation_results(
    solution: Solution, claims: Sequence[ResourceClaim], node_name: str
) -> tuple[AllocationResult, ...]:
    """The allocation of each claim."""
    return tuple(
        AllocationResult(
            devices=DeviceAllocationResult(
                results=tuple(map(_result, picks)),
                config=tuple(_configuration(claim, list(_selected(solution, index, claim)))),
            ),
            node_selector=_node_selector(picks, node_name),
        )
        for index, (claim, picks) in enumerate(zip(claims, solution.picks, strict=True))
    )


def _result(pick: Pick) -> DeviceRequestAllocationResult:
    driver, pool, name = pick.candidate.id
    device, request = pick.candidate.device, pick.data.request
    return DeviceRequestAllocationResult(
        request=pick.data.full_name,
        driver=driver,
        pool=pool,
        device=name,
        admin_access=request.admin_access or None,
        tolerations=request.tolerations,
        binding_conditions=device.binding_conditions,
        binding_failure_conditions=device.binding_failure_conditions,
        share_id=str(uuid.uuid4()) if device.allow_multiple_allocations else None,
        consumed_capacity=dict(pick.consumed),
    )


def _selected(solution: Solution, index: int, claim: ResourceClaim) -> Iterator[RequestData]:
    """The requests of a claim, each with its selected alternative."""
    for place in range(len(claim.spec.devices.requests)):
        data = solution.requests[index, place, 0]
        yield solution.requests[index, place, data.selected] if data.parent else data


def _configuration(
    claim: ResourceClaim, selected: Sequence[RequestData]
) -> Iterator[dict[str, Any]]:
    """The parameters of the classes, each class once, then those of the claim."""
    requests_of: dict[str, list[str]] = {}
    classes = {}
    for data in selected:
        name = data.device_class.metadata.name
        classes[name] = data.device_class
        requests_of.setdefault(name, []).append(data.full_name)
    for name, device_class in classes.items():
        for each in device_class.spec.config:
            yield _config(each, "FromClass", requests_of[name])
    for each in claim.spec.devices.config:
        requests = list(each.get("requests") or ())
        for _ in range(_times(requests, selected)):
            yield _config(each, "FromClaim", requests)


def _times(requests: Sequence[str], selected: Iterable[RequestData]) -> int:
    """How often a claim's configuration is listed: once for each request that it names."""
    if not requests:
        return 1
    return sum(
        (data.parent or data.name) in requests or data.full_name in requests for data in selected
    )


def _config(given: Mapping[str, Any], source: str, requests: Sequence[str]) -> dict[str, Any]:
    named = {"requests": list(requests)} if requests else {}
    return {**given, **named, "source": source}


def _node_selector(picks: Sequence[Pick], node_name: str) -> NodeSelector | None:
    """The nodes where the devices can be used; None for all nodes."""
    expressions: list[NodeSelectorRequirement] = []
    fields: list[NodeSelectorRequirement] = []
    for pick in picks:
        spec, device = pick.candidate.slice.spec, pick.candidate.device
        source = device if spec.per_device_node_selection else spec
        if source.node_name is not None or device.binds_to_node:
            return _only(node_name)
        for term in source.node_selector.node_selector_terms if source.node_selector else ():
            _add_new(fields, term.match_fields)
            _add_new(expressions, term.match_expressions)
    if not expressions and not fields:
        return None
    term = NodeSelectorTerm(match_expressions=tuple(expressions), match_fields=tuple(fields))
    return NodeSelector(node_selector_terms=(term,))


def _only(node_name: str) -> NodeSelector:
    named = NodeSelectorRequirement(key="metadata.name", operator="In", values=(node_name,))
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(named,)),))


def _add_new(
    known: list[NodeSelectorRequirement], added: Iterable[NodeSelectorRequirement]
) -> None:
    for requirement in added:
        if not any(_is_same(requirement, each) for each in known):
            known.append(requirement)


def _is_same(one: NodeSelectorRequirement, other: NodeSelectorRequirement) -> bool:
    return (one.key, one.operator, set(one.values)) == (
        other.key,
        other.operator,
        set(other.values),
    )
