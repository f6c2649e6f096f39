"""All controllers, in the order in which they handle a change."""

from __future__ import annotations

from apps.controllers import (
    accounts,
    disruption,
    garbage,
    namespaces,
    node_lifecycle,
    pod_garbage,
    pod_groups,
    policies,
    roles,
    taint_eviction,
)
from apps.controllers.autoscaling import autoscaler
from apps.controllers.controller import Controller
from apps.controllers.devices import claims as device_claims
from apps.controllers.devices import driver, eviction
from apps.controllers.endpoints import api_service, endpoints, slices
from apps.controllers.kubelet import nodes as kubelet_nodes
from apps.controllers.kubelet import pods as kubelet_pods
from apps.controllers.kubelet import pressure, resizing
from apps.controllers.volumes import claims, ephemeral, volumes
from apps.controllers.workloads import cronjob, daemonset, deployment, job, replicas, statefulset

KUBELET = kubelet_nodes.KUBELET

CONTROLLERS: tuple[Controller, ...] = (
    kubelet_nodes.CONTROLLER,
    kubelet_pods.CONTROLLER,
    pressure.CONTROLLER,
    resizing.CONTROLLER,
    node_lifecycle.CONTROLLER,
    ephemeral.CONTROLLER,
    claims.CONTROLLER,
    volumes.CONTROLLER,
    device_claims.CONTROLLER,
    driver.CONTROLLER,
    taint_eviction.CONTROLLER,
    eviction.CONTROLLER,
    deployment.CONTROLLER,
    replicas.CONTROLLER,
    statefulset.CONTROLLER,
    daemonset.CONTROLLER,
    autoscaler.CONTROLLER,
    cronjob.CONTROLLER,
    job.CONTROLLER,
    pod_garbage.CONTROLLER,
    pod_groups.CONTROLLER,
    disruption.CONTROLLER,
    api_service.CONTROLLER,
    slices.CONTROLLER,
    endpoints.CONTROLLER,
    accounts.CONTROLLER,
    roles.CONTROLLER,
    policies.CONTROLLER,
    namespaces.CONTROLLER,
    garbage.CONTROLLER,
)
