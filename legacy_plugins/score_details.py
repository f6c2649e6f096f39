"""What the scores by resource usage follow from, as sentences with figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from apps.scheduler.framework.explanation import Detail
from apps.scheduler.plugins.helper.arithmetic import rounded, share_text, sum_text
from apps.scheduler.plugins.helper.resource_text import amount


@dataclass(frozen=True, slots=True)
class ScoredUse:
    """The usage of one resource on a node, with the pod, and its score."""

    resource: str
    weight: int
    used: int
    allocatable: int
    score: int

    def describe(self) -> Detail:
        used, allocatable = (amount(self.resource, n) for n in (self.used, self.allocatable))
        return Detail(
            f"{self.resource}: {used} of {allocatable} requested with the pod, score {self.score}",
            {
                "resource": self.resource,
                "used": used,
                "allocatable": allocatable,
                "score": self.score,
                "weight": self.weight,
            },
        )


def describe_mean(uses: Sequence[ScoredUse], result: int, *, ratio: bool) -> Iterator[Detail]:
    """Each resource, and the weighted mean; ``ratio``: rounded, of those that do not score 0."""
    yield from (use.describe() for use in uses)
    counted = [use for use in uses if use.score or not ratio]
    if not counted:
        yield Detail("no resource counts: 0", {"score": result})
        return
    terms = sum_text([f"{use.score} × {use.weight}" for use in counted])
    weights = sum(use.weight for use in counted)
    mean = Fraction(sum(use.score * use.weight for use in counted), weights)
    exact = rounded(mean, result, "rounded to" if ratio else "rounded down to")
    yield Detail(f"({terms}) / {weights} = {exact}", {"score": result})


def describe_difference(uses: Sequence[ScoredUse], result: int) -> Iterator[Detail]:
    """The used shares of CPU and memory, and how far they are apart."""
    yield from map(_describe_share, uses)
    cpu, memory = map(_share, uses)
    if max(cpu, memory) >= 1:
        yield Detail("a resource is used up: 0", {"score": result})
        return
    exact = rounded((1 - abs(cpu - memory)) * 100, result)
    yield Detail(
        f"(1 − |{share_text(cpu)} − {share_text(memory)}|) × 100 = {exact}",
        {"score": result},
    )


def describe_variance(
    uses: Sequence[ScoredUse], volumes: int, free: int, result: int
) -> Iterator[Detail]:
    """The used shares of CPU, memory and volumes, and their variance.

    ``volumes`` is the number that the pod adds to the node, which can attach ``free`` more.
    """
    yield from map(_describe_share, uses)
    share = volumes / free
    yield Detail(
        f"volumes: {volumes} of the pod, {free} more can be attached: {share_text(share)}",
        {"volumes": volumes, "free": free, "share": share},
    )
    shares = [*map(_share, uses), share]
    if max(shares) >= 1:
        yield Detail("a resource is used up: 0", {"score": result})
        return
    mean = sum(shares) / len(shares)
    squares = [(each - mean) ** 2 for each in shares]
    variance = sum(squares) / len(shares)
    terms = " + ".join(f"({share_text(each)} − {share_text(mean)})²" for each in shares)
    yield Detail(
        f"mean of the shares {share_text(mean)}, variance ({terms}) / {len(shares)} = "
        f"{share_text(variance)}",
        {"mean": mean, "variance": variance},
    )
    exact = rounded((1 - variance) * 100, result)
    yield Detail(f"(1 − {share_text(variance)}) × 100 = {exact}", {"score": result})


def _share(use: ScoredUse) -> float:
    return use.used / use.allocatable if use.allocatable else 1.0


def _describe_share(use: ScoredUse) -> Detail:
    share = _share(use)
    figures = {**use.describe().figures, "share": share}
    del figures["score"], figures["weight"]
    return Detail(f"{use.resource}: {share_text(share)} of it requested", figures)
