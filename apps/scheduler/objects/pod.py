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


class PodSchedulingGroup(KubeStruct, frozen=True):
    pod_group_name: str = ""


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
    scheduling_group: PodSchedulingGroup | None = None
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


class PodResourceClaimStatus(KubeStruct, frozen=True):
    name: str = ""
    #: None: no claim was needed
    resource_claim_name: str | None = None


class ContainerExtendedResourceRequest(KubeStruct, frozen=True):
    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class PodExtendedResourceClaimStatus(KubeStruct, frozen=True):
    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()
    resource_claim_name: str = ""


class NodeAllocatableResourceClaimStatus(KubeStruct, frozen=True):
    """What the devices of a claim take of the resources of the pod's node."""

    resource_claim_name: str = ""
    #: those that refer to the claim
    containers: tuple[str, ...] = ()
    resources: ResourceList = {}


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
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    node_allocatable_resource_claim_statuses: tuple[NodeAllocatableResourceClaimStatus, ...] = ()


class Pod(KubeObject, frozen=True):
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def group_name(self) -> str:
        """The PodGroup, in the namespace of the pod, to which it belongs; "" for none."""
        group = self.spec.scheduling_group
        return group.pod_group_name if group is not None else ""
