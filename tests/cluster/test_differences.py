"""The differences between two versions of an object."""

from __future__ import annotations

from typing import Any

import pytest

from apps.cluster.field_differences import differences


@pytest.mark.parametrize(
    ("before", "after", "want"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"spec": {}}, {"spec": {"nodeName": "n"}}, [("spec.nodeName", "added")]),
        ({"spec": {"x": 1}}, {"spec": {}}, [("spec.x", "removed")]),
        ({"spec": {"x": 1}}, {"spec": {"x": 2}}, [("spec.x", "changed")]),
        ({"x": True}, {"x": 1}, [("x", "changed")]),
        (
            {"c": [{"name": "a", "v": 1}, {"name": "b"}]},
            {"c": [{"name": "b"}, {"name": "a", "v": 2}]},
            [("c[a].v", "changed")],
        ),
        (
            {"conditions": [{"type": "Ready", "status": "True"}]},
            {"conditions": [{"type": "Ready", "status": "False"}, {"type": "Other"}]},
            [("conditions[Ready].status", "changed"), ("conditions[Other]", "added")],
        ),
        ({"l": ["a", "b"]}, {"l": ["a", "c"]}, [("l[1]", "changed")]),
        ({"l": ["a"]}, {"l": ["a", "b"]}, [("l", "changed")]),
        (
            {"l": [{"name": "a"}, {"name": "a"}]},
            {"l": [{"name": "a"}]},
            [("l", "changed")],
        ),
        (
            {"metadata": {"resourceVersion": "1", "managedFields": []}},
            {"metadata": {"resourceVersion": "2"}},
            [],
        ),
    ],
)
def test_the_fields_that_differ_are_named(
    before: Any, after: Any, want: list[tuple[str, str]]
) -> None:
    assert [(each.path, each.verb) for each in differences(before, after)] == want


def test_a_difference_has_the_old_and_the_new_value() -> None:
    [found] = differences({"spec": {"taints": [{"key": "a"}]}}, {"spec": {}})
    assert (found.path, found.before, found.after) == ("spec.taints", [{"key": "a"}], None)
