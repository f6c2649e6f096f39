"""Pods, and the kinds whose controllers create them."""

from __future__ import annotations

from typing import Final

from apps.cluster import models
from apps.cluster.kind import PROXY_VERBS, SCALE, STATUS_VERBS, Kind, Subresource

_CONNECT_VERBS: Final = ("create", "get")
POD: Final = Kind(
    "Pod",
    "pods",
    models.Pod,
    short_names=("po",),
    categories=("all",),
    fields=(
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    has_status=True,
    has_generation=True,
    subresources=(
        Subresource("attach", "PodAttachOptions", _CONNECT_VERBS),
        Subresource("binding", "Binding", ("create",)),
        Subresource("ephemeralcontainers", "Pod", STATUS_VERBS),
        Subresource("eviction", "Eviction", ("create",), "policy", "v1"),
        Subresource("exec", "PodExecOptions", _CONNECT_VERBS),
        Subresource("log", "Pod", ("get",)),
        Subresource("portforward", "PodPortForwardOptions", _CONNECT_VERBS),
        Subresource("proxy", "PodProxyOptions", PROXY_VERBS),
        Subresource("resize", "Pod", STATUS_VERBS),
    ),
    returns_deleted=True,
)

KINDS: Final = (
    POD,
    Kind(
        "PodTemplate",
        "podtemplates",
        has_generation=True,
        returns_deleted=True,
    ),
    Kind(
        "ReplicationController",
        "replicationcontrollers",
        models.ReplicationController,
        short_names=("rc",),
        categories=("all",),
        fields=("status.replicas",),
        has_status=True,
        has_generation=True,
        subresources=(SCALE,),
    ),
    Kind(
        "ReplicaSet",
        "replicasets",
        models.ReplicaSet,
        group="apps",
        short_names=("rs",),
        categories=("all",),
        fields=("status.replicas",),
        has_status=True,
        has_generation=True,
        subresources=(SCALE,),
    ),
    Kind(
        "StatefulSet",
        "statefulsets",
        models.StatefulSet,
        group="apps",
        short_names=("sts",),
        categories=("all",),
        has_status=True,
        has_generation=True,
        subresources=(SCALE,),
    ),
    Kind(
        "Deployment",
        "deployments",
        models.Deployment,
        group="apps",
        short_names=("deploy",),
        categories=("all",),
        has_status=True,
        has_generation=True,
        subresources=(SCALE,),
    ),
    Kind(
        "DaemonSet",
        "daemonsets",
        models.DaemonSet,
        group="apps",
        short_names=("ds",),
        categories=("all",),
        has_status=True,
        has_generation=True,
    ),
    Kind(
        "ControllerRevision",
        "controllerrevisions",
        group="apps",
    ),
    Kind(
        "Job",
        "jobs",
        models.Job,
        group="batch",
        categories=("all",),
        fields=("status.successful",),
        has_status=True,
        has_generation=True,
    ),
    Kind(
        "CronJob",
        "cronjobs",
        group="batch",
        short_names=("cj",),
        categories=("all",),
        has_status=True,
        has_generation=True,
    ),
    Kind(
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        group="autoscaling",
        version="v2",
        short_names=("hpa",),
        categories=("all",),
        has_status=True,
    ),
)
