"""Pods, and the kinds whose controllers create them."""

from __future__ import annotations

from typing import Final

from apps.cluster import models
from apps.cluster.admission.defaulting.data import (
    default_autoscaler,
    default_cron_job,
    default_pod_template,
)
from apps.cluster.admission.defaulting.pods import default_pod
from apps.cluster.admission.defaulting.workloads import (
    default_daemon_set,
    default_deployment,
    default_job,
    default_replica_set,
    default_replication_controller,
    default_stateful_set,
)
from apps.cluster.admission.gated_fields import drop_claim_statuses
from apps.cluster.admission.pods import update_pod
from apps.cluster.admission.statuses import initial_daemon_set_status, initial_pod_status
from apps.cluster.kind import PROXY_VERBS, SCALE, STATUS_VERBS, Kind, Subresource
from apps.cluster.tables.pods import PODS
from apps.cluster.tables.workloads import (
    CONTROLLER_REVISIONS,
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    HORIZONTAL_POD_AUTOSCALERS,
    JOBS,
    POD_TEMPLATES,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
)
from apps.cluster.validation.autoscaling import validate_autoscaler
from apps.cluster.validation.batch import (
    validate_cron_job,
    validate_cron_job_name,
    validate_job,
    validate_job_update,
)
from apps.cluster.validation.data import immutable, validate_service_name, validate_template_object
from apps.cluster.validation.gates import NODE_RESOURCES
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
    default=default_pod,
    initial_status=initial_pod_status,
    admit_update=update_pod,
    gated_fields=((NODE_RESOURCES, drop_claim_statuses),),
    validate=validate_new_pod,
    validate_update=validate_pod_update,
    validate_status=validate_pod_status,
    validate_parts={
        "ephemeralcontainers": validate_ephemeral_containers,
        "resize": validate_pod_resize,
    },
    compares_updates=True,
    columns=PODS,
)

KINDS: Final = (
    POD,
    Kind(
        "PodTemplate",
        "podtemplates",
        has_generation=True,
        returns_deleted=True,
        default=default_pod_template,
        validate=validate_template_object,
        columns=POD_TEMPLATES,
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
        default=default_replication_controller,
        initial_status=lambda _: {"replicas": 0},
        validate=validate_replication_controller,
        validate_status=validate_replica_set_status,
        columns=REPLICATION_CONTROLLERS,
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
        default=default_replica_set,
        initial_status=lambda _: {"replicas": 0},
        validate=validate_replica_set,
        validate_update=validate_selector_update,
        validate_status=validate_replica_set_status,
        columns=REPLICA_SETS,
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
        default=default_stateful_set,
        initial_status=lambda _: {"replicas": 0, "availableReplicas": 0},
        check_name=dns_label,
        validate=validate_stateful_set,
        validate_new=validate_service_name,
        validate_update=validate_stateful_set_update,
        validate_status=validate_stateful_set_status,
        columns=STATEFUL_SETS,
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
        default=default_deployment,
        initial_status=lambda _: {},
        validate=validate_deployment,
        validate_update=validate_selector_update,
        validate_status=validate_deployment_status,
        columns=DEPLOYMENTS,
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
        default=default_daemon_set,
        initial_status=initial_daemon_set_status,
        validate=validate_daemon_set,
        validate_update=validate_selector_update,
        validate_status=validate_daemon_set_status,
        columns=DAEMON_SETS,
    ),
    Kind(
        "ControllerRevision",
        "controllerrevisions",
        group="apps",
        validate_update=immutable("data"),
        columns=CONTROLLER_REVISIONS,
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
        default=default_job,
        initial_status=lambda _: {},
        validate=validate_job,
        validate_update=validate_job_update,
        columns=JOBS,
    ),
    Kind(
        "CronJob",
        "cronjobs",
        group="batch",
        short_names=("cj",),
        categories=("all",),
        has_status=True,
        has_generation=True,
        default=default_cron_job,
        validate=validate_cron_job,
        validate_new=validate_cron_job_name,
        columns=CRON_JOBS,
    ),
    Kind(
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        group="autoscaling",
        version="v2",
        short_names=("hpa",),
        categories=("all",),
        has_status=True,
        default=default_autoscaler,
        validate=validate_autoscaler,
        columns=HORIZONTAL_POD_AUTOSCALERS,
    ),
)
