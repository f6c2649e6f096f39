"""Services and the controllers that own pods; scheduling reads mainly their selectors."""

from __future__ import annotations

from apps.scheduler.objects.meta import Int32, KubeObject, KubeStruct, LabelSelector, ObjectMeta
from apps.scheduler.objects.pod import PodSpec


class ServicePort(KubeStruct, frozen=True):
    name: str = ""
    protocol: str = "TCP"
    port: Int32 = 0
    target_port: Int32 | str | None = None
    node_port: Int32 = 0


class ServiceSpec(KubeStruct, frozen=True):
    selector: dict[str, str] = {}
    ports: tuple[ServicePort, ...] = ()
    type: str = "ClusterIP"


class Service(KubeObject, frozen=True):
    spec: ServiceSpec = ServiceSpec()


class PodTemplateSpec(KubeStruct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class ReplicationControllerSpec(KubeStruct, frozen=True):
    replicas: Int32 = 1
    selector: dict[str, str] = {}
    template: PodTemplateSpec | None = None


class ReplicationController(KubeObject, frozen=True):
    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class WorkloadSpec(KubeStruct, frozen=True):
    """The common part of the specs of the controllers below."""

    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec | None = None


class Workload(KubeObject, frozen=True):
    spec: WorkloadSpec = WorkloadSpec()


class ReplicaSet(Workload, frozen=True):
    pass


class StatefulSet(Workload, frozen=True):
    pass


class Deployment(Workload, frozen=True):
    pass


class DaemonSet(Workload, frozen=True):
    pass


class JobSpec(WorkloadSpec, frozen=True):
    parallelism: Int32 | None = None
    completions: Int32 | None = None


class Job(KubeObject, frozen=True):
    spec: JobSpec = JobSpec()


class CronJob(KubeObject, frozen=True):
    """The controllers read its body."""


class HorizontalPodAutoscaler(KubeObject, frozen=True):
    """The controllers read its body."""


class ControllerRevision(KubeObject, frozen=True):
    """The controllers read its body."""


class ServiceAccount(KubeObject, frozen=True):
    """The controllers read its name and its owners."""


class ClusterRole(KubeObject, frozen=True):
    """The controllers read its body from the database."""


class ValidatingAdmissionPolicy(KubeObject, frozen=True):
    """The controllers read its body from the database."""


class ConfigMap(KubeObject, frozen=True):
    """The controllers read its body."""


class Secret(KubeObject, frozen=True):
    """The controllers read its owners."""
