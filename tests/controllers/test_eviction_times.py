"""When a pod leaves a node with NoExecute taints, computed from the fields of both."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from apps.cluster.models import Cluster
from apps.controllers.cache import ControllerCache
from apps.controllers.taint_eviction import deadline, refs_for_node
from apps.scheduler.features import FeatureGates
from apps.scheduler.objects import Node, Pod, Taint, decode

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
NOW = NOON + timedelta(hours=1)


def text(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def taint(added: datetime | None = NOON) -> Taint:
    given = {"timeAdded": text(added)} if added else {}
    spec = {"taints": [{"key": "key1", "effect": "NoExecute", **given}]}
    node: Node = decode("Node", {"metadata": {"name": "n1"}, "spec": spec})
    return node.spec.taints[0]


def pod(
    seconds: int,
    *,
    bound: datetime | None = None,
    created: datetime | None = None,
    ready: datetime | None = None,
) -> Pod:
    toleration = {"key": "key1", "operator": "Exists", "tolerationSeconds": seconds}
    times = {"Ready": ready, "PodScheduled": bound}
    conditions = [
        {"type": name, "status": "True", "lastTransitionTime": text(at)}
        for name, at in times.items()
        if at is not None
    ]
    body: dict[str, Any] = {
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [{"name": "c"}], "tolerations": [toleration]},
        "status": {"conditions": conditions},
    }
    if created is not None:
        body["metadata"]["creationTimestamp"] = text(created)
    found: Pod = decode("Pod", body)
    return found


def seconds_after_noon(found: Pod, added: datetime | None = NOON) -> float:
    end = deadline(found, [taint(added)], NOW)
    assert end is not None
    return (end - NOON).total_seconds()


def test_a_pod_that_was_bound_earlier_counts_from_the_taint() -> None:
    bound = NOON - timedelta(seconds=50)
    assert seconds_after_noon(pod(60, bound=bound)) == 60


def test_a_pod_that_was_bound_later_counts_from_its_binding() -> None:
    later = NOON + timedelta(seconds=50)
    ready = NOON + timedelta(seconds=55)
    assert seconds_after_noon(pod(60, bound=later, created=NOON, ready=ready)) == 110


def test_a_pod_that_does_not_say_when_it_was_bound_counts_from_its_creation() -> None:
    """Such as an imported pod without conditions."""
    created = NOON + timedelta(seconds=30)
    assert seconds_after_noon(pod(60, created=created)) == 90
    assert seconds_after_noon(pod(60, created=created, ready=NOW)) == 90


def test_a_pod_without_any_time_counts_from_the_taint() -> None:
    assert seconds_after_noon(pod(60)) == 60


def test_a_taint_without_a_time_counts_from_now() -> None:
    assert seconds_after_noon(pod(60), added=None) == 3660


@pytest.mark.parametrize("seconds", [0, -5])
def test_no_time_is_at_once(seconds: int) -> None:
    assert seconds_after_noon(pod(seconds)) == 0


def test_a_very_long_time_is_about_thirty_years() -> None:
    assert seconds_after_noon(pod(10**15)) == 10**9


def test_a_node_that_is_deleted_or_reports_its_state_concerns_no_pod() -> None:
    node: Node = decode("Node", {"metadata": {"name": "n1"}})
    bound: Pod = decode("Pod", {"spec": {"nodeName": "n1", "containers": [{"name": "c"}]}})
    cache = ControllerCache(Cluster(), lambda cluster: FeatureGates())
    cache.take_in("Pod", None, msgspec.structs.replace(pod(60), spec=bound.spec), None)
    assert list(refs_for_node(cache, node, None)) == []
    assert list(refs_for_node(cache, node, node)) == []
