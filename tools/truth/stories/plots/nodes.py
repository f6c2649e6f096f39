"""Nodes: conditions, taints, evictions, pods of deleted nodes."""

from __future__ import annotations

from typing import Any

from tools.truth.stories.plots.manifests import APP, node, pod, workload
from tools.truth.stories.story import Act, Create, Delete, Patch, Story, Wait

Body = dict[str, Any]


def _pod(story: str, name: str, **spec: Any) -> Create:
    return Create(pod(name, APP, nodeName=f"a.{story}", nodeSelector={}, **spec))


def _tolerates(key: str, seconds: int | None = None) -> Body:
    limit = {} if seconds is None else {"tolerationSeconds": seconds}
    return {"tolerations": [{"key": key, "operator": "Exists", "effect": "NoExecute", **limit}]}


def ready(story: str, status: str) -> Patch:
    """The status of the condition Ready of node a."""
    condition = {
        "type": "Ready",
        "status": status,
        "reason": "Test",
        "lastHeartbeatTime": "2020-01-01T00:00:00Z",
        "lastTransitionTime": "2020-01-01T00:00:00Z",
    }
    return Patch("Node", f"a.{story}", {"status": {"conditions": [condition]}}, "status")


def _taints(story: str, *taints: Body) -> Patch:
    return Patch("Node", f"a.{story}", {"spec": {"taints": list(taints)}})


def _condition(story: str, *types: str) -> Patch:
    given = [
        {
            "type": each,
            "status": "True",
            "reason": "Test",
            "lastHeartbeatTime": "2020-01-01T00:00:00Z",
            "lastTransitionTime": "2020-01-01T00:00:00Z",
        }
        for each in ("Ready", *types)
    ]
    return Patch("Node", f"a.{story}", {"status": {"conditions": given}}, "status")


_K = {"key": "k", "value": "v", "effect": "NoExecute"}
_NOT_READY = "node.kubernetes.io/not-ready"
_UNREACHABLE = "node.kubernetes.io/unreachable"


def _lost(story: str, status: str, key: str) -> Story:
    first: list[Act] = [
        _pod(story, "tolerates-all", tolerations=[{"operator": "Exists"}]),
        _pod(story, "tolerates-a-while", **_tolerates(key, 4)),
        _pod(story, "tolerates-longer", **_tolerates(key, 9)),
    ]
    steps = [first, [ready(story, status), Wait(6)], [ready(story, "True"), Wait(8)]]
    return Story(story, steps, nodes="a")


STORIES = (
    _lost("node-not-ready", "False", _NOT_READY),
    _lost("node-unreachable", "Unknown", _UNREACHABLE),
    Story(
        "node-taint-eviction",
        [
            [
                _pod("node-taint-eviction", "now"),
                _pod("node-taint-eviction", "stays", **_tolerates("k")),
                _pod("node-taint-eviction", "later", **_tolerates("k", 6)),
                _pod("node-taint-eviction", "saved", **_tolerates("k", 600)),
            ],
            [_taints("node-taint-eviction", _K)],
            [Wait(6)],
            [_taints("node-taint-eviction")],
        ],
        nodes="a",
    ),
    Story(
        "node-pressure",
        [
            [],
            [_condition("node-pressure", "MemoryPressure", "DiskPressure")],
            [_condition("node-pressure", "PIDPressure", "NetworkUnavailable")],
            [_condition("node-pressure")],
        ],
        nodes="a",
    ),
    Story(
        "node-cordon",
        [
            [],
            [Patch("Node", "a.node-cordon", {"spec": {"unschedulable": True}})],
            [Patch("Node", "a.node-cordon", {"spec": {"unschedulable": None}})],
        ],
        nodes="a",
    ),
    Story(
        "node-deleted",
        [
            [_pod("node-deleted", "p")],
            [Delete("Node", "a.node-deleted"), Wait(66)],
        ],
        nodes="a",
    ),
    Story(
        "node-born-not-ready",
        [
            [Create(node("a", "node-born-not-ready", "False"))],
            [ready("node-born-not-ready", "True")],
        ],
    ),
    Story(
        "node-workload",
        [
            [
                Create(
                    workload(
                        "Deployment",
                        replicas=2,
                        pod={
                            "nodeSelector": {"story": "node-workload"},
                            **_tolerates(_NOT_READY, 2),
                        },
                    )
                ),
            ],
            [ready("node-workload", "False"), Wait(10)],
        ],
        nodes="a",
    ),
)
