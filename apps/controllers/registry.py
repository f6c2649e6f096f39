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
from apps.controllers.devices import driver, eviction, resource_claims
from apps.controllers.endpoints import api_service, endpoints, slices
from apps.controllers.kubelet import node_kubelet, pod_kubelet, pressure, resizing
from apps.controllers.volumes import claim_binding, ephemeral, persistent_volumes
from apps.controllers.workloads import cronjob, daemonset, deployment, job, replicas, statefulset

KUBELET = node_kubelet.KUBELET

CONTROLLERS: tuple[Controller, ...] = (
    node_kubelet.CONTROLLER,
    pod_kubelet.CONTROLLER,
    pressure.CONTROLLER,
    resizing.CONTROLLER,
    node_lifecycle.CONTROLLER,
    ephemeral.CONTROLLER,
    claim_binding.CONTROLLER,
    persistent_volumes.CONTROLLER,
    resource_claims.CONTROLLER,
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
