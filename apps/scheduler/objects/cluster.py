"""Node, Namespace and the other objects of the cluster itself."""

from __future__ import annotations

import msgspec

from apps.scheduler.objects.meta import (
    Condition,
    Int32,
    Int64,
    KubeObject,
    KubeStruct,
    ObjectReference,
    ResourceList,
    Time,
)
from apps.scheduler.objects.scheduling import Taint, Toleration


class NodeSpec(KubeStruct, frozen=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    provider_id: str = msgspec.field(default="", name="providerID")
    pod_cidr: str = msgspec.field(default="", name="podCIDR")


class ContainerImage(KubeStruct, frozen=True):
    names: tuple[str, ...] = ()
    size_bytes: Int64 = 0


class NodeSystemInfo(KubeStruct, frozen=True):
    architecture: str = ""
    operating_system: str = ""
    kubelet_version: str = ""
    os_image: str = ""
    container_runtime_version: str = ""


class NodeStatus(KubeStruct, frozen=True):
    allocatable: ResourceList = {}
    capacity: ResourceList = {}
    conditions: tuple[Condition, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    declared_features: tuple[str, ...] = ()
    node_info: NodeSystemInfo = NodeSystemInfo()
    phase: str = ""


class Node(KubeObject, frozen=True):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class NamespaceStatus(KubeStruct, frozen=True):
    phase: str = ""


class Namespace(KubeObject, frozen=True):
    status: NamespaceStatus = NamespaceStatus()


class RuntimeClassOverhead(KubeStruct, frozen=True):
    pod_fixed: ResourceList = {}


class RuntimeClassScheduling(KubeStruct, frozen=True):
    node_selector: dict[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class RuntimeClass(KubeObject, frozen=True):
    handler: str = ""
    overhead: RuntimeClassOverhead | None = None
    scheduling: RuntimeClassScheduling | None = None


class LeaseSpec(KubeStruct, frozen=True):
    holder_identity: str | None = None
    lease_duration_seconds: Int32 | None = None
    acquire_time: Time | None = None
    renew_time: Time | None = None
    lease_transitions: Int32 | None = None


class Lease(KubeObject, frozen=True):
    spec: LeaseSpec = LeaseSpec()


class Event(KubeObject, frozen=True):
    """An event of either API group; events.k8s.io uses `regarding` and `note`."""

    involved_object: ObjectReference = ObjectReference()
    reason: str = ""
    message: str = ""
    type: str = ""
    action: str = ""
    reporting_component: str = ""
    reporting_instance: str = ""
    event_time: Time | None = None
    first_timestamp: Time | None = None
    last_timestamp: Time | None = None
    count: Int32 = 0
    regarding: ObjectReference = ObjectReference()
    note: str = ""
