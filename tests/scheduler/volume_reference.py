"""Slow and obvious versions of the volume plugins: one pod, one node, one volume at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from apps import quantity
from apps.scheduler.cache.listers import Listers
from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.labels import from_label_selector
from apps.scheduler.objects import (
    CSINode,
    Node,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    Volume,
)

ZONE, OLD_ZONE = "topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
SELECTED = "volume.kubernetes.io/selected-node"
GCE, EBS = "kubernetes.io/gce-pd", "kubernetes.io/aws-ebs"
GCE_DRIVER, EBS_DRIVER = "pd.csi.storage.gke.io", "ebs.csi.aws.com"


# -- VolumeRestrictions ----------------------------------------------------------------------------


def disks_conflict(mine: Volume, theirs: Volume) -> bool:
    gce, other_gce = mine.gce_persistent_disk, theirs.gce_persistent_disk
    if gce and other_gce and gce.pd_name == other_gce.pd_name:
        return not (gce.read_only and other_gce.read_only)
    ebs, other_ebs = mine.aws_elastic_block_store, theirs.aws_elastic_block_store
    if ebs and other_ebs:
        return ebs.volume_id == other_ebs.volume_id
    iscsi, other_iscsi = mine.iscsi, theirs.iscsi
    if iscsi and other_iscsi and iscsi.iqn == other_iscsi.iqn:
        return not (iscsi.read_only and other_iscsi.read_only)
    rbd, other_rbd = mine.rbd, theirs.rbd
    if rbd and other_rbd and set(rbd.monitors) & set(other_rbd.monitors):
        same = (rbd.pool, rbd.image) == (other_rbd.pool, other_rbd.image)
        return same and not (rbd.read_only and other_rbd.read_only)
    return False


def has_disk_conflict(pod: Pod, here: Iterable[PodInfo]) -> bool:
    return any(
        disks_conflict(mine, theirs)
        for mine in pod.spec.volumes
        for other in here
        for theirs in other.pod.spec.volumes
    )


def exclusive_claims(pod: PodInfo, listers: Listers) -> set[str]:
    claims = (
        listers.persistent_volume_claims.get(name, pod.namespace) for name in named_claims(pod)
    )
    return {
        claim.metadata.name
        for claim in claims
        if claim is not None and "ReadWriteOncePod" in claim.spec.access_modes
    }


def exclusive_claims_in_use(pod: PodInfo, everywhere: Iterable[PodInfo], listers: Listers) -> int:
    in_use = {
        name
        for other in everywhere
        if other.namespace == pod.namespace
        for name in named_claims(other)
    }
    return len(exclusive_claims(pod, listers) & in_use)


def named_claims(pod: PodInfo) -> list[str]:
    """Without those of ephemeral volumes."""
    sources = (volume.persistent_volume_claim for volume in pod.pod.spec.volumes)
    return [source.claim_name for source in sources if source is not None]


# -- VolumeZone ------------------------------------------------------------------------------------


def in_zone(pod: PodInfo, node: Node, listers: Listers) -> bool:
    labels = node.metadata.labels
    if ZONE not in labels and OLD_ZONE not in labels:
        return True
    for name in named_claims(pod):
        claim = listers.persistent_volume_claims.get(name, pod.namespace)
        assert claim is not None
        volume = listers.persistent_volumes.get(claim.spec.volume_name)
        for key in (OLD_ZONE, ZONE):
            if volume is not None and key in volume.metadata.labels:
                zones = volume.metadata.labels[key].split("__")
                if labels.get(key, labels.get(ZONE)) not in zones:
                    return False
    return True


# -- NodeVolumeLimits ------------------------------------------------------------------------------


def is_migrated(plugin: str, csi_node: CSINode | None) -> bool:
    if csi_node is None:
        return False
    return plugin in csi_node.metadata.annotations.get(MIGRATED, "").split(",")


def csi_volume(
    pod: PodInfo, volume: Volume, csi_node: CSINode | None, listers: Listers
) -> tuple[str, str] | None:
    """(driver, handle) of a pod's volume on the node, if it counts there."""
    if volume.gce_persistent_disk and csi_node:
        disk = volume.gce_persistent_disk.pd_name
        return GCE_DRIVER, f"projects/UNSPECIFIED/zones/UNSPECIFIED/disks/{disk}"
    if volume.aws_elastic_block_store and csi_node:
        return EBS_DRIVER, volume.aws_elastic_block_store.volume_id
    claim = claim_of(pod, volume, listers)
    if claim is None:
        return None
    owners = claim.metadata.owner_references
    if volume.ephemeral is not None and not any(owner.uid == pod.uid for owner in owners):
        return None
    bound = listers.persistent_volumes.get(claim.spec.volume_name)
    if bound is not None:
        return csi_of(bound, csi_node)
    storage_class = listers.storage_classes.get(claim.spec.storage_class_name or "")
    if storage_class is None or not storage_class.provisioner:
        return None
    driver = storage_class.provisioner
    if driver in (GCE, EBS):
        if csi_node is None:
            return None
        driver = GCE_DRIVER if driver == GCE else EBS_DRIVER
    return driver, f"unbound {claim.key}"


def csi_of(volume: PersistentVolume, csi_node: CSINode | None) -> tuple[str, str] | None:
    spec = volume.spec
    if spec.csi is not None:
        return spec.csi.driver, spec.csi.volume_handle
    if spec.aws_elastic_block_store and csi_node:
        return EBS_DRIVER, spec.aws_elastic_block_store.volume_id
    if spec.gce_persistent_disk and csi_node:
        labels = volume.metadata.labels
        zones = (labels.get(OLD_ZONE) or labels.get(ZONE, "")).split("__")
        place = f"zones/{zones[0] or 'UNSPECIFIED'}"
        if len(zones) > 1:
            place = f"regions/{zones[0].rpartition('-')[0]}"
        disk = spec.gce_persistent_disk.pd_name
        return GCE_DRIVER, f"projects/UNSPECIFIED/{place}/disks/{disk}"
    return None


def claim_of(pod: PodInfo, volume: Volume, listers: Listers) -> PersistentVolumeClaim | None:
    if volume.persistent_volume_claim is not None:
        name = volume.persistent_volume_claim.claim_name
    elif volume.ephemeral is not None:
        name = f"{pod.name}-{volume.name}"
    else:
        return None
    return listers.persistent_volume_claims.get(name, pod.namespace)


def exceeds_limits(pod: PodInfo, info: NodeInfo, listers: Listers) -> bool:
    csi_node = listers.csi_nodes.get(info.name)
    limits = {
        entry.name: entry.allocatable.count
        for entry in (csi_node.spec.drivers if csi_node is not None else ())
        if entry.allocatable is not None
    }

    def volumes_of(each: PodInfo) -> set[tuple[str, str]]:
        found = (csi_volume(each, v, csi_node, listers) for v in each.pod.spec.volumes)
        return {volume for volume in found if volume is not None}

    in_use = {volume for other in info.pods.values() for volume in volumes_of(other)}
    attached = set(in_use)
    for attachment in listers.volume_attachments:
        name = attachment.spec.source.persistent_volume_name or ""
        volume = listers.persistent_volumes.get(name)
        if attachment.spec.node_name == info.name and volume is not None and volume.spec.csi:
            attached.add((attachment.spec.attacher, volume.spec.csi.volume_handle))
    new = volumes_of(pod) - in_use
    for driver in {driver for driver, _ in new}:
        limit = limits.get(driver)
        used = sum(each[0] == driver for each in attached)
        if limit is not None and used + sum(each[0] == driver for each in new) > limit:
            return True
    return False


# -- VolumeBinding ---------------------------------------------------------------------------------


def requirement_holds(requirement: NodeSelectorRequirement, node: Node) -> bool:
    value = node.metadata.labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
    return value is None


def term_matches(term: NodeSelectorTerm, node: Node) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    return all(requirement_holds(each, node) for each in term.match_expressions)


def reaches(volume: PersistentVolume, node: Node) -> bool:
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return True
    return any(term_matches(term, node) for term in affinity.required.node_selector_terms)


def reaches_by_driver(volume: PersistentVolume, node: Node) -> bool:
    """For an in-tree volume without node affinity: its zone label, asked of the driver's label."""
    key = "topology.gke.io/zone"
    if volume.spec.aws_elastic_block_store is not None:
        key = "topology.ebs.csi.aws.com/zone"
    labels = volume.metadata.labels
    zones = labels.get(ZONE, labels.get(OLD_ZONE))
    return zones is None or node.metadata.labels.get(key) in zones.split("__")


@dataclass
class Binding:
    """What VolumeBinding finds for one pod on one node."""

    reasons: set[str] = field(default_factory=set)
    #: claim -> volume
    bound: dict[str, str] = field(default_factory=dict)
    #: claims for which a volume is made
    made: list[str] = field(default_factory=list)


def binding(pod: PodInfo, node: Node, listers: Listers) -> Binding:
    found = Binding()
    claims = [claim_of(pod, volume, listers) for volume in pod.pod.spec.volumes]
    present = [claim for claim in claims if claim is not None]
    delayed = [claim for claim in present if not claim.spec.volume_name]
    csi_node = listers.csi_nodes.get(node.metadata.name)
    for claim in (claim for claim in present if claim.spec.volume_name):
        volume = listers.persistent_volumes.get(claim.spec.volume_name)
        if volume is None:
            found.reasons.add(
                "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
            )
            break
        in_tree = volume.spec.gce_persistent_disk or volume.spec.aws_elastic_block_store
        plugin = GCE if volume.spec.gce_persistent_disk else EBS
        by_driver = in_tree is not None and is_migrated(plugin, csi_node)
        if not (reaches_by_driver if by_driver else reaches)(volume, node):
            found.reasons.add("node(s) didn't match PersistentVolume's node affinity")
            break
    problem = place(delayed, node, listers, found)
    if problem:
        found.reasons.add(problem)
    return found


def place(claims: list[PersistentVolumeClaim], node: Node, listers: Listers, found: Binding) -> str:
    nothing = "node(s) didn't find available persistent volumes to bind"
    selected = [claim for claim in claims if SELECTED in claim.metadata.annotations]
    if any(claim.metadata.annotations[SELECTED] != node.metadata.name for claim in selected):
        return nothing
    others = [claim for claim in claims if claim not in selected]
    to_make = list(selected)
    chosen: set[str] = set()
    for claim in sorted(others, key=size_of):
        volume = smallest_volume(claim, node, listers, chosen)
        if volume is None:
            to_make.append(claim)
        else:
            chosen.add(volume.metadata.name)
            found.bound[claim.metadata.name] = volume.metadata.name
    for claim in to_make:
        storage_class = listers.storage_classes.get(claim.spec.storage_class_name or "")
        assert storage_class is not None
        if storage_class.provisioner == "kubernetes.io/no-provisioner":
            return nothing
        terms = storage_class.allowed_topologies
        labels = node.metadata.labels
        if terms and not any(
            term.match_label_expressions
            and all(labels.get(each.key) in each.values for each in term.match_label_expressions)
            for term in terms
        ):
            return nothing
        if not has_capacity(claim, storage_class.provisioner, node, listers):
            return "node(s) did not have enough free storage"
        found.made.append(claim.metadata.name)
    return ""


def has_capacity(
    claim: PersistentVolumeClaim, provisioner: str, node: Node, listers: Listers
) -> bool:
    driver = listers.csi_drivers.get(provisioner)
    if driver is None or not driver.spec.storage_capacity:
        return True
    for capacity in listers.csi_storage_capacities:
        limit = capacity.maximum_volume_size or capacity.capacity
        if (
            capacity.storage_class_name == claim.spec.storage_class_name
            and limit is not None
            and quantity.value(limit) * 10**9 >= size_of(claim)
            and from_label_selector(capacity.node_topology).matches(node.metadata.labels)
        ):
            return True
    return False


def size_of(claim: PersistentVolumeClaim) -> int:
    return quantity.parse(claim.spec.resources.requests.get("storage", 0)).nanos


def smallest_volume(
    claim: PersistentVolumeClaim, node: Node, listers: Listers, chosen: set[str]
) -> PersistentVolume | None:
    by_name = sorted(listers.persistent_volumes, key=lambda volume: volume.metadata.name)
    open_to_all = []
    for volume in usable_volumes(claim, by_name, chosen):
        if volume.spec.claim_ref is not None:
            return volume if reaches(volume, node) else None
        if volume.status.phase == "Available" and reaches(volume, node):
            open_to_all.append(volume)
    modes = set(claim.spec.access_modes)
    fitting = [
        volume
        for volume in open_to_all
        if modes <= set(volume.spec.access_modes)
        and (
            claim.spec.selector is None
            or from_label_selector(claim.spec.selector).matches(volume.metadata.labels)
        )
    ]
    return min(fitting, key=capacity_of, default=None)


def usable_volumes(
    claim: PersistentVolumeClaim, volumes: Iterable[PersistentVolume], chosen: set[str]
) -> Iterator[PersistentVolume]:
    """Volumes of the class that are large enough and not another claim's."""
    for volume in volumes:
        reference = volume.spec.claim_ref
        mine = reference is None or (
            (reference.namespace, reference.name) == (claim.metadata.namespace, claim.metadata.name)
            and reference.uid in ("", claim.metadata.uid)
        )
        if (
            mine
            and volume.metadata.name not in chosen
            and volume.spec.storage_class_name == claim.spec.storage_class_name
            and volume.spec.volume_mode == claim.spec.volume_mode
            and capacity_of(volume) >= size_of(claim)
            and volume.metadata.deletion_timestamp is None
        ):
            yield volume


def capacity_of(volume: PersistentVolume) -> int:
    return quantity.parse(volume.spec.capacity.get("storage", 0)).nanos
