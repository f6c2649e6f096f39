"""LimitRanges are checked as kube-apiserver 1.36 checks them: order and texts."""

from __future__ import annotations

from typing import Any

import pytest

from apps.cluster.validation.limit_ranges import validate_limit_range


def causes(*limits: dict[str, Any]) -> list[str]:
    found = validate_limit_range({"spec": {"limits": list(limits)}})
    return [f"{cause.field.removeprefix('spec.limits')}: {cause.message}" for cause in found]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (
            {
                "type": "Container",
                "min": {"cpu": "3", "memory": "3"},
                "default": {"cpu": "2", "memory": "9"},
                "defaultRequest": {"cpu": "1"},
                "max": {"cpu": "8", "memory": "7"},
                "maxLimitRequestRatio": {"cpu": "1500m", "memory": "1e3"},
            },
            [
                '[0].defaultRequest[cpu]: Invalid value: "1": min value 3 is greater than default '
                "request value 1",
                '[0].default[cpu]: Invalid value: "3": min value 3 is greater than default value 2',
                '[0].default[memory]: Invalid value: "7": default value 9 is greater than max '
                "value 7",
                '[0].maxLimitRequestRatio[memory]: Invalid value: "1e3": ratio 1e3 is greater than '
                "max/min = 2.333333",
            ],
        ),
        (
            {"type": "Container", "max": {"fooX": "1"}},
            [
                '[0].max[fooX]: Invalid value: "fooX": must be a standard resource type or fully '
                "qualified",
                '[0].max[fooX]: Invalid value: "fooX": must be a standard resource for containers',
            ],
        ),
        (
            {"type": "Foo"},
            ['[0].type: Invalid value: "Foo": must be a standard limit type or fully qualified'],
        ),
        (
            {"type": "PersistentVolumeClaim"},
            [
                "[0].limits: Required value: either minimum or maximum storage value is required, "
                "but neither was provided"
            ],
        ),
        ({"type": "example.com/e", "max": {"cpu": "1"}}, []),
    ],
)
def test_a_limit(limit: dict[str, Any], expected: list[str]) -> None:
    assert causes(limit) == expected


def test_a_type_occurs_once() -> None:
    assert causes({"type": "Pod"}, {"type": "Pod"}) == ['[1].type: Duplicate value: "Pod"']
