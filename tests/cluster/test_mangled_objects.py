"""Any object is admitted, refused or invalid; there are no other outcomes."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from apps.cluster.errors import ApiError
from tests.cluster.recorded import Cluster, admit, steps, validate

FILES = ["12_pod_validation", "13_other_validation", "14_defaulting", "15_priority_runtimeclass"]
BODIES = [
    step["body"]
    for name in FILES
    for step in steps(name)
    if step["method"] == "POST" and "kind" in step.get("body", {})
]
values = st.sampled_from(
    [None, "", "x", "a b", -1, 0, 2**40, 1.5, True, False, [], {}, [None], [{}], ["x"], {"x": "y"}]
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """(container, key) of every nested value."""
    found: list[tuple[Any, Any]] = []
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        found.append((value, key))
        if isinstance(item, (dict, list)):
            found += places(item)
    return found


@settings(max_examples=300, deadline=None)
@given(body=st.sampled_from(BODIES), data=st.data())
def test_a_mangled_object_never_causes_an_internal_error(body, data):
    mangled = copy.deepcopy(body)
    kind = mangled.pop("kind")
    metadata = {**mangled.pop("metadata"), "creationTimestamp": "2026-01-02T03:04:05Z"}
    version = mangled.pop("apiVersion")
    for _ in range(data.draw(st.integers(1, 3))):
        inside = places(mangled) + [(mangled, "spec")]
        container, key = data.draw(st.sampled_from(inside))
        if isinstance(container, dict) or key < len(container):
            container[key] = copy.deepcopy(data.draw(values))
    whole = {**mangled, "kind": kind, "apiVersion": version, "metadata": metadata}
    try:
        admitted = admit(kind, whole, Cluster())
    except ApiError:
        return
    is_valid = not validate(kind, admitted)
    again = admit(kind, admitted, Cluster(), old=admitted)
    # what is invalid is not stored, and may lose a list that is null and required
    assert again == admitted or not is_valid
    validate(kind, again, admitted)
