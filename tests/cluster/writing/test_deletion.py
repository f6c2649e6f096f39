"""The effects of DELETE on objects, as functions over plain bodies."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from apps.cluster import kinds
from apps.cluster.writing.deletion import is_held, mark_deleted

NOW = datetime(2030, 1, 1, tzinfo=UTC)
SERVICE = kinds.by_name("Service")


def pod(*, node: str = "n1", phase: str = "Running", **spec: Any) -> dict[str, Any]:
    placed = {"nodeName": node} if node else {}
    metadata = {"name": "p", "generation": 1}
    return {"metadata": metadata, "spec": {**placed, **spec}, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("body", "options", "grace", "until"),
    [
        (pod(), {}, 30, "00:00:30"),
        (pod(terminationGracePeriodSeconds=60), {}, 60, "00:01:00"),
        (pod(), {"gracePeriodSeconds": 5}, 5, "00:00:05"),
        (pod(), {"gracePeriodSeconds": -1}, 1, "00:00:01"),
        (pod(), {"gracePeriodSeconds": 0}, 0, "00:00:00"),
        (pod(node="", phase="Pending"), {}, 0, "00:00:00"),
        (pod(phase="Succeeded"), {"gracePeriodSeconds": 9}, 0, "00:00:00"),
    ],
)
def test_a_pod_gets_its_grace_period(
    body: dict[str, Any], options: dict[str, Any], grace: int, until: str
) -> None:
    metadata = mark_deleted(kinds.POD, body, options, NOW)["metadata"]
    assert metadata["deletionGracePeriodSeconds"] == grace
    assert metadata["deletionTimestamp"] == f"2030-01-01T{until}Z"
    assert is_held(kinds.POD, {"metadata": metadata}) == bool(grace)


def test_a_second_deletion_can_only_shorten_the_grace_period() -> None:
    first = mark_deleted(kinds.POD, pod(), {"gracePeriodSeconds": 60}, NOW)
    later = datetime(2030, 1, 1, 0, 0, 20, tzinfo=UTC)
    assert mark_deleted(kinds.POD, first, {}, later) == first
    assert mark_deleted(kinds.POD, first, {"gracePeriodSeconds": 90}, later) == first
    hurried = mark_deleted(kinds.POD, first, {"gracePeriodSeconds": 30}, later)["metadata"]
    assert hurried["deletionTimestamp"] == "2030-01-01T00:00:30Z"
    assert hurried["deletionGracePeriodSeconds"] == 30


@pytest.mark.parametrize(
    ("options", "finalizers"),
    [
        ({}, ["x.io/own"]),
        ({"propagationPolicy": "Background"}, ["x.io/own"]),
        ({"propagationPolicy": "Foreground"}, ["x.io/own", "foregroundDeletion"]),
        ({"propagationPolicy": "Orphan"}, ["x.io/own", "orphan"]),
        ({"orphanDependents": True}, ["x.io/own", "orphan"]),
    ],
)
def test_the_propagation_policy_sets_a_finalizer(
    options: dict[str, Any], finalizers: list[str]
) -> None:
    body = {"metadata": {"name": "s", "finalizers": ["x.io/own"]}}
    assert mark_deleted(SERVICE, body, options, NOW)["metadata"]["finalizers"] == finalizers


def test_a_namespace_is_terminating_until_it_is_finalized() -> None:
    body = {"metadata": {"name": "n"}, "spec": {"finalizers": ["kubernetes"]}}
    dying = mark_deleted(kinds.NAMESPACE, body, {}, NOW)
    assert dying["status"]["phase"] == "Terminating" and is_held(kinds.NAMESPACE, dying)
    assert not is_held(kinds.NAMESPACE, {**dying, "spec": {"finalizers": []}})
