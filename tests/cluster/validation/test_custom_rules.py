"""Rules of custom resources about lists whose order does not count."""

from __future__ import annotations

import pytest

from apps.cluster.validation.custom_rules import apply_rules

PORT = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "port": {"type": "integer"}},
}
TAGS = {
    "type": "array",
    "items": {"type": "string"},
    "x-kubernetes-list-type": "set",
}
PORTS = {
    "type": "array",
    "items": PORT,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
}
A, B = {"name": "a", "port": 1}, {"name": "b", "port": 2}


def failed(schema, rule, value, old):
    given = {**schema, "x-kubernetes-validations": [{"rule": rule}]}
    properties = {"type": "object", "properties": {"list": given}}
    return [each.field for each in apply_rules(properties, {"list": value}, {"list": old})] != []


@pytest.mark.parametrize(
    ("schema", "value", "old", "differs"),
    [
        (TAGS, ["x", "y"], ["y", "x"], False),
        (TAGS, ["x", "y"], ["x", "z"], True),
        (PORTS, [A, B], [B, A], False),
        (PORTS, [A, {**B, "port": 3}], [B, A], True),
        ({**TAGS, "x-kubernetes-list-type": "atomic"}, ["x", "y"], ["y", "x"], True),
    ],
)
def test_the_order_of_sets_and_of_lists_with_keys_does_not_count(schema, value, old, differs):
    assert failed(schema, "self == oldSelf", value, old) is differs


def test_lists_are_joined_by_their_elements() -> None:
    assert not failed(TAGS, "size(self + ['y', 'z']) == 3", ["x", "y"], [])
    # the added element replaces the one with the same key
    rule = "(oldSelf + self).exists(p, p.name == 'b' && p.port == 5) && size(oldSelf + self) == 2"
    assert not failed(PORTS, rule, [{"name": "b", "port": 5}], [A, B])
