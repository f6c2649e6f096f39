"""Kubelets that do not answer: pods that are deleted and stay."""

from __future__ import annotations

from typing import Any

from tools.truth.stories.kubelet import always
from tools.truth.stories.plots.manifests import APP, image, job, pod, scale, workload
from tools.truth.stories.plots.nodes import ready
from tools.truth.stories.story import Create, Delete, EachPod, Patch, Play, Story, Wait

Body = dict[str, Any]


def _stays(pod: Body) -> str:
    return "Silent" if pod["metadata"].get("deletionTimestamp") else "Ready"


def _job_stays(pod: Body) -> str:
    return "Silent" if pod["metadata"].get("deletionTimestamp") else "Running"


def _second_fails(pod: Body) -> str:
    index = pod["metadata"].get("annotations", {}).get("batch.kubernetes.io/job-completion-index")
    return _job_stays(pod) if index != "1" else "Failed"


def _second_succeeds(pod: Body) -> str:
    return "Succeeded" if _second_fails(pod) == "Failed" else _job_stays(pod)


#: The kubelets answer again.
_BACK = Play(always("Ready"))
_INDEXED = {"completionMode": "Indexed", "completions": 3, "parallelism": 3}
_FOREGROUND = {"propagationPolicy": "Foreground"}


def _web(kind: str, replicas: int, **spec: Any) -> Create:
    return Create(workload(kind, replicas=replicas, **spec))


def _stateful(replicas: int, **spec: Any) -> Create:
    return _web("StatefulSet", replicas, serviceName="web", **spec)


def _to_2(kind: str) -> Patch:
    return Patch(kind, "web", image("i:2"))


def _job(**spec: Any) -> Create:
    return Create(job(**spec))


def _on(story: str) -> Body:
    return {"nodeSelector": {"story": story}}


def _daemons(story: str, **rolling: Any) -> Create:
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    return Create(workload("DaemonSet", pod=_on(story), updateStrategy=strategy))


def _service(**spec: Any) -> Create:
    given = {"selector": APP, "ports": [{"port": 80, "targetPort": 8080}], **spec}
    return Create({"kind": "Service", "metadata": {"name": "web"}, "spec": given})


_OUT_OF_SERVICE = {
    "key": "node.kubernetes.io/out-of-service",
    "value": "nodeshutdown",
    "effect": "NoExecute",
}


STORIES = (
    Story(
        "deployment-terminating",
        [[_web("Deployment", 3)], [_to_2("Deployment")], [_BACK]],
        _stays,
    ),
    Story(
        "deployment-recreate-terminating",
        [
            [_web("Deployment", 2, strategy={"type": "Recreate"})],
            [_to_2("Deployment")],
            [_BACK],
        ],
        _stays,
    ),
    Story(
        "deployment-terminating-scale",
        [
            [_web("Deployment", 3)],
            [Patch("Deployment", "web", scale(1))],
            [Patch("Deployment", "web", scale(4))],
            [_BACK],
        ],
        _stays,
    ),
    Story(
        "replicaset-terminating",
        [
            [_web("ReplicaSet", 3)],
            [Patch("ReplicaSet", "web", scale(1))],
            [EachPod(APP)],
            [_BACK],
        ],
        _stays,
    ),
    Story(
        "controller-terminating",
        [
            [_web("ReplicationController", 2)],
            [EachPod(APP, None, 1)],
            [Delete("ReplicationController", "web", _FOREGROUND)],
            [_BACK],
        ],
        _stays,
    ),
    Story(
        "stateful-terminating",
        [
            [_stateful(3)],
            [EachPod({"statefulset.kubernetes.io/pod-name": "web-1"})],
            [Patch("StatefulSet", "web", scale(1))],
            [_BACK],
        ],
        _stays,
    ),
    Story(
        "stateful-roll-terminating",
        [[_stateful(3)], [_to_2("StatefulSet")], [_BACK]],
        _stays,
    ),
    Story(
        "stateful-parallel-terminating",
        [
            [_stateful(3, podManagementPolicy="Parallel")],
            [_to_2("StatefulSet")],
            [Patch("StatefulSet", "web", scale(1))],
            [_BACK],
        ],
        _stays,
    ),
    Story(
        "daemonset-terminating",
        [
            [_daemons("daemonset-terminating", maxUnavailable="100%")],
            [_to_2("DaemonSet")],
            [Delete("DaemonSet", "web")],
            [_BACK],
        ],
        _stays,
        nodes="ab",
    ),
    Story(
        "daemonset-surge-terminating",
        [
            [_daemons("daemonset-surge-terminating", maxSurge=1, maxUnavailable=0)],
            [_to_2("DaemonSet")],
            [_BACK],
        ],
        _stays,
        nodes="a",
    ),
    Story(
        "job-terminating",
        [[_job(parallelism=2, completions=2)], [EachPod({"of": "job"}, None, 1)], [_BACK]],
        _job_stays,
    ),
    Story(
        "job-terminating-failed",
        [
            [_job(parallelism=2, completions=2, podReplacementPolicy="Failed")],
            [EachPod({"of": "job"}, None, 1)],
            [_BACK, Wait(14)],
        ],
        _job_stays,
    ),
    Story(
        "job-terminating-suspend",
        [
            [_job(parallelism=2, completions=2)],
            [Patch("Job", "job", {"spec": {"suspend": True}})],
            [Patch("Job", "job", {"spec": {"suspend": False}})],
            [_BACK],
        ],
        _job_stays,
    ),
    Story(
        "job-terminating-scale",
        [
            [_job(parallelism=3, completions=5)],
            [Patch("Job", "job", {"spec": {"parallelism": 1}})],
            [Patch("Job", "job", {"spec": {"parallelism": 2}})],
            [_BACK],
        ],
        _job_stays,
    ),
    Story(
        "job-terminating-limit",
        [
            [_job(**_INDEXED, backoffLimit=0)],
            [Play(_second_fails)],
            [_BACK],
        ],
        _job_stays,
    ),
    Story(
        "job-terminating-deadline",
        [[_job(activeDeadlineSeconds=6), Wait(9)], [_BACK]],
        _job_stays,
    ),
    Story(
        "job-terminating-success",
        [
            [_job(**_INDEXED, successPolicy={"rules": [{"succeededIndexes": "1"}]})],
            [Play(_second_succeeds)],
            [_BACK],
        ],
        _job_stays,
    ),
    Story(
        "job-terminating-index",
        [
            [_job(**_INDEXED, backoffLimitPerIndex=1, podReplacementPolicy="Failed")],
            [EachPod({"batch.kubernetes.io/job-completion-index": "1"})],
            [_BACK, Wait(14)],
        ],
        _job_stays,
    ),
    Story(
        "service-terminating",
        [
            [_service(), _web("Deployment", 2)],
            [EachPod(APP, None, 1)],
            [Patch("Service", "web", {"spec": {"publishNotReadyAddresses": True}})],
            [Patch("Deployment", "web", scale(0))],
            [_BACK],
        ],
        _stays,
    ),
    Story(
        "budget-terminating",
        [
            [
                _web("Deployment", 3),
                Create(
                    {
                        "kind": "PodDisruptionBudget",
                        "metadata": {"name": "budget"},
                        "spec": {"selector": {"matchLabels": APP}, "minAvailable": 2},
                    }
                ),
            ],
            [EachPod(APP, None, 1)],
            [_BACK],
        ],
        _stays,
    ),
    Story(
        "node-out-of-service",
        [
            [
                _stateful(
                    1,
                    pod={
                        **_on("node-out-of-service"),
                        "tolerations": [{"operator": "Exists", "effect": "NoExecute"}],
                    },
                ),
                Create(
                    pod(
                        "tolerates",
                        nodeName="a.node-out-of-service",
                        nodeSelector={},
                        tolerations=[{"operator": "Exists"}],
                    )
                ),
            ],
            [ready("node-out-of-service", "Unknown"), EachPod(APP)],
            [
                Patch("Node", "a.node-out-of-service", {"spec": {"taints": [_OUT_OF_SERVICE]}}),
                Wait(24),
            ],
        ],
        _stays,
        nodes="a",
    ),
    Story(
        "node-deleted-terminating",
        [
            [_stateful(1, pod=_on("node-deleted-terminating"))],
            [EachPod(APP)],
            [Delete("Node", "a.node-deleted-terminating"), Wait(66)],
        ],
        _stays,
        nodes="a",
    ),
    Story(
        "namespace-terminating",
        [
            [_web("Deployment", 2), Create(pod("alone"))],
            [Delete("Namespace", ""), Wait(14)],
            [_BACK, Wait(30)],
        ],
        _stays,
    ),
    Story(
        "garbage-terminating",
        [
            [_web("Deployment", 2)],
            [Delete("Deployment", "web", _FOREGROUND)],
            [_BACK],
        ],
        _stays,
    ),
)
