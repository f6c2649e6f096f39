"""What the scores of the plugins for node resources follow from, as sentences with figures.

All columns have one row: the node that is explained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from apps.scheduler.framework.explanation import Detail
from apps.scheduler.plugins.helper.arithmetic import (
    decimal_text,
    rounded,
    rounded_down,
    share_text,
    sum_text,
)
from apps.scheduler.plugins.helper.resource_text import amount
from apps.scheduler.plugins.helper.shapes import Point, describe_line, points_around, points_of
from apps.scheduler.plugins.noderesources.amounts import Amounts
from apps.scheduler.plugins.noderesources.args import (
    LEAST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    ScoringStrategy,
)
from apps.scheduler.plugins.noderesources.scoring import Scorer


def describe_shares(
    strategy: ScoringStrategy,
    columns: Sequence[Amounts],
    scorer: Scorer,
    assumed: Mapping[str, int],
) -> Iterator[Detail]:
    """The score of each resource by a strategy, and their weighted mean.

    ``assumed``: resource -> the part of the requests that is assumed for containers without one.
    """
    ratio = strategy.type == REQUESTED_TO_CAPACITY_RATIO
    weighted = []
    shown = any(assumed.values())
    for column in columns:
        if not int(column.allocatable[0]):
            yield Detail(f"The node has no {column.name}: it does not count.")
            continue
        score = int(scorer([column], 1)[0])
        if score or not ratio:
            weighted.append((score, column.weight))
        yield Detail(
            f"{_describe_use(column)}{_describe_assumed(column, assumed)}: "
            f"{_describe_score(strategy, column, score)}",
            {
                **_figures(column),
                **({"assumed": amount(column.name, assumed[column.name])} if shown else {}),
                "utilization": _utilization(column),
                **_points_around(strategy, column),
                "score": score,
                "weight": column.weight,
            },
        )
    total = int(scorer(columns, 1)[0])
    yield Detail(
        f"{strategy.type}: {_describe_mean(weighted, total, ratio=ratio)}",
        {"strategy": strategy.type, "score": total},
    )


def describe_balance(
    columns: Sequence[Amounts], deviations: tuple[float, float], evenness: tuple[int, int]
) -> Iterator[Detail]:
    """The used share of each resource, their mean and deviation, and the score.

    The pairs are without the pod and with it; evenness is from 0 to 100.
    """
    counted = [column for column in columns if int(column.allocatable[0])]
    for column in counted:
        before, after = (_share(column, pod) for pod in (0, column.pod))
        yield Detail(
            f"{_describe_use(column)}: {share_text(after)} of it, {share_text(before)} "
            "without the pod",
            {**_figures(column), "without": before, "with": after},
        )
    for words, place in (("Without the pod", 0), ("With the pod", 1)):
        shares = [_share(column, column.pod if place else 0) for column in counted]
        described = describe_evenness(shares, deviations[place], evenness[place])
        yield Detail(
            f"{words}: {described.sentence}",
            {"pod": "with" if place else "without", **described.figures},
        )
    without, with_pod_even = evenness
    change = 50 + with_pod_even - without
    score = 50 + change // 2
    exact = rounded(50 + Fraction(change, 2), score)
    yield Detail(f"50 + (50 + {with_pod_even} − {without}) / 2 = {exact}", {"score": score})


def describe_evenness(shares: Sequence[float], deviation: float, evenness: int) -> Detail:
    """Used shares, their mean and standard deviation, and the evenness that follows from it."""
    mean = sum(shares) / len(shares) if shares else 0.0
    even = rounded((1 - deviation) * 100, evenness)
    return Detail(
        f"mean {share_text(mean)}, standard deviation {share_text(deviation)}; evenness "
        f"(1 − {share_text(deviation)}) × 100 = {even}",
        {"mean": mean, "deviation": deviation, "evenness": evenness},
    )


def _describe_mean(weighted: Sequence[tuple[int, int]], total: int, *, ratio: bool) -> str:
    if not weighted:
        return "no resource counts: 0"
    terms = sum_text([f"{score} × {weight}" for score, weight in weighted])
    weights = sum(weight for _, weight in weighted)
    mean = Fraction(sum(score * weight for score, weight in weighted), weights)
    exact = rounded(mean, total, "rounded to" if ratio else "rounded down to")
    return f"({terms}) / {weights} = {exact}"


def _describe_score(strategy: ScoringStrategy, column: Amounts, score: int) -> str:
    used, capacity = min(_used(column), _capacity(column)), _capacity(column)
    if strategy.type == REQUESTED_TO_CAPACITY_RATIO:
        said = describe_line(_shape(strategy), used * 100 // capacity, score)
        return said if score else f"{said}; a resource with 0 does not count"
    part = capacity - used if strategy.type == LEAST_ALLOCATED else used
    words = "free" if strategy.type == LEAST_ALLOCATED else "used"
    quotient = f"100 × {amount(column.name, part)} / {amount(column.name, capacity)}"
    return f"{words} {quotient} = {rounded_down(100 * part, capacity)}"


def _points_around(strategy: ScoringStrategy, column: Amounts) -> dict[str, list[Point]]:
    """The points of the shape between which the utilization is; nothing without a shape."""
    if strategy.type != REQUESTED_TO_CAPACITY_RATIO:
        return {}
    used = min(_used(column), _capacity(column))
    below, above = points_around(_shape(strategy), used * 100 // _capacity(column))
    return {"between": list(dict.fromkeys((below, above)))}


def _shape(strategy: ScoringStrategy) -> list[Point]:
    assert strategy.requested_to_capacity_ratio is not None
    return points_of(strategy.requested_to_capacity_ratio.shape)


def describe_use(column: Amounts) -> Detail:
    """What is requested of a resource with the pod, and which share that is."""
    share = _share(column, column.pod)
    return Detail(
        f"{_describe_use(column)}: {share_text(share)} of it",
        {**_figures(column), "with": share},
    )


def _describe_use(column: Amounts) -> str:
    name, requested = column.name, int(column.requested[0])
    return (
        f"{name}: {amount(name, requested)} requested on the node + {amount(name, column.pod)} of "
        f"the pod = {amount(name, _used(column))} of {amount(name, _capacity(column))}"
    )


def _describe_assumed(column: Amounts, assumed: Mapping[str, int]) -> str:
    part = assumed.get(column.name, 0)
    if not part:
        return ""
    return f", {amount(column.name, part)} of it assumed for containers without a request"


def _figures(column: Amounts) -> dict[str, object]:
    return {
        "resource": column.name,
        "requested": amount(column.name, int(column.requested[0])),
        "pod": amount(column.name, column.pod),
        "used": amount(column.name, _used(column)),
        "allocatable": amount(column.name, _capacity(column)),
    }


def _utilization(column: Amounts) -> str:
    return f"{decimal_text(Fraction(100 * _used(column), _capacity(column)))} %"


def _share(column: Amounts, pod: int) -> float:
    return min((int(column.requested[0]) + pod) / _capacity(column), 1.0)


def _used(column: Amounts) -> int:
    return int(column.requested[0]) + column.pod


def _capacity(column: Amounts) -> int:
    return int(column.allocatable[0])
