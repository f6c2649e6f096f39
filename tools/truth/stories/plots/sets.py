"""ReplicaSets, ReplicationControllers and DaemonSets."""

from __future__ import annotations

from typing import Any

from tools.truth.stories.kubelet import Fate, by_image
from tools.truth.stories.plots.manifests import APP, FAILED, image, node, pod, scale, workload
from tools.truth.stories.story import Create, Delete, EachPod, Patch, Story, Wait

Body = dict[str, Any]


def _sets(kind: str, short: str) -> tuple[Story, ...]:
    def web(replicas: int, **spec: Any) -> Create:
        return Create(workload(kind, replicas=replicas, **spec))

    return (
        Story(
            f"{short}-scale",
            [
                [web(2)],
                [Patch(kind, "web", scale(4))],
                [Patch(kind, "web", scale(1))],
                [Delete(kind, "web")],
            ],
        ),
        Story(
            f"{short}-adopts",
            [
                [Create(pod("lonely", APP))],
                [web(2)],
                [Patch("Pod", "lonely", {"metadata": {"labels": {"app": None}}})],
            ],
        ),
        Story(
            f"{short}-orphans",
            [[web(2)], [Delete(kind, "web", {"propagationPolicy": "Orphan"})], [web(3)]],
        ),
        Story(f"{short}-ends", [[web(2)], [EachPod(APP, FAILED, 1, "status")]]),
        Story(
            f"{short}-foreground",
            [[web(2)], [Delete(kind, "web", {"propagationPolicy": "Foreground"})]],
        ),
    )


def _ranked(fates: Body) -> Fate:
    """By the name of a pod."""
    return lambda each: fates.get(each["metadata"]["name"], "Ready")


def _cost(name: str, cost: str) -> Create:
    body = pod(name, APP)
    body["metadata"]["annotations"] = {"controller.kubernetes.io/pod-deletion-cost": cost}
    return Create(body)


_RANKING = Story(
    "replicaset-ranking",
    [
        [
            Create(pod("a-ready", APP)),
            Create(pod("b-pending", APP)),
            Create(pod("c-running", APP)),
            Create(pod("d-nowhere", APP, nodeSelector={"no": "node"})),
            _cost("e-cheap", "-5"),
            _cost("f-dear", "100"),
        ],
        [Create(workload("ReplicaSet", replicas=6))],
        *([Patch("ReplicaSet", "web", scale(size))] for size in (5, 4, 3, 2, 1)),
    ],
    _ranked({"b-pending": "Pending", "c-running": "Running"}),
)


def _daemons(story: str, name: str = "web", pod: Body | None = None, **spec: Any) -> Create:
    given = {"nodeSelector": {"story": story}, **(pod or {})}
    return Create(workload("DaemonSet", name, pod=given, **spec))


def _roll(**rolling: Any) -> Body:
    return {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}


_TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}
_NO_EXECUTE = {"key": "k", "value": "v", "effect": "NoExecute"}
_TO_2 = Patch("DaemonSet", "web", image("i:2"))

_DAEMONS = (
    Story(
        "daemonset-nodes",
        [
            [_daemons("daemonset-nodes")],
            [Create(node("c", "daemonset-nodes"))],
            # its pod is collected after 40 s, within 20 s
            [Delete("Node", "a.daemonset-nodes"), Wait(70)],
            [Patch("Node", "b.daemonset-nodes", {"metadata": {"labels": {"story": None}}})],
        ],
        nodes="ab",
    ),
    Story(
        "daemonset-roll",
        [
            [_daemons("daemonset-roll")],
            [_TO_2],
            [Patch("DaemonSet", "web", image("i:1"))],
        ],
        nodes="abc",
    ),
    Story(
        "daemonset-roll-two",
        [
            [
                _daemons("daemonset-roll-two", **_roll(maxUnavailable="50%")),
            ],
            [_TO_2],
        ],
        nodes="abcd",
    ),
    Story(
        "daemonset-surge",
        [
            [
                _daemons("daemonset-surge", **_roll(maxSurge=1, maxUnavailable=0)),
            ],
            [_TO_2],
        ],
        nodes="abc",
    ),
    Story(
        "daemonset-on-delete",
        [
            [
                _daemons("daemonset-on-delete", updateStrategy={"type": "OnDelete"}),
            ],
            [_TO_2],
            [EachPod(APP)],
        ],
        nodes="ab",
    ),
    Story(
        "daemonset-taints",
        [
            [_daemons("daemonset-taints")],
            [Patch("Node", "a.daemonset-taints", {"spec": {"taints": [_TAINT]}})],
            [Patch("Node", "b.daemonset-taints", {"spec": {"taints": [_NO_EXECUTE]}})],
            [Patch("Node", "b.daemonset-taints", {"spec": {"taints": []}})],
        ],
        nodes="ab",
    ),
    Story(
        "daemonset-cordon",
        [
            [
                Patch("Node", "a.daemonset-cordon", {"spec": {"unschedulable": True}}),
                _daemons("daemonset-cordon"),
            ]
        ],
        nodes="a",
    ),
    Story(
        "daemonset-min-ready",
        [
            [
                _daemons("daemonset-min-ready", minReadySeconds=4),
                Wait(6),
            ],
            [_TO_2, Wait(14)],
        ],
        nodes="ab",
    ),
    Story(
        "daemonset-failed",
        [
            [_daemons("daemonset-failed")],
            [EachPod(APP, FAILED, 1, "status"), Wait(6)],
        ],
        nodes="a",
    ),
    Story(
        "daemonset-stuck",
        [
            [_daemons("daemonset-stuck")],
            [Patch("DaemonSet", "web", image("i:bad"))],
            [_TO_2],
        ],
        by_image({"i:bad": "Running"}),
        # of several nodes, it is random which is first
        nodes="a",
    ),
    Story(
        "daemonset-selector",
        [
            [
                _daemons(
                    "daemonset-selector",
                    pod={"nodeSelector": {"story": "daemonset-selector", "disk": "ssd"}},
                ),
            ],
            [Patch("Node", "a.daemonset-selector", {"metadata": {"labels": {"disk": "ssd"}}})],
            [Patch("Node", "a.daemonset-selector", {"metadata": {"labels": {"disk": "hdd"}}})],
            [Delete("DaemonSet", "web", {"propagationPolicy": "Orphan"})],
        ],
        nodes="ab",
    ),
    Story(
        "daemonset-host-network",
        [
            [
                _daemons("daemonset-host-network", pod={"hostNetwork": True}),
            ]
        ],
        nodes="a",
    ),
)

STORIES = (
    *_sets("ReplicaSet", "replicaset"),
    *_sets("ReplicationController", "controller"),
    _RANKING,
    *_DAEMONS,
)
