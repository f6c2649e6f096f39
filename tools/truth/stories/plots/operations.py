"""What operators do to workloads: broken releases, resumed jobs, evictions, bounds, quotas."""

from __future__ import annotations

from typing import Any

from tools.truth.stories.kubelet import Fate, always, by_image
from tools.truth.stories.plots.manifests import APP, SHARED, image, job, node, pod, scale, workload
from tools.truth.stories.story import (
    Create,
    Delete,
    EachPod,
    Evict,
    NextMinute,
    Patch,
    Play,
    Story,
    Wait,
)

Body = dict[str, Any]


def _web(kind: str = "Deployment", replicas: int = 2, name: str = "web", **spec: Any) -> Create:
    return Create(workload(kind, name, replicas=replicas, **spec))


def _stateful(replicas: int, **spec: Any) -> Create:
    return _web("StatefulSet", replicas, serviceName="web", **spec)


def _spec(kind: str, name: str, **spec: Any) -> Patch:
    return Patch(kind, name, {"spec": spec})


def _to(kind: str, name: str) -> Patch:
    return Patch(kind, "web", image(name))


def _indexes(fates: Body, other: str = "Ready") -> Fate:
    index = "batch.kubernetes.io/job-completion-index"
    return lambda each: fates.get(each["metadata"].get("annotations", {}).get(index), other)


def _cron(**spec: Any) -> Create:
    body = {"kind": "CronJob", "metadata": {"name": "cron"}}
    template = {"spec": job()["spec"]}
    return Create({**body, "spec": {"schedule": "* * * * *", "jobTemplate": template, **spec}})


def _budget(name: str = "budget", **spec: Any) -> Create:
    given = {"selector": {"matchLabels": APP}, **spec}
    return Create({"kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": given})


def _quota(name: str, scopes: Any = None, **hard: str) -> Create:
    spec: Body = {"hard": hard} if scopes is None else {"hard": hard, **scopes}
    return Create({"kind": "ResourceQuota", "metadata": {"name": name}, "spec": spec})


def _scaler(name: str = "scaler", kind: str = "Deployment", **spec: Any) -> Create:
    target = {"apiVersion": "apps/v1", "kind": kind, "name": "web"}
    given = {"scaleTargetRef": target, "maxReplicas": 4, **spec}
    return Create({"kind": "HorizontalPodAutoscaler", "metadata": {"name": name}, "spec": given})


def _requests(cpu: str, **spec: Any) -> Body:
    container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": cpu}}}
    return {"containers": [container], **spec}


def _pool(story: str) -> Body:
    return {"nodeSelector": {"story": story}}


_ENDED: Body = {
    "status": {"phase": "Succeeded", "conditions": [{"type": "Ready", "status": "False"}]}
}
_INDEXED = {"completionMode": "Indexed", "completions": 3, "parallelism": 3}
_RESUME = _spec("Job", "job", suspend=False)
_SUSPEND = _spec("Job", "job", suspend=True)
_BAD = by_image({"i:bad": "Running"})
_SURGE = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
_PARTITION = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}


def _evicted(story: str, policy: str) -> Story:
    """A budget with this policy, and evictions of pods that are not ready."""
    return Story(
        story,
        [
            [_web(replicas=3), _budget(minAvailable=3, unhealthyPodEvictionPolicy=policy)],
            [Evict(APP, 1)],
            [_to("Deployment", "i:bad")],
            [Evict(APP)],
            [Patch("Deployment", "web", scale(4)), _to("Deployment", "i:1")],
            [Evict(APP, 2)],
        ],
        _BAD,
    )


STORIES = (
    Story(
        "stateful-partition-broken",
        [
            [_stateful(3, updateStrategy=_PARTITION)],
            [_to("StatefulSet", "i:bad")],
            [EachPod({"statefulset.kubernetes.io/pod-name": "web-0"})],
            [_to("StatefulSet", "i:1")],
            [EachPod({"statefulset.kubernetes.io/pod-name": "web-2"})],
            [_to("StatefulSet", "i:2")],
        ],
        _BAD,
    ),
    Story(
        "stateful-parallel-broken",
        [
            [_stateful(3, podManagementPolicy="Parallel")],
            [_to("StatefulSet", "i:bad")],
            [_to("StatefulSet", "i:2")],
            [Patch("StatefulSet", "web", scale(5))],
        ],
        _BAD,
    ),
    Story(
        "stateful-scale-broken",
        [
            [_stateful(2, podManagementPolicy="OrderedReady"), Play(always("Running"))],
            [Patch("StatefulSet", "web", scale(0))],
            [Patch("StatefulSet", "web", scale(2)), Play(always("Ready"))],
            [_spec("StatefulSet", "web", minReadySeconds=8, replicas=3)],
        ],
    ),
    Story(
        "job-per-index-resumed",
        [
            [Create(job(**_INDEXED, backoffLimitPerIndex=1, suspend=True))],
            [_RESUME],
            [Play(_indexes({"1": "Failed", "0": "Succeeded"})), Wait(4)],
            [_SUSPEND],
            [_RESUME, Play(_indexes({"2": "Failed"}, "Succeeded")), Wait(30)],
        ],
        always("Ready"),
    ),
    Story(
        "job-template-while-suspended",
        [
            [Create(job(suspend=True, parallelism=2, completions=4))],
            [
                _spec(
                    "Job",
                    "job",
                    parallelism=1,
                    template={
                        "metadata": {"labels": {"queue": "a"}, "annotations": {"b": "c"}},
                        "spec": {"nodeSelector": {**SHARED, "kubernetes.io/hostname": "shared"}},
                    },
                )
            ],
            [_RESUME],
            [_spec("Job", "job", parallelism=3)],
        ],
        always("Ready"),
    ),
    Story(
        "job-success-policy-mixed",
        [
            [
                Create(
                    job(
                        **{**_INDEXED, "completions": 4, "parallelism": 4},
                        backoffLimitPerIndex=0,
                        successPolicy={
                            "rules": [
                                {"succeededIndexes": "0,2-3", "succeededCount": 2},
                                {"succeededCount": 4},
                            ]
                        },
                    )
                )
            ],
            [Play(_indexes({"1": "Succeeded", "0": "Failed"}))],
            [Play(_indexes({"2": "Succeeded", "3": "Succeeded"}))],
        ],
        always("Ready"),
    ),
    Story(
        "job-node-drained",
        [
            [
                Create(
                    job(
                        parallelism=2,
                        completions=2,
                        backoffLimit=0,
                        pod=_pool("job-node-drained"),
                        podFailurePolicy={
                            "rules": [
                                {
                                    "action": "Ignore",
                                    "onPodConditions": [{"type": "DisruptionTarget"}],
                                },
                                {
                                    "action": "FailJob",
                                    "onExitCodes": {"operator": "NotIn", "values": [0]},
                                },
                            ]
                        },
                    )
                )
            ],
            [
                Patch(
                    "Node",
                    "a.job-node-drained",
                    {"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}},
                ),
                Wait(14),
            ],
            [Evict({"of": "job"}, 1), Wait(14)],
            [Play(always("Failed:3"))],
        ],
        always("Ready"),
        nodes="ab",
    ),
    Story(
        "job-elastic-up",
        [
            [Create(job(**{**_INDEXED, "completions": 2, "parallelism": 2}))],
            [Play(_indexes({"1": "Succeeded"}))],
            [_spec("Job", "job", completions=4, parallelism=4)],
            [_spec("Job", "job", completions=1, parallelism=1)],
            [Play(always("Succeeded"))],
        ],
        always("Ready"),
    ),
    Story(
        "job-ttl-extended",
        [
            [Create(job(ttlSecondsAfterFinished=400)), Play(always("Succeeded"))],
            [_spec("Job", "job", ttlSecondsAfterFinished=4000)],
            [_spec("Job", "job", ttlSecondsAfterFinished=None)],
            [_spec("Job", "job", ttlSecondsAfterFinished=1), Wait(4)],
        ],
    ),
    Story(
        "cron-missed",
        [
            [_cron(suspend=True, startingDeadlineSeconds=10), NextMinute()],
            [NextMinute()],
            [_spec("CronJob", "cron", suspend=False), Wait(4)],
            [_spec("CronJob", "cron", suspend=True)],
        ],
    ),
    Story(
        "cron-caught-up",
        [
            [_cron(suspend=True), NextMinute()],
            [NextMinute()],
            [_spec("CronJob", "cron", suspend=False), Wait(4)],
            [_spec("CronJob", "cron", suspend=True)],
            [_spec("CronJob", "cron", schedule="0 0 1 1 *", suspend=False)],
        ],
    ),
    Story(
        "cron-job-deleted",
        [
            [_cron(concurrencyPolicy="Forbid"), NextMinute()],
            [_spec("CronJob", "cron", suspend=True)],
            [EachPod({"of": "job"})],
            [_spec("CronJob", "cron", schedule="@yearly", timeZone="Europe/Berlin")],
        ],
        always("Ready"),
    ),
    Story(
        "scaler-bounds",
        [
            [_web(replicas=8, pod=_requests("1"))],
            [_scaler(maxReplicas=6), Wait(34)],
            [_spec("HorizontalPodAutoscaler", "scaler", maxReplicas=3), Wait(34)],
            [_spec("HorizontalPodAutoscaler", "scaler", maxReplicas=5, minReplicas=5), Wait(34)],
            [Patch("Deployment", "web", scale(0)), Wait(34)],
        ],
    ),
    Story(
        "scaler-behavior",
        [
            [
                _web(replicas=6, pod=_requests("1")),
            ],
            [
                _scaler(
                    maxReplicas=2,
                    behavior={
                        "scaleDown": {
                            "selectPolicy": "Disabled",
                            "stabilizationWindowSeconds": 5,
                            "tolerance": "200m",
                        }
                    },
                ),
                Wait(34),
            ],
            [
                _spec(
                    "HorizontalPodAutoscaler",
                    "scaler",
                    minReplicas=8,
                    maxReplicas=9,
                    behavior={
                        "scaleUp": {
                            "policies": [{"type": "Pods", "value": 1, "periodSeconds": 600}]
                        }
                    },
                ),
                Wait(36),
            ],
        ],
    ),
    Story(
        "scaler-stateful",
        [[_stateful(1)], [_scaler(kind="StatefulSet", minReplicas=3), Wait(34)]],
    ),
    _evicted("evict-if-healthy", "IfHealthyBudget"),
    _evicted("evict-always", "AlwaysAllow"),
    Story(
        "evict-one-by-one",
        [
            [_web("ReplicaSet", 4), _budget(maxUnavailable="50%")],
            [Evict(APP, 3)],
            [_spec("PodDisruptionBudget", "budget", maxUnavailable=0), Evict(APP, 1)],
            [EachPod(APP, _ENDED, 1, "status")],
            [Evict(APP)],
        ],
    ),
    Story(
        "quota-scopes",
        [
            [
                _quota("terminating", {"scopes": ["Terminating"]}, pods="2"),
                _quota("lasting", {"scopes": ["NotTerminating"]}, pods="4"),
                _quota("best-effort", {"scopes": ["BestEffort"]}, pods="5"),
                _quota(
                    "important",
                    {
                        "scopeSelector": {
                            "matchExpressions": [
                                {
                                    "scopeName": "PriorityClass",
                                    "operator": "In",
                                    "values": ["system-cluster-critical"],
                                }
                            ]
                        }
                    },
                    pods="1",
                ),
                _web(replicas=3, pod=_requests("1")),
                Create(
                    job(
                        parallelism=2,
                        completions=2,
                        pod={"activeDeadlineSeconds": 600},
                    )
                ),
            ],
            [Create(pod("one", priorityClassName="system-cluster-critical"))],
            [Patch("Deployment", "web", scale(1))],
            [EachPod({"of": "job"}, _ENDED, 1, "status")],
        ],
    ),
    Story(
        "quota-storage",
        [
            [
                _quota(
                    "q",
                    **{
                        "requests.storage": "5Gi",
                        "persistentvolumeclaims": "2",
                        "none.storageclass.storage.k8s.io/requests.storage": "2Gi",
                        "services.loadbalancers": "1",
                        "services.nodeports": "3",
                        "secrets": "2",
                    },
                )
            ],
            [
                *(
                    Create(
                        {
                            "kind": "PersistentVolumeClaim",
                            "metadata": {"name": name},
                            "spec": {
                                "accessModes": ["ReadWriteOnce"],
                                "resources": {"requests": {"storage": "1Gi"}},
                                "storageClassName": name,
                            },
                        }
                    )
                    for name in ("none", "other")
                ),
                Create(
                    {
                        "kind": "Service",
                        "metadata": {"name": "web"},
                        "spec": {
                            "type": "LoadBalancer",
                            "selector": APP,
                            "ports": [
                                {"port": 80, "name": "a", "nodePort": 32001},
                                {"port": 81, "name": "b", "nodePort": 32002},
                            ],
                        },
                    }
                ),
            ],
            [_spec("Service", "web", type="ClusterIP")],
            [Delete("PersistentVolumeClaim", "none")],
        ],
    ),
    Story(
        "deployment-paused-deadline",
        [
            [_web(replicas=2, progressDeadlineSeconds=5)],
            [_to("Deployment", "i:bad")],
            [_spec("Deployment", "web", paused=True), Wait(8)],
            [_spec("Deployment", "web", replicas=5)],
            [_spec("Deployment", "web", paused=False), Wait(8)],
            [_to("Deployment", "i:1")],
        ],
        _BAD,
    ),
    Story(
        "deployment-two",
        [
            [_web(replicas=2), _web(replicas=1, name="other", image="i:2")],
            [Patch("Deployment", "other", image("i:1"))],
            [EachPod(APP, {"metadata": {"labels": {"app": "else"}}}, 1)],
            [Delete("Deployment", "web")],
        ],
    ),
    Story(
        "replicaset-two",
        [
            [
                Create(pod("alone", APP)),
                _web("ReplicaSet", 2),
            ],
            [_web("ReplicationController", 3, "other")],
            [Patch("ReplicaSet", "web", {"metadata": {"labels": {"a": "b"}}})],
            [Delete("ReplicaSet", "web", {"propagationPolicy": "Orphan"})],
            [Patch("ReplicationController", "other", scale(5))],
        ],
    ),
    Story(
        "daemonset-surge-tainted",
        [
            [
                Create(
                    workload(
                        "DaemonSet",
                        pod=_pool("daemonset-surge-tainted"),
                        updateStrategy=_SURGE,
                        revisionHistoryLimit=1,
                    )
                ),
                Patch("Node", "c.daemonset-surge-tainted", {"spec": {"unschedulable": True}}),
            ],
            [
                Patch(
                    "Node",
                    "b.daemonset-surge-tainted",
                    {"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}},
                ),
                _to("DaemonSet", "i:2"),
            ],
            [
                Create(node("d", "daemonset-surge-tainted")),
                _to("DaemonSet", "i:3"),
            ],
            [Patch("Node", "b.daemonset-surge-tainted", {"spec": {"taints": None}})],
            [_to("DaemonSet", "i:1")],
        ],
        nodes="abc",
    ),
    Story(
        "daemonset-surge-broken",
        [
            [
                Create(
                    workload(
                        "DaemonSet", pod=_pool("daemonset-surge-broken"), updateStrategy=_SURGE
                    )
                )
            ],
            [_to("DaemonSet", "i:bad")],
            [_to("DaemonSet", "i:1")],
            [_to("DaemonSet", "i:2")],
        ],
        _BAD,
        nodes="a",
    ),
    Story(
        "preempted-workload",
        [
            [
                _web(
                    replicas=2,
                    pod={**_requests("40"), **_pool("preempted-workload")},
                ),
                _budget(minAvailable=2),
            ],
            [
                Create(
                    {
                        "kind": "PriorityClass",
                        "metadata": {"name": "high.preempted-workload"},
                        "value": 1000,
                    }
                ),
                Create(
                    pod(
                        "high",
                        priorityClassName="high.preempted-workload",
                        **_requests("60"),
                        **_pool("preempted-workload"),
                    )
                ),
                Wait(6),
            ],
            [Delete("Pod", "high"), Wait(16)],
        ],
        nodes="ab",
    ),
)
