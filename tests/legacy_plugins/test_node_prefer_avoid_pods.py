"""NodePreferAvoidPods: nodes that ask to be spared a controller."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apps.scheduler.objects import OwnerReference
from apps.scheduler.testing.builders import make_node, make_pod
from apps.scheduler.testing.trial import scores
from legacy_plugins.node_prefer_avoid_pods import ANNOTATION, avoids
from tests.legacy_plugins.policies import under_policy
from tests.scheduler.cycle import add, attempt

WEB = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "name": "web",
    "uid": "u1",
    "controller": True,
}


def avoiding(kind: str, uid: str) -> str:
    controller = {"kind": kind, "uid": uid}
    return json.dumps({"preferAvoidPods": [{"podSignature": {"podController": controller}}]})


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        (WEB, [0, 1_000_000]),
        ({**WEB, "uid": "u2"}, [1_000_000, 1_000_000]),
        ({**WEB, "kind": "StatefulSet"}, [1_000_000, 1_000_000]),
        ({**WEB, "controller": False}, [1_000_000, 1_000_000]),
    ],
)
def test_a_node_that_would_rather_not_is_as_good_as_vetoed(
    owner: dict[str, Any], expected: list[int]
) -> None:
    scheduler = under_policy(["HostName"], {"NodePreferAvoidPodsPriority": 10_000})
    asking = make_node("asking")
    asking.body["metadata"]["annotations"] = {ANNOTATION: avoiding("ReplicaSet", "u1")}
    add(scheduler, asking, make_node("other"))
    pod = make_pod("p")
    pod.body["metadata"]["ownerReferences"] = [owner]
    found = scores(attempt(scheduler, pod), "NodePreferAvoidPods")
    assert [found[node][2] for node in ("asking", "other")] == expected


@pytest.mark.parametrize(
    "annotation", ["", "[", "[]", "{}", '{"preferAvoidPods": 1}', '{"preferAvoidPods": [{}]}']
)
def test_an_annotation_that_cannot_be_read_avoids_nobody(annotation: str) -> None:
    assert not avoids(annotation, OwnerReference(kind="ReplicaSet", uid="u1"))
