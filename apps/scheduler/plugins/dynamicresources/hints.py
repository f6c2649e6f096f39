"""Which events trigger a retry of a pod that DynamicResources rejected."""

from __future__ import annotations

from collections.abc import Sequence

from apps.scheduler.cache.device_claims import DeviceClaims
from apps.scheduler.framework.events import (
    ITSELF,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    QueueingHint,
    Resource,
)
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Pod, ResourceClaim
from apps.scheduler.plugins.dynamicresources.features import DeviceFeatures
from apps.scheduler.plugins.dynamicresources.pod_resource_claims import (
    ClaimProblem,
    known_claim_names,
    pod_claims,
)


class Hints:
    def __init__(self, claims: DeviceClaims, features: DeviceFeatures) -> None:
        self._claims, self._features = claims, features

    def hint_claim_changed(
        self, pod: PodInfo, old: ResourceClaim | None, new: ResourceClaim
    ) -> QueueingHint:
        """A claim lost its allocation, or one of the pod's claims was created or changed status."""
        # the cheap questions first: many pods are asked about each claim
        if not _is_released(old, new) and not (_uses(pod, new) and _has_changed(old, new)):
            return QueueingHint.QUEUE_SKIP
        return QueueingHint.QUEUE if self._are_usable(pod) else QueueingHint.QUEUE_SKIP

    def hint_pod_changed(self, pod: PodInfo, old: Pod | None, new: Pod) -> QueueingHint:
        """The names of the pod's generated claims are known, and all claims can be used."""
        if new.metadata.uid != pod.uid or not self._are_usable(PodInfo(new)):
            return QueueingHint.QUEUE_SKIP
        return QueueingHint.QUEUE

    def _are_usable(self, pod: PodInfo) -> bool:
        try:
            pod_claims(pod, self._claims, of_groups=self._features.of_groups)
        except ClaimProblem:
            return False
        return True

    def events(self) -> Sequence[ClusterEventWithHint]:
        node = ActionType.ADD | ActionType.UPDATE_NODE_LABEL | ActionType.UPDATE_NODE_ALLOCATABLE
        either = ActionType.ADD | ActionType.UPDATE
        generated = ActionType.UPDATE_POD_GENERATED_RESOURCE_CLAIM
        return (
            ClusterEventWithHint(ClusterEvent(Resource.NODE, node)),
            ClusterEventWithHint(
                ClusterEvent(Resource.RESOURCE_CLAIM, either),
                self.hint_claim_changed,
                looks_for="of the pod, or one that loses its allocation,",
            ),
            ClusterEventWithHint(
                ClusterEvent(Resource.POD, generated), self.hint_pod_changed, looks_for=ITSELF
            ),
            ClusterEventWithHint(ClusterEvent(Resource.DEVICE_CLASS, either)),
            ClusterEventWithHint(ClusterEvent(Resource.RESOURCE_SLICE, either)),
        )


def _uses(pod: PodInfo, claim: ResourceClaim) -> bool:
    if claim.metadata.namespace != pod.namespace:
        return False
    return claim.metadata.name in known_claim_names(pod)


def _is_released(old: ResourceClaim | None, new: ResourceClaim) -> bool:
    return old is not None and old.status.allocation is not None and new.status.allocation is None


def _has_changed(old: ResourceClaim | None, new: ResourceClaim) -> bool:
    return old is None or old.status != new.status
