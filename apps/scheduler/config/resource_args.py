"""Arguments about resources that several plugins share, with their defaults and rules."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from apps.scheduler.config.checks import check_range
from apps.scheduler.config.errors import Problems
from apps.scheduler.config.fields import described
from apps.scheduler.objects.meta import Int32, Int64

#: The highest score a shape point may give (scaled to 0–100 when scoring).
MAX_CUSTOM_PRIORITY_SCORE: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSpec:
    """A resource that takes part in scoring, and its share; 1 ≤ weight ≤ 100."""

    name: str = described("", "cpu, memory, or an extended resource such as example.com/gpu.")
    weight: Int64 = described(1, "1 to 100: the share of this resource in the score.")


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilizationShapePoint:
    """At `utilization` percent (0–100) the score is `score` (0–10); linear in between."""

    utilization: Int32 = described(0, "0 to 100: percent of the resource that is requested.")
    score: Int32 = described(0, "0 to 10: the score at this utilization.")


Resources = tuple[ResourceSpec, ...]
Shape = tuple[UtilizationShapePoint, ...]

DEFAULT_RESOURCES: Final[Resources] = (ResourceSpec(name="cpu"), ResourceSpec(name="memory"))


def resources_with_defaults(resources: Resources) -> Resources:
    """CPU and memory in place of an empty list, and 1 in place of a weight of 0."""
    if not resources:
        return DEFAULT_RESOURCES
    return tuple(replace(spec, weight=spec.weight or 1) for spec in resources)


def check_weights(resources: Resources, path: str, problems: Problems) -> None:
    for index, spec in enumerate(resources):
        if not 0 < spec.weight <= 100:
            problems.invalid(
                f"{path}[{index}].weight",
                spec.weight,
                f"resource weight of {spec.name} not in valid range (0, 100]",
            )


def check_shape(shape: Shape, path: str, problems: Problems) -> None:
    """At least one point, in increasing order of utilization."""
    if not shape:
        problems.required(path, "at least one point must be specified")
    for index in range(1, len(shape)):
        if shape[index - 1].utilization >= shape[index].utilization:
            problems.invalid(
                f"{path}[{index}].utilization",
                shape[index].utilization,
                "values must be sorted in increasing order",
            )
            break
    for index, point in enumerate(shape):
        check_range(point.utilization, 0, 100, f"{path}[{index}].utilization", problems)
        check_range(point.score, 0, MAX_CUSTOM_PRIORITY_SCORE, f"{path}[{index}].score", problems)
