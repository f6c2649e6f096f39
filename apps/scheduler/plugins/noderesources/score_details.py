"""What the scores of the plugins for node resources follow from, as sentences with figures.

All columns have one row: the node that is explained.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apps.scheduler.framework.explanation import Detail
from apps.scheduler.plugins.helper.resource_text import amount
from apps.scheduler.plugins.noderesources.amounts import Amounts
from apps.scheduler.plugins.noderesources.scoring import Scorer


def describe_shares(strategy: str, columns: Sequence[Amounts], scorer: Scorer) -> Iterator[Detail]:
    """The share of each resource by a strategy, and their weighted mean."""
    weighted = []
    for column in columns:
        allocatable = int(column.allocatable[0])
        if not allocatable:
            yield Detail(f"the node has no {column.name}: it does not count")
            continue
        share = int(scorer([column], 1)[0])
        weighted.append((share, column.weight))
        yield Detail(
            f"{_describe_use(column)}, which counts {share}",
            {**_figures(column), "share": share, "weight": column.weight},
        )
    terms = " + ".join(f"{share} × {weight}" for share, weight in weighted)
    total = int(scorer(columns, 1)[0])
    yield Detail(
        f"{strategy}: ({terms}) / {sum(weight for _, weight in weighted)} = {total}"
        if weighted
        else f"{strategy}: no resource counts",
        {"strategy": strategy, "score": total},
    )


def describe_balance(columns: Sequence[Amounts], with_pod: int, without: int) -> Iterator[Detail]:
    """The used share of each resource, and the evenness (0 to 100) with and without the pod."""
    for column in columns:
        if int(column.allocatable[0]):
            yield describe_use(column)
    score = 50 + (50 + with_pod - without) // 2
    yield Detail(
        f"evenness {with_pod} with the pod, {without} without it: "
        f"50 + (50 + {with_pod} - {without}) / 2 = {score}",
        {"withPod": with_pod, "without": without, "score": score},
    )


def describe_use(column: Amounts) -> Detail:
    """What is requested of a resource with the pod."""
    return Detail(_describe_use(column), _figures(column))


def _describe_use(column: Amounts) -> str:
    name, requested = column.name, int(column.requested[0])
    allocatable = int(column.allocatable[0])
    used = requested + column.pod
    percent = used * 100 / allocatable
    return (
        f"{name}: {amount(name, requested)} requested on the node + {amount(name, column.pod)} of "
        f"the pod = {amount(name, used)} of {amount(name, allocatable)} ({percent:.1f} %)"
    )


def _figures(column: Amounts) -> dict[str, object]:
    return {
        "resource": column.name,
        "requested": amount(column.name, int(column.requested[0])),
        "pod": amount(column.name, column.pod),
        "allocatable": amount(column.name, int(column.allocatable[0])),
    }
