"""Random clusters with volumes, from a seed: few names and values, so that things meet."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from apps.scheduler.cache.cache import Cache
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.clock import VirtualClock
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import KubeObject, decode
from apps.scheduler.queue.nominator import Nominator
from apps.scheduler.testing.builders import NodeBuilder, PodBuilder, make_node, make_pod
from apps.scheduler.testing.storage import (
    ClaimBuilder,
    VolumeBuilder,
    make_claim,
    make_csi_node,
    make_storage_class,
    make_volume,
)
from tests.scheduler.volume_reference import (
    EBS,
    EBS_DRIVER,
    GCE,
    GCE_DRIVER,
    OLD_ZONE,
    SELECTED,
    ZONE,
)

HOSTNAME = "kubernetes.io/hostname"
NODES = [f"n{number}" for number in range(6)]
VOLUMES = [f"v{number}" for number in range(9)]
CLAIMS = [f"c{number}" for number in range(7)]
PODS = [f"p{number}" for number in range(8)]
ZONES = ("x-y-a", "x-y-b", "x-y-c")
#: only these wait for the first consumer, so that every pod passes PreFilter
CLASSES = ("local", "made", "kept", "gce")
SIZES = ("1Gi", "2Gi", "3Gi")
LISTED = (
    "persistent_volumes",
    "persistent_volume_claims",
    "storage_classes",
    "csi_nodes",
    "csi_drivers",
    "csi_storage_capacities",
    "volume_attachments",
)


class Dice(Random):
    """Draws nodes, storage objects, pods and changes."""

    def odds(self, chance: float) -> bool:
        return self.random() < chance

    def node(self, name: str) -> NodeBuilder:
        node = make_node(name).label(HOSTNAME, name)
        if self.odds(0.8):
            node.label(self.choice([ZONE, ZONE, OLD_ZONE]), self.choice(ZONES))
        for key in ("topology.gke.io/zone", "topology.ebs.csi.aws.com/zone"):
            if self.odds(0.7):
                node.label(key, self.choice(ZONES))
        return node

    def volume(self, name: str) -> KubeObject:
        volume = make_volume(name).holds(self.choice(SIZES)).in_class(self.choice(CLASSES))
        volume.label("tier", self.choice("ab")).phase(self.choice(["Available"] * 5 + ["Bound"]))
        if self.odds(0.3):
            volume.spec(accessModes=["ReadWriteOnce"])
        if self.odds(0.1):
            volume.spec(volumeMode="Block")
        if self.odds(0.1):
            volume.terminating()
        self._source(volume)
        if self.odds(0.3):
            uid = self.choice(["", "default/c1"])
            volume.claimed_by(self.choice(CLAIMS), uid)
        return volume.obj()

    def _source(self, volume: VolumeBuilder) -> None:
        """In-tree volumes name zones by labels, others nodes by affinity."""
        source = self.choice(["csi", "csi", "gce", "ebs", "none"])
        name = volume.body["metadata"]["name"]
        if source in ("gce", "ebs"):
            if self.odds(0.7):
                zones = "__".join(self.sample(ZONES, self.choice([1, 1, 2])))
                volume.label(self.choice([ZONE, OLD_ZONE]), zones)
            if source == "gce":
                volume.spec(gcePersistentDisk={"pdName": self.choice([name, "disk"])})
            else:
                volume.spec(awsElasticBlockStore={"volumeID": self.choice([name, "vol"])})
            return
        if source == "csi":
            handle = self.choice([name, "shared"])
            volume.csi(self.choice([EBS_DRIVER, "made.csi"]), handle)
        self._affinity(volume)

    def _affinity(self, volume: VolumeBuilder) -> None:
        kind = self.choice(["none", "host", "host", "hosts", "zone", "not", "several", "odd"])
        hosts = self.sample(NODES, 2)
        elsewhere = {"key": HOSTNAME, "operator": "NotIn", "values": hosts}
        if kind == "host":
            volume.near(HOSTNAME, hosts[0])
        elif kind == "hosts":
            volume.near(HOSTNAME, *hosts, "gone", hosts[0])
        elif kind == "zone":
            volume.near(ZONE, self.choice(ZONES))
        elif kind == "not":
            volume.affinity({"matchExpressions": [elsewhere]})
        elif kind == "several":
            zoned = {"key": ZONE, "operator": "Exists"}
            volume.affinity({"matchExpressions": [zoned, elsewhere]}, {"matchExpressions": []})
        elif kind == "odd":
            field = {"key": "metadata.name", "operator": "In", "values": [hosts[0]]}
            volume.affinity({"matchFields": [field]})

    def claim(self, name: str) -> KubeObject:
        claim = make_claim(name).asks(self.choice(SIZES)).in_class(self.choice(CLASSES))
        if self.odds(0.2):
            claim.modes(self.choice(["ReadWriteOncePod", "ReadWriteMany"]))
        if self.odds(0.3):
            return claim.bound_to(self.choice([*VOLUMES, "ghost"])).obj()
        self._wishes(claim)
        return claim.obj()

    def _wishes(self, claim: ClaimBuilder) -> None:
        if self.odds(0.2):
            claim.spec(selector={"matchLabels": {"tier": self.choice("ab")}})
        if self.odds(0.1):
            claim.spec(volumeMode="Block")
        if self.odds(0.15):
            claim.annotation(SELECTED, self.choice([*NODES, "gone"]))

    def storage_class(self, name: str) -> KubeObject:
        provisioner = {"local": "kubernetes.io/no-provisioner", "gce": GCE}.get(name, "made.csi")
        if name == "kept":
            provisioner = "kept.csi"
        expressions = [{"key": ZONE, "values": self.sample(ZONES, 2)}]
        terms = [{"matchLabelExpressions": expressions}, {}] if self.odds(0.4) else []
        return make_storage_class(name, provisioner, allowedTopologies=terms)

    def csi_node(self, name: str) -> KubeObject:
        drivers = self.sample([EBS_DRIVER, GCE_DRIVER, "made.csi", "kept.csi"], 3)
        migrated = ",".join(self.sample([EBS, GCE], self.choice([0, 1, 2])))
        limits = {driver: self.choice([0, 1, 2, 3, None]) for driver in drivers}
        return make_csi_node(name, limits, migrated)

    def capacity(self, name: str) -> KubeObject:
        topology = self.choice(
            [
                {"matchLabels": {HOSTNAME: self.choice(NODES)}},
                {"matchLabels": {ZONE: self.choice(ZONES)}},
                {"matchExpressions": [{"key": ZONE, "operator": "DoesNotExist"}]},
                None,
            ]
        )
        body = {"metadata": {"name": name}, "storageClassName": self.choice(CLASSES)}
        body |= {"nodeTopology": topology, "capacity": self.choice(SIZES)}
        if self.odds(0.3):
            body["maximumVolumeSize"] = self.choice(SIZES)
        return decode("CSIStorageCapacity", body)

    def attachment(self, name: str) -> KubeObject:
        source = {"persistentVolumeName": self.choice([*VOLUMES, "ghost"])}
        spec = {"attacher": EBS_DRIVER, "nodeName": self.choice(NODES), "source": source}
        return decode("VolumeAttachment", {"metadata": {"name": name}, "spec": spec})

    def pod(self, name: str, claims: list[str]) -> PodBuilder:
        pod = make_pod(name)
        volumes: list[dict[str, Any]] = [
            {"name": claim, "persistentVolumeClaim": {"claimName": claim}}
            for claim in self.sample(claims, min(len(claims), self.choice([0, 1, 1, 2, 3])))
        ]
        read_only = self.odds(0.5)
        for number in range(self.choice([0, 0, 1, 2])):
            disk = self.choice(
                [
                    {"gcePersistentDisk": {"pdName": "disk", "readOnly": read_only}},
                    {"awsElasticBlockStore": {"volumeID": "vol", "readOnly": read_only}},
                    {"iscsi": {"iqn": self.choice("ab"), "readOnly": read_only}},
                    {"rbd": {"monitors": self.sample("mno", 2), "image": "i"}},
                    {"azureDisk": {"diskURI": "disk"}},
                    {"csi": {"driver": "inline.csi"}},
                ]
            )
            volumes.append({"name": f"disk-{number}", **disk})
        return pod.spec(volumes=volumes)


class Cluster:
    """A cache that changes at random, and a snapshot that follows it."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.cache = Cache()
        self.listers = self.cache.listers
        self.snapshot = Snapshot()
        self.handle = Handle(self.snapshot, self.listers, Nominator(), VirtualClock())
        for name in CLASSES:
            self.listers.storage_classes.put(dice.storage_class(name))
        for driver in ("made.csi", "kept.csi", GCE):
            spec = {"storageCapacity": dice.odds(0.5)}
            self.listers.csi_drivers.put(
                decode("CSIDriver", {"metadata": {"name": driver}, "spec": spec})
            )
        for name in (*NODES[:4], *NODES[:4]):
            self._change_node(name)
        for _ in range(40):
            self.change()
        self.snapshot.update(self.cache)

    def change(self) -> None:
        """One random change of the cluster; the snapshot does not know yet."""
        dice = self.dice
        change = dice.choice(
            [*("volume", "claim", "pod") * 4, "node", "class", "csi node", "capacity", "attachment"]
        )
        listers = self.listers
        if change == "node":
            self._change_node(dice.choice(NODES))
        elif change == "pod":
            self._change_pod(dice.choice(PODS))
        elif change == "volume":
            self._change(listers.persistent_volumes, VOLUMES, dice.volume)
        elif change == "claim":
            self._change(listers.persistent_volume_claims, CLAIMS, dice.claim)
        elif change == "class":
            listers.storage_classes.put(dice.storage_class(dice.choice(CLASSES)))
        elif change == "csi node":
            self._change(listers.csi_nodes, NODES, dice.csi_node)
        elif change == "capacity":
            self._change(listers.csi_storage_capacities, list("stuvw"), dice.capacity)
        else:
            self._change(listers.volume_attachments, list("st"), dice.attachment)

    def _change(self, lister: Any, names: list[str], draw: Any) -> None:
        name = self.dice.choice(names)
        known = next((item for item in lister if item.metadata.name == name), None)
        if known is not None and self.dice.odds(0.3):
            lister.remove(known)
        else:
            lister.put(draw(name))

    def _change_node(self, name: str) -> None:
        known = self.cache.nodes.get(name)
        if known is not None and known.node is not None and self.dice.odds(0.3):
            self.cache.remove_node(name)
        else:
            self.cache.add_node(self.dice.node(name).obj())

    def _change_pod(self, name: str) -> None:
        uid = f"default/{name}"
        if self.cache.find_pod(uid) is not None:
            self.cache.remove_pod(uid)
        else:
            node = self.dice.choice(NODES)
            self.cache.add_pod(self.dice.pod(name, CLAIMS).on(node).info())

    def incoming(self) -> PodInfo:
        """A pod that names only claims which exist."""
        known = [claim.metadata.name for claim in self.listers.persistent_volume_claims]
        return self.dice.pod("incoming", known).info()

    def rows(self) -> list[int]:
        return [int(row) for row in np.flatnonzero(self.snapshot.alive)]
