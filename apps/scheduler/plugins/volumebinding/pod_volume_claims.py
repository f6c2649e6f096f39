"""The claims of a pod: which have a volume, which wait for a node, which wait for a controller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from apps import quantity
from apps.scheduler.cache.listers import Listers
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import PersistentVolumeClaim, Volume
from apps.scheduler.plugins.helper.storage import (
    WAIT_FOR_FIRST_CONSUMER,
    claim_not_created_for,
    claim_not_found,
    class_of_claim,
    is_created_for,
)

#: set on a claim by the controller when claim and volume name each other
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
#: set on a claim by the scheduler: the node for which a volume is to be provisioned
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
_LOST: Final = "Lost"


@dataclass(frozen=True, slots=True)
class PodClaims:
    """In the order of the pod's volumes; a claim that is named twice is included twice."""

    bound: tuple[PersistentVolumeClaim, ...]
    #: without a volume, in a class that waits for the first consumer
    delayed: tuple[PersistentVolumeClaim, ...]
    #: without a volume, which a controller should have provided before the pod is scheduled
    immediate: tuple[PersistentVolumeClaim, ...]

    def clone(self) -> PodClaims:
        return self


def unusable_claim(pod: PodInfo, listers: Listers) -> str:
    """Why the pod cannot run with its claims as they are in the cluster; "" if it can."""
    for volume in pod.pod.spec.volumes:
        name = claim_name(pod, volume)
        if name is None:
            continue
        claim = listers.persistent_volume_claims.get(name, pod.namespace)
        if claim is None and volume.ephemeral is not None:
            return (
                "waiting for ephemeral volume controller to create "
                f'the persistentvolumeclaim "{name}"'
            )
        if claim is None:
            return claim_not_found(name)
        if claim.status.phase == _LOST:
            lost = claim.spec.volume_name
            return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{lost}"'
        if claim.metadata.deletion_timestamp is not None:
            return f'persistentvolumeclaim "{name}" is being deleted'
        if volume.ephemeral is not None and not is_created_for(claim, pod.uid):
            return claim_not_created_for(claim, pod)
    return ""


def pod_claims(pod: PodInfo, listers: Listers) -> PodClaims:
    """The claims in their assumed versions; all of them must exist."""
    bound, delayed, immediate = [], [], []
    for volume in pod.pod.spec.volumes:
        name = claim_name(pod, volume)
        claim = listers.assumed_claims.get(name, pod.namespace) if name is not None else None
        if claim is None:
            continue
        if is_bound(claim):
            bound.append(claim)
        elif not claim.spec.volume_name and waits_for_consumer(claim, listers):
            delayed.append(claim)
        else:
            immediate.append(claim)
    return PodClaims(tuple(bound), tuple(delayed), tuple(immediate))


def claim_name(pod: PodInfo, volume: Volume) -> str | None:
    """The claim that a volume of the pod names, None if it has no claim."""
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    return f"{pod.name}-{volume.name}" if volume.ephemeral is not None else None


def is_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether the binding of claim and volume is completed."""
    return bool(claim.spec.volume_name) and BIND_COMPLETED in claim.metadata.annotations


def selected_node(claim: PersistentVolumeClaim) -> str | None:
    """The node for which the claim's volume is being provisioned."""
    return claim.metadata.annotations.get(SELECTED_NODE)


def requested_storage(claim: PersistentVolumeClaim) -> int:
    """The requested size in 10⁻⁹ bytes, 0 if none."""
    return quantity.parse(claim.spec.resources.requests.get("storage", 0)).nanos


def waits_for_consumer(claim: PersistentVolumeClaim, listers: Listers) -> bool:
    """Whether the class of the claim binds it when a pod with it has a node."""
    storage_class = listers.storage_classes.get(class_of_claim(claim))
    return (
        storage_class is not None and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
    )
