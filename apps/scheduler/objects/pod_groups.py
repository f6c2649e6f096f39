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


class PodGroupResourceClaim(KubeStruct, frozen=True):
    """A claim that pods of the group share which have an equal entry."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodGroupSpec(KubeStruct, frozen=True):
    scheduling_policy: PodGroupSchedulingPolicy = PodGroupSchedulingPolicy()
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
