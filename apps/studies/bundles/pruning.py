"""What a decision can have read of the objects of its state; a bundle leaves out the rest.

It is an assumption about plugins. `building` proves it for each bundle: it decides again in the
pruned state, and keeps everything if the result differs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from apps.scheduler.decision import Decision
from apps.scheduler.framework.resources import has_counted_status
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import KubeObject
from apps.scheduler.plugins.image_locality import image_names
from apps.studies.bundles.tables import Document
from apps.studies.rebuilding.earlier import uses_claims

_WORKLOADS: Final = frozenset({"Service", "ReplicationController", "ReplicaSet", "StatefulSet"})
_VOLUMES: Final = frozenset(
    {
        "PersistentVolume",
        "PersistentVolumeClaim",
        "StorageClass",
        "CSINode",
        "CSIDriver",
        "CSIStorageCapacity",
        "VolumeAttachment",
    }
)
_DEVICES: Final = frozenset({"ResourceSlice", "ResourceClaim"})
_WORD: Final = re.compile(r"[A-Za-z0-9_./-]+")
#: Labels by which nodes are visited and spread by default.
_ZONES: Final = frozenset(
    {
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "kubernetes.io/hostname",
    }
)
_NODE_STATUS: Final = ("allocatable", "declaredFeatures")
_POD_SPEC: Final = ("overhead", "priority", "resources", "hostNetwork")
_CONTAINER: Final = ("restartPolicy",)


class Pruning:
    """What is retained for the decision about one pod."""

    def __init__(self, pod: PodInfo, decision: Decision, configuration: str) -> None:
        self._pod = pod
        self._volumes = bool(pod.mounts or pod.claim_names)
        self._devices = uses_claims(pod.pod)
        #: preemption compares the pods that it could evict
        self._preempts = not decision.node
        preemption = decision.post_filter
        candidates = preemption.candidates if preemption is not None else ()
        #: "namespace/name" of pods that the record names
        self._named = {key for each in candidates for key in each.victims}
        self._words = _ZONES | frozenset(_WORD.findall(configuration))
        self._images = frozenset(image_names(pod.pod))

    def read_words(self, documents: Collection[Any]) -> None:
        """Retain labels whose keys occur in these documents."""
        self._words |= frozenset(word for each in documents for word in _strings(each))

    def has_kind(self, kind: str) -> bool:
        """Whether objects of this kind are retained."""
        if kind in _VOLUMES:
            return self._volumes
        if kind in _DEVICES:
            return self._devices
        if kind == "PodDisruptionBudget":
            return self._preempts
        return kind != "PriorityClass"

    def has_object(self, kind: str, item: KubeObject) -> bool:
        """Whether an object of a retained kind is retained."""
        if kind in _WORKLOADS or kind == "PodGroup":
            return item.metadata.namespace == self._pod.namespace
        return True

    def prune_object(self, kind: str, document: Document) -> Document:
        """Of a workload its selector, of a namespace its labels; of other objects everything."""
        meta = _pick(document.get("metadata", {}), ("name", "namespace", "labels"))
        if kind in _WORKLOADS:
            return _clean(
                {"metadata": meta, "spec": _pick(document.get("spec", {}), ("selector",))}
            )
        return {"metadata": meta} if kind == "Namespace" else document

    def prune_node(self, document: Document) -> Document:
        """A node without what no plugin in the tree reads."""
        meta, status = document["metadata"], document.get("status", {})
        images = [each for each in status.get("images", ()) if self._names_image(each)]
        return _clean(
            {
                "metadata": {"name": meta["name"], "labels": self._labels(meta)},
                "spec": _pick(document.get("spec", {}), ("unschedulable", "taints")),
                "status": {**_pick(status, _NODE_STATUS), "images": images},
            }
        )

    def has_image(self, name: str) -> bool:
        """Whether the pod uses the image with this name."""
        return name in self._images

    def prune_pod(self, pod: PodInfo, document: Document, *, names: bool) -> Document:
        """A pod on a node without what no plugin in the tree reads; `names`: with its name."""
        meta, spec, status = (document.get(key, {}) for key in ("metadata", "spec", "status"))
        affinity = _pick(spec.get("affinity", {}), ("podAffinity", "podAntiAffinity"))
        metadata = {
            **_pick(meta, ("namespace", "deletionTimestamp")),
            "labels": self._labels(meta),
        }
        if names or pod.key in self._named or self._devices or self._volumes:
            metadata["name"] = meta["name"]
        if self._volumes:
            metadata["uid"] = meta["uid"]
        is_resized = has_counted_status(pod.pod)
        optional: tuple[str, ...] = _POD_SPEC
        optional += ("volumes",) * self._volumes + ("resourceClaims",) * self._devices
        optional += ("preemptionPolicy",) * self._preempts + ("schedulingGroup",)
        pruned: Document = {**_pick(spec, optional), "affinity": affinity}
        for key in ("containers", "initContainers"):
            if is_resized:
                pruned[key] = spec.get(key)
            elif spec.get(key):
                pruned[key] = [self._prune_container(each) for each in spec[key]]
        return _clean(
            {
                "metadata": metadata,
                "spec": pruned,
                "status": status if is_resized else self._prune_status(status),
            }
        )

    def _prune_status(self, status: Mapping[str, Any]) -> Document:
        if not self._preempts:
            return {}
        conditions = [
            _pick(each, ("type", "status", "reason"))
            for each in status.get("conditions", ())
            if each.get("type") == "DisruptionTarget"
        ]
        return _clean({**_pick(status, ("startTime",)), "conditions": conditions})

    def _prune_container(self, container: Mapping[str, Any]) -> Document:
        resources = _pick(container.get("resources", {}), ("requests",))
        ports = [each for each in container.get("ports", ()) if each.get("hostPort")]
        if not self._pod.host_ports:
            ports = []
        return _clean({**_pick(container, _CONTAINER), "resources": resources, "ports": ports})

    def _labels(self, meta: Mapping[str, Any]) -> Document:
        return {key: value for key, value in meta.get("labels", {}).items() if key in self._words}

    def _names_image(self, image: Mapping[str, Any]) -> bool:
        return any(map(self.has_image, image.get("names", ())))


def _strings(value: Any) -> Iterator[str]:
    """Every string in a document, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from _strings(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _strings(item)


def _pick(document: Mapping[str, Any], keys: Collection[str]) -> Document:
    return {key: document[key] for key in keys if key in document}


def _clean(document: Document) -> Document:
    """The document without empty parts, which mean the same as absent ones here."""
    return {key: value for key, value in document.items() if value not in ({}, [], (), None)}
