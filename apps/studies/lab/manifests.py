"""Reads the objects that a request gives, with the API's own defaults, admission and validation."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from apps.cluster import kinds, limits
from apps.cluster.admission.draft import draft_of
from apps.cluster.errors import ApiError, BadRequest, RequestEntityTooLarge
from apps.cluster.kinds import Kind
from apps.cluster.manifests.places import from_refusal
from apps.cluster.manifests.reading import (
    Manifest,
    describe_skipped,
    raise_all,
    read_manifest,
)
from apps.cluster.manifests.text_files import Text
from apps.cluster.merge_patch import merge
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor
from apps.cluster.writing import creation
from apps.cluster.writing.admitted_specs import AdmittedSpecs
from apps.cluster.writing.memory import AdmissionState, read_admission_state
from apps.scheduler import objects
from apps.scheduler.cache.listers import Listers
from apps.scheduler.objects import KubeObject, Node, Pod

Body = dict[str, Any]

_READ: Final = frozenset(Listers().by_kind)
#: Kinds that pods refer to, in order, and where a state of admission has them.
_FIRST: Final = {
    "Namespace": "namespaces",
    "PriorityClass": "priority_classes",
    "RuntimeClass": "runtime_classes",
}


@dataclass(slots=True)
class Manifests:
    """The objects of a request, by what a simulation does with them."""

    pods: list[Pod] = field(default_factory=list)
    #: added, or in place of a node of this name
    nodes: list[Node] = field(default_factory=list)
    #: (kind, object) of others that the scheduler reads
    others: list[tuple[str, KubeObject]] = field(default_factory=list)


def read_manifests(
    cluster: Cluster,
    given: str | Sequence[Mapping[str, Any]],
    *,
    nodes: Mapping[str, Node],
    copies: int = 1,
    user: str = "",
) -> Manifests:
    """The objects of a YAML stream or of a list; pods of workloads in place of these.

    A node of `nodes` is changed: what is given is merged into it. Of each pod there are `copies`.
    Raises an ApiError that names the document and the field, BadRequest for kinds that are not
    known. ResourceQuotas do not count.
    """
    manifest = _read(given)
    resolved = manifest.resolve(manifest.documents, {})
    located = isinstance(given, str)
    raise_all(manifest.errors, located=located)
    if manifest.skipped:
        raise BadRequest(f"objects: {describe_skipped(manifest.skipped)}")
    reader = _Reader(read_admission_state(cluster.name), Actor(user), nodes)
    for place, kind, body in sorted(resolved, key=lambda each: _rank(each[1])):
        try:
            reader.read(kind, body, copies)
        except ApiError as error:
            raise_all([from_refusal(place, kind.name, error)], located=located)
    return reader.manifests


def _read(given: str | Sequence[Mapping[str, Any]]) -> Manifest:
    if not isinstance(given, str):
        given = "\n".join(msgspec.json.encode(each).decode() for each in given)
    return read_manifest(Text("objects", given))


def _rank(kind: Kind) -> int:
    return [*_FIRST].index(kind.name) if kind.name in _FIRST else len(_FIRST)


class _Reader:
    """Admits one object after the other; later ones may refer to earlier ones."""

    def __init__(self, state: AdmissionState, actor: Actor, nodes: Mapping[str, Node]) -> None:
        self.manifests = Manifests()
        # new nodes are ready: without controllers they get no taint that these would remove
        self._state = dataclasses.replace(state, controllers=False)
        self._actor = actor
        self._nodes = dict(nodes)
        self._specs = AdmittedSpecs()

    def read(self, kind: Kind, body: Body, copies: int) -> None:
        if kind is kinds.POD:
            self._check_room(copies)
            for number in range(copies):
                self._add_pod(_copy(body, number, copies))
        elif kind.replicas:
            self._add_workload(kind, body, copies)
        elif kind is kinds.NODE:
            self._add_node(body)
        elif kind.name in _READ or kind.name in _FIRST:
            admitted = self._admit(kind, body)
            self._add_other(kind, admitted)
            self._note(kind, admitted)
        else:
            raise BadRequest("the scheduler does not read objects of this kind")

    def _check_room(self, pods: int) -> None:
        if not limits.LAB_PODS.admits(len(self.manifests.pods) + pods):
            most = limits.LAB_PODS.highest
            raise RequestEntityTooLarge(f"a simulation takes {most:,} pods at most")

    def _add_pod(self, body: Body) -> None:
        admitted = self._admit(kinds.POD, body)
        if admitted["spec"].get("nodeName"):
            raise BadRequest("spec.nodeName: a pod that has a node is not scheduled")
        pod: Pod = objects.decode_as(Pod, admitted)
        self.manifests.pods.append(pod)

    def _add_workload(self, kind: Kind, body: Body, copies: int) -> None:
        """The pods that the workload's controller would create."""
        admitted = self._admit(kind, body)
        self._add_other(kind, admitted)
        metadata, spec = admitted["metadata"], admitted["spec"]
        count = int(spec.get(kind.replicas, 1)) * copies
        self._check_room(count)
        for number in range(count):
            template = spec["template"]
            owner = {
                "apiVersion": kind.api_version,
                "kind": kind.name,
                "name": metadata["name"],
                "uid": metadata["uid"],
                "controller": True,
            }
            self._add_pod(
                {
                    "metadata": {
                        **(template.get("metadata") or {}),
                        "name": f"{metadata['name'][:240]}-{number}",
                        "namespace": metadata["namespace"],
                        "ownerReferences": [owner],
                    },
                    "spec": template["spec"],
                }
            )

    def _add_other(self, kind: Kind, admitted: Body) -> None:
        if kind.name in _READ:
            self.manifests.others.append((kind.name, objects.decode(kind.name, admitted)))

    def _add_node(self, body: Body) -> None:
        """A new node, or a known one with what is given merged into it."""
        name = str((body.get("metadata") or {}).get("name", ""))
        known = self._nodes.get(name)
        if known is not None:
            body = merge(msgspec.json.decode(msgspec.json.encode(known)), body)
        node: Node = objects.decode_as(Node, self._admit(kinds.NODE, body))
        self._nodes[node.metadata.name] = node
        self.manifests.nodes.append(node)

    def _admit(self, kind: Kind, body: Body) -> Body:
        """The object as the API would store it."""
        shaped = draft_of(kind.name, {**body, "apiVersion": kind.api_version, "kind": kind.name})
        namespace = "default" if kind.namespaced else ""
        namespace = (shaped.get("metadata") or {}).get("namespace") or namespace
        prepared = creation.prepare(
            kind, shaped, namespace, state=self._state, actor=self._actor, specs=self._specs
        )
        return prepared.body

    def _note(self, kind: Kind, body: Body) -> None:
        """Let later objects refer to this one."""
        if (attribute := _FIRST.get(kind.name)) is not None:
            known = {**getattr(self._state, attribute), body["metadata"]["name"]: body}
            changes: dict[str, Any] = {attribute: known, "identity": object()}
            self._state = dataclasses.replace(self._state, **changes)


def _copy(body: Body, number: int, copies: int) -> Body:
    """One of several copies of a pod: its name ends with its number, from 0."""
    metadata = body.get("metadata") or {}
    if copies == 1 or not metadata.get("name"):
        return body
    return {**body, "metadata": {**metadata, "name": f"{metadata['name']}-{number}"}}
