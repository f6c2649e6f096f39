"""What a refusal by Filter follows from, in sentences and figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from apps.scheduler.framework.explanation import Detail
from apps.scheduler.objects import Node, ResourceClaim
from apps.scheduler.plugins.dynamicresources import binding
from apps.scheduler.plugins.dynamicresources.holders import holder_of
from apps.scheduler.plugins.dynamicresources.matrix import DeviceCell, NodeDevices, RequestRow
from apps.scheduler.plugins.dynamicresources.pools import Pool
from apps.scheduler.plugins.helper.node_text import list_names, requirement_text

#: the most devices that a sentence names
_LISTED: Final = 4


def describe_matrix(compared: NodeDevices) -> Iterator[Detail]:
    """One detail for each request, about the devices of the node."""
    for row in compared.rows:
        cells = [
            cell
            for cell in compared.cells
            if (cell.claim, cell.request) == (row.claim, row.request)
        ]
        yield Detail(_describe(row, cells), _figures(row, cells))
    if compared.rows and all(
        row.count is not None and row.usable >= row.count for row in compared.rows
    ):
        text = (
            "each request alone finds devices, but not all of them together: they need the same "
            "devices, or more of the counters than is left"
        )
        yield Detail(text, {"together": True})


def _describe(row: RequestRow, cells: Sequence[DeviceCell]) -> str:
    amount = "all devices" if row.count is None else _count(row.count)
    start = f"claim {row.claim}, request {row.request}: {amount} of class {row.device_class}"
    pools = [cell for cell in cells if not cell.device]
    if not row.devices and not pools:
        return f"{start} requested, and the node has no devices"
    if not row.devices:
        return f"{start} requested; pool {pools[0].pool}: {pools[0].obstacles[0].sentence}"
    against = [
        f"{cell.device}: {cell.obstacles[0].sentence}"
        for cell in cells
        if cell.device and cell.obstacles
    ]
    usable = f"{row.usable} of {_count(row.devices)} usable"
    named = f" ({list_texts(against)})" if against else ""
    return f"{start} requested, {usable}{named}"


def list_texts(texts: Sequence[str]) -> str:
    """ "a; b and 4 more"."""
    more = f"; and {len(texts) - _LISTED} more" if len(texts) > _LISTED else ""
    return "; ".join(texts[:_LISTED]) + more


def _count(number: int) -> str:
    return "1 device" if number == 1 else f"{number:,} devices"


def _figures(row: RequestRow, cells: Sequence[DeviceCell]) -> dict[str, Any]:
    return {
        "claim": row.claim,
        "request": row.request,
        "device_class": row.device_class,
        "count": row.count,
        "usable": row.usable,
        "devices": [
            {
                "device": "/".join((cell.driver, cell.pool, cell.device)),
                "obstacles": [
                    {"kind": each.kind.value, "sentence": each.sentence} for each in cell.obstacles
                ],
            }
            for cell in cells
        ],
    }


def describe_unavailable(claim: ResourceClaim, node: Node, *, is_unusable: bool) -> Detail:
    """Why the node cannot use an allocated claim."""
    allocation = claim.status.allocation
    results = allocation.devices.results if allocation is not None else ()
    devices = [f"{each.pool}/{each.device}" for each in results]
    figures = {
        "claim": claim.key,
        "devices": devices,
        "pods": list(holder_of(claim).pods),
        "node": node.metadata.name,
    }
    has = f"claim {claim.key} has {list_names(devices)}"
    if is_unusable:
        why = "a binding failure condition is true" if binding.has_failed(claim) else "timed out"
        return Detail(f"{has}, whose binding conditions are not met: {why}", figures)
    selector = allocation.node_selector if allocation is not None else None
    terms = selector.node_selector_terms if selector is not None else ()
    wanted = [
        requirement_text(each)
        for term in terms
        for each in (*term.match_expressions, *term.match_fields)
    ]
    return Detail(f"{has}, which can be used only where {list_names(wanted)}", figures)


def describe_pools(pools: Sequence[Pool]) -> Iterator[Detail]:
    """The pools of the node from which nothing is allocated."""
    for pool in pools:
        if pool.invalid:
            text = (
                f"pool {pool} is invalid: a device or a set of counters is listed twice, or a "
                "device consumes counters that do not exist"
            )
            yield Detail(text, {"pool": str(pool)})
