"""PodGroup of scheduling.k8s.io: pods that are scheduled together."""

from __future__ import annotations

from apps.scheduler.objects.meta import Condition, Int32, KubeObject, KubeStruct


class BasicSchedulingPolicy(KubeStruct, frozen=True):
    """The pods are tried together, and each is bound on its own."""


class GangSchedulingPolicy(KubeStruct, frozen=True):
    #: so many pods are bound together, or none
    min_count: Int32 = 0


class PodGroupSchedulingPolicy(KubeStruct, frozen=True):
    basic: BasicSchedulingPolicy | None = None
    gang: GangSchedulingPolicy | None = None


class TopologyConstraint(KubeStruct, frozen=True):
    """All pods of the group are on nodes with the same value of a label."""

    key: str = ""


class PodGroupSchedulingConstraints(KubeStruct, frozen=True):
    #: at most one
    topology: tuple[TopologyConstraint, ...] = ()


class PodGroupResourceClaim(KubeStruct, frozen=True):
    """A claim that pods of the group share which have an equal entry."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodGroupSpec(KubeStruct, frozen=True):
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
    scheduling_constraints: PodGroupSchedulingConstraints | None = None
    #: "Pod" or "PodGroup": whether preemption evicts the pods one by one, or all of them
    disruption_mode: str = ""
    #: None without a value, which counts as 0
    priority: Int32 | None = None
    resource_claims: tuple[PodGroupResourceClaim, ...] = ()


class PodGroupResourceClaimStatus(KubeStruct, frozen=True):
    name: str = ""
    resource_claim_name: str | None = None


class PodGroupStatus(KubeStruct, frozen=True):
    conditions: tuple[Condition, ...] = ()
    resource_claim_statuses: tuple[PodGroupResourceClaimStatus, ...] = ()


class PodGroup(KubeObject, frozen=True):
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()

    @property
    def min_count(self) -> int:
        """How many pods a gang needs; 0 for a group that is no gang."""
        gang = self.spec.scheduling_policy.gang
        return gang.min_count if gang is not None else 0

    @property
    def topology_key(self) -> str:
        """The node label of which all pods need the same value; "" if there is none."""
        constraints = self.spec.scheduling_constraints
        return constraints.topology[0].key if constraints and constraints.topology else ""

    @property
    def priority(self) -> int:
        """What counts in workload-aware preemption."""
        return self.spec.priority or 0

    @property
    def is_disrupted_as_a_whole(self) -> bool:
        return self.spec.disruption_mode == "PodGroup"
