"""Pods, and the kinds whose controllers create them."""

from __future__ import annotations

from typing import Final

from apps.cluster import models
from apps.cluster.kind import PROXY_VERBS, SCALE, STATUS_VERBS, Kind, Subresource
from apps.cluster.validation.autoscaling import validate_autoscaler
from apps.cluster.validation.batch import (
    validate_cron_job,
    validate_cron_job_name,
    validate_job,
    validate_job_update,
)
from apps.cluster.validation.data import immutable, validate_service_name, validate_template_object
from apps.cluster.validation.names import dns_label
from apps.cluster.validation.pod_updates import (
    validate_ephemeral_containers,
    validate_pod_resize,
    validate_pod_status,
    validate_pod_update,
)
from apps.cluster.validation.pods import validate_new_pod
from apps.cluster.validation.statuses import (
    validate_daemon_set_status,
    validate_deployment_status,
    validate_replica_set_status,
    validate_stateful_set_status,
)
from apps.cluster.validation.workloads import (
    validate_daemon_set,
    validate_deployment,
    validate_replica_set,
    validate_replication_controller,
    validate_selector_update,
    validate_stateful_set,
    validate_stateful_set_update,
)

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
    validate=validate_new_pod,
    validate_update=validate_pod_update,
    validate_status=validate_pod_status,
    validate_parts={
        "ephemeralcontainers": validate_ephemeral_containers,
        "resize": validate_pod_resize,
    },
    compares_updates=True,
)

KINDS: Final = (
    POD,
    Kind(
        "PodTemplate",
        "podtemplates",
        has_generation=True,
        returns_deleted=True,
        validate=validate_template_object,
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
        validate=validate_replication_controller,
        validate_status=validate_replica_set_status,
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
        validate=validate_replica_set,
        validate_update=validate_selector_update,
        validate_status=validate_replica_set_status,
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
        check_name=dns_label,
        validate=validate_stateful_set,
        validate_new=validate_service_name,
        validate_update=validate_stateful_set_update,
        validate_status=validate_stateful_set_status,
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
        validate=validate_deployment,
        validate_update=validate_selector_update,
        validate_status=validate_deployment_status,
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
        validate=validate_daemon_set,
        validate_update=validate_selector_update,
        validate_status=validate_daemon_set_status,
    ),
    Kind(
        "ControllerRevision",
        "controllerrevisions",
        group="apps",
        validate_update=immutable("data"),
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
        validate=validate_job,
        validate_update=validate_job_update,
    ),
    Kind(
        "CronJob",
        "cronjobs",
        group="batch",
        short_names=("cj",),
        categories=("all",),
        has_status=True,
        has_generation=True,
        validate=validate_cron_job,
        validate_new=validate_cron_job_name,
    ),
    Kind(
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        group="autoscaling",
        version="v2",
        short_names=("hpa",),
        categories=("all",),
        has_status=True,
        validate=validate_autoscaler,
    ),
)
