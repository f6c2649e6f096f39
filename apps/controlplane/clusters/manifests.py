"""Clusters as YAML: import many objects at once, export all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import yaml
from django.db import transaction

from apps.cluster import kinds
from apps.cluster.documents import UnreadableDocument, parse_yaml_stream
from apps.cluster.errors import AlreadyExists, ApiError, BadRequest
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster
from apps.cluster.system_classes import SYSTEM_CLASSES
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store
from apps.controlplane.clusters.generating import BUILT_IN_NAMESPACES

#: libyaml's, ten times as fast, where PyYAML was built with it.
_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

Body = dict[str, Any]
#: where it stands in the file, its kind, the object
Numbered = tuple[str, Kind, Body]

#: Called with how much is done, and of how much.
Told = Callable[[int, int], None]

#: Objects of one write.
_BATCH = 500
#: Objects that others need to be there are created first, and exported first.
_FIRST = ("Namespace", "PriorityClass", "RuntimeClass", "StorageClass", "CSIDriver", "Node")
#: Made by the server itself; a file that exports a cluster does not carry them.
_SERVER_SET = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
    "selfLink",
)


class ManifestError(BadRequest):
    """A document that cannot be imported; the message says which one and why."""


def untold(done: int, total: int) -> None:
    """For those who need not know."""


def import_yaml(
    cluster: Cluster, text: str, *, actor: Actor, progress: Told = untold
) -> list[Body]:
    """Create every object of a YAML stream (Lists are unfolded), or none of them.

    Kinds that others refer to go first, and otherwise the file's order is kept. What every
    cluster is made with stays as it is, and is not among the objects returned. Raises
    ManifestError naming the document.
    """
    numbered = list(_objects(text))
    first = [item for item in numbered if item[1].name in _FIRST]
    others = [item for item in numbered if item[1].name not in _FIRST]
    created: list[Body] = []
    with transaction.atomic():
        for batch in (*_batches(first), *_batches(others)):
            created += _create(cluster, batch, actor)
            progress(len(created), len(numbered))
    return created


def _batches(numbered: Sequence[Numbered]) -> Iterator[Sequence[Numbered]]:
    for start in range(0, len(numbered), _BATCH):
        yield numbered[start : start + _BATCH]


def _create(cluster: Cluster, numbered: Sequence[Numbered], actor: Actor) -> list[Body]:
    outcomes = store.write(
        cluster,
        [Create(kind, body, _namespace(kind, body)) for _, kind, body in numbered],
        actor=actor,
        collect_refusals=True,
    )
    return [
        _created(place, kind, outcome)
        for (place, kind, body), outcome in zip(numbered, outcomes, strict=True)
        if not (isinstance(outcome, AlreadyExists) and _is_built_in(kind, body))
    ]


def export_yaml(cluster: Cluster, *, progress: Told = untold) -> str:
    """Every object of a cluster as a YAML stream that `import_yaml` reads."""
    bodies = _told(list(_exported(cluster)), progress)
    return yaml.dump_all(bodies, Dumper=_Dumper, sort_keys=False, explicit_start=True)


def _told(bodies: Sequence[Body], progress: Told) -> Iterator[Body]:
    for number, body in enumerate(bodies):
        if number % _BATCH == 0:
            progress(number, len(bodies))
        yield body
    progress(len(bodies), len(bodies))


def _exported(cluster: Cluster) -> Iterator[Body]:
    rank = {name: place for place, name in enumerate(_FIRST)}
    for kind in sorted(kinds.ALL, key=lambda kind: rank.get(kind.name, len(_FIRST))):
        if kind is kinds.EVENT:
            continue
        rows = kind.model._default_manager.filter(cluster=cluster).order_by("id")
        for body in rows.values_list("body", flat=True):
            metadata = {k: v for k, v in body["metadata"].items() if k not in _SERVER_SET}
            yield {**body, "metadata": metadata}


def _objects(text: str) -> Iterator[Numbered]:
    try:
        documents = list(parse_yaml_stream(text))
    except UnreadableDocument as error:
        raise ManifestError(f"this is not YAML: {error}") from error
    for number, document in enumerate(documents, start=1):
        if document is not None:
            yield from _unfold(f"document {number}", document)


def _unfold(place: str, document: Any) -> Iterator[Numbered]:
    if not isinstance(document, dict):
        raise ManifestError(f"{place}: an object with apiVersion and kind is expected")
    name = document.get("kind")
    if isinstance(name, str) and name.endswith("List") and isinstance(document.get("items"), list):
        for number, item in enumerate(document["items"]):
            yield from _unfold(f"{place}, items[{number}]", item)
        return
    try:
        kind = kinds.by_api_version(str(document.get("apiVersion")), str(name))
    except KeyError:
        raise ManifestError(
            f"{place}: no kind {name!r} in apiVersion {document.get('apiVersion')!r}"
        ) from None
    if not isinstance(document.get("metadata"), dict):
        raise ManifestError(f"{place} ({kind.name}): metadata: an object is required")
    yield place, kind, document


def _created(place: str, kind: Kind, outcome: Body | ApiError) -> Body:
    if isinstance(outcome, ApiError):
        raise ManifestError(f"{place} ({kind.name}): {outcome.message}") from outcome
    return outcome


def _is_built_in(kind: Kind, body: Body) -> bool:
    """Whether every cluster has this object from the beginning."""
    names = {kinds.NAMESPACE: BUILT_IN_NAMESPACES, kinds.PRIORITY_CLASS: SYSTEM_CLASSES}
    return body["metadata"].get("name") in names.get(kind, ())


def _namespace(kind: Kind, body: Body) -> str:
    """The namespace an object without one goes to."""
    if not kind.namespaced:
        return ""
    return str(body["metadata"].get("namespace") or "default")
