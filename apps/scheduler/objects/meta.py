"""Metadata of Kubernetes objects, and types that several kinds share."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

#: A resource quantity as written; apps.quantity reads it.
Quantity: TypeAlias = str | int | float
#: resource name ("cpu", "memory", "example.com/gpu") → quantity
ResourceList: TypeAlias = dict[str, Quantity]
Int32: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
#: The label that the Deployment controller sets on its pods.
POD_TEMPLATE_HASH = "pod-template-hash"
#: An RFC 3339 time ("2026-01-02T03:04:05Z"), kept as text.
Time: TypeAlias = str


class KubeStruct(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False, omit_defaults=True
):
    """Base of all the types here: immutable, camelCase in JSON, unknown fields are ignored.

    `gc=False`: the values form a tree, so the cycle collector can skip them.
    `omit_defaults`: encoding results in a Kubernetes body of the declared fields.
    """


class OwnerReference(KubeStruct, frozen=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(KubeStruct, frozen=True):
    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: Int64 = 0
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    deletion_grace_period_seconds: Int64 | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages the object."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None

    @property
    def workload(self) -> str:
        """The controller of a pod, "Job/import"; "" without one.

        For a pod of a Deployment, the Deployment and not its ReplicaSet, whose name ends with the
        hash that the pod has as a label.
        """
        for owner in self.owner_references:
            if owner.controller:
                template = self.labels.get(POD_TEMPLATE_HASH)
                if owner.kind == "ReplicaSet" and template:
                    deployment = owner.name.removesuffix(f"-{template}")
                    if deployment != owner.name:
                        return f"Deployment/{deployment}"
                return f"{owner.kind}/{owner.name}"
        return ""


class KubeObject(KubeStruct, frozen=True):
    """A top-level object: something with metadata."""

    metadata: ObjectMeta = ObjectMeta()

    @property
    def key(self) -> str:
        """ "namespace/name", or only the name of a cluster-scoped object."""
        meta = self.metadata
        return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name


class LabelSelectorRequirement(KubeStruct, frozen=True):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(KubeStruct, frozen=True):
    """Both parts must match. An absent selector (None) and an empty one mean different things."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class NodeSelectorRequirement(KubeStruct, frozen=True):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class NodeSelectorTerm(KubeStruct, frozen=True):
    """All requirements must hold; a term without any matches no node."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(KubeStruct, frozen=True):
    """A node matches when it matches one of the terms."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class TopologySelectorLabelRequirement(KubeStruct, frozen=True):
    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(KubeStruct, frozen=True):
    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()


class ObjectReference(KubeStruct, frozen=True):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""


class LocalObjectReference(KubeStruct, frozen=True):
    name: str = ""


class TypedLocalObjectReference(KubeStruct, frozen=True):
    api_group: str | None = None
    kind: str = ""
    name: str = ""


class Condition(KubeStruct, frozen=True):
    """A status condition of a pod, a node or any other object."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: Int64 = 0
    last_probe_time: Time | None = None
    last_heartbeat_time: Time | None = None
    last_transition_time: Time | None = None
