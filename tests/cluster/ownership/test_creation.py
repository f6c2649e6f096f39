"""What the creator of an object owns."""

from __future__ import annotations

from typing import Any

import pytest

from apps.cluster import kinds
from apps.cluster.ownership.creation import own_created
from apps.cluster.ownership.managers import creation_entry
from apps.cluster.ownership.writes import definition_of_kind

Body = dict[str, Any]


def owned(kind: str, body: Body) -> Body | None:
    """The fieldsV1 of the creator; None without an entry."""
    metadata = {"name": "x", "managedFields": [creation_entry("a", "v1", "")]}
    metadata |= body.pop("metadata", {})
    draft = {"metadata": metadata, **body}
    declared = kinds.by_name(kind)
    own_created(draft, definition_of_kind(declared), declared)
    entries = metadata.get("managedFields")
    return entries[0]["fieldsV1"] if entries else None


@pytest.mark.parametrize(
    ("kind", "body", "fields"),
    [
        # a map that was missing is owned with its entries, a structure that is always there is not
        ("ConfigMap", {"data": {"a": "1"}}, {"f:data": {".": {}, "f:a": {}}}),
        (
            "Deployment",
            {
                "spec": {
                    "strategy": {"rollingUpdate": {"maxSurge": 1}},
                    "template": {"metadata": {}},
                }
            },
            {"f:spec": {"f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}}}}},
        ),
        # so it is with required lists and the others
        (
            "Pod",
            {"spec": {"containers": [{"name": "c", "env": [{"name": "E"}]}]}, "status": {"a": 1}},
            {
                "f:spec": {
                    "f:containers": {
                        'k:{"name":"c"}': {
                            ".": {},
                            "f:name": {},
                            "f:env": {".": {}, 'k:{"name":"E"}': {".": {}, "f:name": {}}},
                        }
                    }
                }
            },
        ),
        ("NetworkPolicy", {"spec": {"podSelector": {}}}, None),
        # a list that is null is missing, an empty one is not
        ("CSINode", {"spec": {"drivers": None}}, None),
        ("CSINode", {"spec": {"drivers": []}}, {"f:spec": {"f:drivers": {}}}),
        ("Event", {"eventTime": None, "reason": "R"}, {"f:reason": {}}),
        (
            "ConfigMap",
            {"metadata": {"labels": {"a": "b"}}},
            {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}},
        ),
    ],
)
def test_what_a_client_sends_is_its_own(kind: str, body: Body, fields: Body | None) -> None:
    assert owned(kind, body) == fields
