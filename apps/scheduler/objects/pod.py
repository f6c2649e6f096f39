"""Pod."""

from __future__ import annotations

import msgspec

from apps.scheduler.objects.meta import (
    Condition,
    Int32,
    Int64,
    KubeObject,
    KubeStruct,
    ResourceList,
    Time,
)
from apps.scheduler.objects.scheduling import (
    Affinity,
    PodSchedulingGate,
    Toleration,
    TopologySpreadConstraint,
)
from apps.scheduler.objects.volumes import ResourceRequirements, Volume


class ContainerPort(KubeStruct, frozen=True):
    container_port: Int32 = 0
    host_port: Int32 = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"
    name: str = ""


class ResourceClaimOfContainer(KubeStruct, frozen=True):
    name: str = ""
    request: str = ""


class ContainerResources(ResourceRequirements, frozen=True):
    claims: tuple[ResourceClaimOfContainer, ...] = ()


class ContainerResizePolicy(KubeStruct, frozen=True):
    resource_name: str = ""
    restart_policy: str = ""


class ContainerRestartRule(KubeStruct, frozen=True):
    action: str = ""


class Container(KubeStruct, frozen=True):
    name: str = ""
    image: str = ""
    resources: ContainerResources = ContainerResources()
    ports: tuple[ContainerPort, ...] = ()
    #: "Always" on an init container makes it a sidecar
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()
    resize_policy: tuple[ContainerResizePolicy, ...] = ()


class PodResourceClaim(KubeStruct, frozen=True):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodOS(KubeStruct, frozen=True):
    name: str = ""


class NamedContainer(KubeStruct, frozen=True):
    """An ephemeral container, or its status: only the name matters."""

    name: str = ""


class PodSpec(KubeStruct, frozen=True):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    volumes: tuple[Volume, ...] = ()
    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    scheduler_name: str = "default-scheduler"
    priority: Int32 = 0
    priority_class_name: str = ""
    preemption_policy: str = "PreemptLowerPriority"
    overhead: ResourceList = {}
    #: pod-level requests and limits
    resources: ContainerResources | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    runtime_class_name: str | None = None
    host_network: bool = False
    host_users: bool | None = None
    os: PodOS | None = None
    restart_policy: str = "Always"
    termination_grace_period_seconds: Int64 = 30
    active_deadline_seconds: Int64 | None = None
    service_account_name: str = ""
    ephemeral_containers: tuple[NamedContainer, ...] = ()


class ContainerStatus(KubeStruct, frozen=True):
    name: str = ""
    #: the resources that the node has allocated to the container
    allocated_resources: ResourceList = {}
    #: the resources in effect in the running container; None = not reported
    resources: ContainerResources | None = None
    ready: bool = False
    started: bool | None = None
    restart_count: Int32 = 0


class PodStatus(KubeStruct, frozen=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    nominated_node_name: str = ""
    start_time: Time | None = None
    reason: str = ""
    message: str = ""
    #: deprecated summary of a resize in progress: "Proposed", "InProgress", "Infeasible" …
    resize: str = ""
    observed_generation: Int64 = 0
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    ephemeral_container_statuses: tuple[NamedContainer, ...] = ()
    #: pod-level counterparts of the two container fields
    allocated_resources: ResourceList = {}
    resources: ContainerResources | None = None


class Pod(KubeObject, frozen=True):
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
