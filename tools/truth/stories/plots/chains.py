"""What several controllers do to the same objects: chains of owners, lost nodes, reached quotas."""

from __future__ import annotations

from typing import Any

from tools.truth.stories.kubelet import always, by_image
from tools.truth.stories.plots.manifests import APP, image, job, pod, scale, workload
from tools.truth.stories.plots.nodes import ready
from tools.truth.stories.story import Create, Delete, EachPod, Patch, Play, Story, Wait

Body = dict[str, Any]
_HELD = "example.com/held"


def _web(kind: str, replicas: int, **spec: Any) -> Create:
    return Create(workload(kind, replicas=replicas, **spec))


def _quota(**hard: str) -> Create:
    return Create({"kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": hard}})


def _more(**hard: str) -> Patch:
    return Patch("ResourceQuota", "q", {"spec": {"hard": hard}})


def _held(kind: str, name: str, held: bool) -> Patch:
    return Patch(kind, name, {"metadata": {"finalizers": [_HELD] if held else None}})


def _each_held(held: bool) -> EachPod:
    return EachPod(APP, {"metadata": {"finalizers": [_HELD] if held else None}})


def _on(story: str) -> Body:
    return {"nodeSelector": {"story": story}}


_FOREGROUND = {"propagationPolicy": "Foreground"}
_ORPHAN = {"propagationPolicy": "Orphan"}
_INDEXED = {"completionMode": "Indexed", "completions": 3, "parallelism": 3}
_TO_2 = Patch("Deployment", "web", image("i:2"))


def _cordon(value: bool | None) -> Patch:
    return Patch("Node", "a.stateful-node-lost", {"spec": {"unschedulable": value}})


STORIES = (
    Story(
        "deployment-zero-and-back",
        [
            [_web("Deployment", 3)],
            [Patch("Deployment", "web", scale(0))],
            [_TO_2],
            [Patch("Deployment", "web", scale(2))],
        ],
    ),
    Story(
        "deployment-stuck-back",
        [[_web("Deployment", 3)], [_TO_2], [Patch("Deployment", "web", image("i:1"))]],
        by_image({"i:2": "Running"}),
    ),
    Story(
        "deployment-recreate-stuck",
        [
            [_web("Deployment", 2, strategy={"type": "Recreate"})],
            [_TO_2],
            [Patch("Deployment", "web", image("i:3"))],
        ],
        by_image({"i:2": "Running"}),
    ),
    Story(
        "deployment-all-at-once",
        [
            [
                _web(
                    "Deployment",
                    3,
                    strategy={"rollingUpdate": {"maxSurge": "100%", "maxUnavailable": "100%"}},
                )
            ],
            [_TO_2],
        ],
    ),
    Story(
        "deployment-paused-back",
        [
            [_web("Deployment", 2)],
            [Patch("Deployment", "web", {"spec": {"paused": True}}), _TO_2],
            [Patch("Deployment", "web", image("i:1"))],
            [Patch("Deployment", "web", {"spec": {"paused": None}})],
        ],
    ),
    Story(
        "stateful-zero-and-back",
        [
            [_web("StatefulSet", 2, serviceName="web")],
            [Patch("StatefulSet", "web", scale(0))],
            [Patch("StatefulSet", "web", image("i:2"))],
            [Patch("StatefulSet", "web", scale(2))],
        ],
    ),
    Story(
        "stateful-foreground",
        [
            [_web("StatefulSet", 2, serviceName="web")],
            [Delete("StatefulSet", "web", _FOREGROUND)],
        ],
    ),
    Story(
        "stateful-quota",
        [
            [_quota(pods="1"), _web("StatefulSet", 2, serviceName="web")],
            [_more(pods="4"), Wait(45)],
        ],
    ),
    Story(
        "daemonset-foreground",
        [
            [Create(workload("DaemonSet", pod=_on("daemonset-foreground")))],
            [Delete("DaemonSet", "web", _FOREGROUND)],
        ],
        nodes="ab",
    ),
    Story(
        "daemonset-no-nodes",
        [
            [Create(workload("DaemonSet", pod={"nodeSelector": {"no": "node"}}))],
            [Patch("DaemonSet", "web", image("i:2"))],
        ],
    ),
    Story(
        "daemonset-node-lost",
        [
            [Create(workload("DaemonSet", pod=_on("daemonset-node-lost")))],
            [ready("daemonset-node-lost", "Unknown"), Wait(6)],
            [ready("daemonset-node-lost", "True")],
        ],
        nodes="ab",
    ),
    Story(
        "stateful-node-lost",
        [
            [
                _web(
                    "StatefulSet",
                    2,
                    serviceName="web",
                    pod={
                        **_on("stateful-node-lost"),
                        "tolerations": [
                            {
                                "key": "node.kubernetes.io/unreachable",
                                "operator": "Exists",
                                "effect": "NoExecute",
                                "tolerationSeconds": 8,
                            }
                        ],
                    },
                )
            ],
            [ready("stateful-node-lost", "Unknown"), Wait(16)],
            # its taints are removed one after the other
            [_cordon(True), ready("stateful-node-lost", "True"), Wait(10)],
            [_cordon(None)],
        ],
        nodes="a",
    ),
    Story(
        "job-indexed-suspend",
        [
            [Create(job(**_INDEXED))],
            [Patch("Job", "job", {"spec": {"suspend": True}})],
            [Patch("Job", "job", {"spec": {"suspend": False}})],
            [Play(always("Succeeded"))],
        ],
        always("Ready"),
    ),
    Story(
        "job-success-count",
        [
            [Create(job(**_INDEXED, successPolicy={"rules": [{"succeededCount": 2}]}))],
            [Play(always("Succeeded"))],
        ],
    ),
    Story(
        "job-deadline-resumed",
        [
            [Create(job(activeDeadlineSeconds=30))],
            [Patch("Job", "job", {"spec": {"suspend": True}}), Wait(31)],
            [Patch("Job", "job", {"spec": {"suspend": False}}), Wait(3)],
            [Play(always("Succeeded"))],
        ],
        always("Ready"),
    ),
    Story(
        "job-foreground",
        [[Create(job(parallelism=2, completions=2))], [Delete("Job", "job", _FOREGROUND)]],
        always("Ready"),
    ),
    Story(
        "job-failed-ttl",
        [
            [Create(job(backoffLimit=0, ttlSecondsAfterFinished=3))],
            [Play(always("Failed")), Wait(8)],
        ],
    ),
    Story(
        "job-quota",
        [
            [_quota(pods="1"), Create(job(parallelism=2, completions=2))],
            [_more(pods="4"), Wait(45)],
            [Play(always("Succeeded"))],
        ],
        always("Ready"),
    ),
    Story(
        "job-count-quota",
        [[_quota(**{"count/jobs.batch": "1"})], [Create(job())], [Play(always("Succeeded"))]],
    ),
    Story(
        "garbage-held-pod",
        [
            [_web("Deployment", 2)],
            [_each_held(True)],
            [Delete("Deployment", "web", _FOREGROUND)],
            [_each_held(False)],
        ],
    ),
    Story(
        "garbage-orphan-chain",
        [
            [_web("Deployment", 2)],
            [Delete("Deployment", "web", _ORPHAN)],
            [Create(workload("ReplicaSet", "other", replicas=1))],
        ],
    ),
    Story(
        "namespace-held-pods",
        [
            [_web("ReplicaSet", 2), Create(pod("alone"))],
            [_each_held(True)],
            [Delete("Namespace", ""), Wait(14)],
            [_each_held(False), Wait(20)],
        ],
    ),
    Story(
        "namespace-held-workload",
        [
            [_web("Deployment", 1)],
            [_held("Deployment", "web", True)],
            [Delete("Namespace", ""), Wait(14)],
            [_held("Deployment", "web", False), Wait(20)],
        ],
    ),
    Story(
        "budget-always-evict",
        [
            [
                _web("Deployment", 3),
                Create(
                    {
                        "kind": "PodDisruptionBudget",
                        "metadata": {"name": "budget"},
                        "spec": {
                            "selector": {"matchLabels": APP},
                            "maxUnavailable": 0,
                            "unhealthyPodEvictionPolicy": "AlwaysAllow",
                        },
                    }
                ),
            ],
            [Patch("Deployment", "web", scale(0))],
            [Patch("PodDisruptionBudget", "budget", {"spec": {"maxUnavailable": "100%"}})],
        ],
    ),
)
