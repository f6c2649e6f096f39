"""Recorded creations and updates of an API server 1.36, compared with admission and validation."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.cluster.recorded import replay, replay_updates

FILES = ["12_pod_validation", "13_other_validation", "14_defaulting", "15_priority_runtimeclass"]
#: Fields that the store or the server sets.
NOT_OURS = {"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"}
#: Fields of services that the store allocates.
ALLOCATED = {"clusterIP", "clusterIPs", "nodePort"}


def normalized(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: normalized(item)
            for name, item in value.items()
            if name not in NOT_OURS | ALLOCATED
        }
    if isinstance(value, list):
        return [normalized(item) for item in value]
    if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\dT", value):
        return "<time>"
    return value


def recorded():
    return [
        pytest.param(step, answer, id=f"{name}-{step['step']}-{step['name']}")
        for name in FILES
        for step, answer in replay(name)
        if step.get("compare") != "none"
    ]


@pytest.mark.parametrize(("step", "answer"), recorded())
def test_a_creation_has_the_recorded_result(step, answer):
    expect = step["expect"]
    assert answer["status"] == expect["status"]
    wanted, given = expect["body"], answer["body"]
    if expect["status"] == 400:
        # Messages about JSON decoding differ between programming languages.
        assert given["reason"] == wanted["reason"]
    elif expect["status"] == 409:
        assert given["message"] == wanted["message"]
    else:
        assert normalized(given) == normalized(wanted)


@pytest.mark.parametrize(
    ("step", "causes"),
    [
        pytest.param(step, causes, id=f"{step['step']}-{step['name']}")
        for step, causes in replay_updates("07_update")
        # the store keeps the uid of an object, and the API rejects its change
        if step["name"] != "uid change refused"
    ],
)
def test_an_update_is_refused_for_the_recorded_causes(step, causes):
    details = step["expect"]["body"].get("details") or {}
    assert causes == details.get("causes", [])
