"""Clusters as YAML: imports and exports all objects of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any

import yaml
from django.db import transaction

from apps.cluster import kinds
from apps.cluster.admission.fields import check_fields
from apps.cluster.documents import UnreadableDocument, parse_yaml_stream
from apps.cluster.errors import AlreadyExists, ApiError, BadRequest, Invalid
from apps.cluster.kinds import Kind
from apps.cluster.models import Cluster
from apps.cluster.system_classes import SYSTEM_CLASSES
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store
from apps.controlplane.clusters.generating import API_SERVICE, BUILT_IN_NAMESPACES
from apps.controlplane.clusters.owners import Owners

#: libyaml's dumper, which is ten times as fast, if PyYAML was built with it.
_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

Body = dict[str, Any]
#: position in the file, kind, object
Numbered = tuple[str, Kind, Body]

#: Called with the number of objects done, and the total.
Progress = Callable[[int, int], None]

#: Objects per write.
_BATCH = 500
#: Kinds that other objects refer to are created and exported first.
_FIRST = (
    "Namespace",
    "PriorityClass",
    "RuntimeClass",
    "StorageClass",
    "CSIDriver",
    "Node",
    "CronJob",
    "DaemonSet",
    "Deployment",
    "Job",
    "ReplicationController",
    "StatefulSet",
    "ReplicaSet",
)
_RANK = {name: place for place, name in enumerate(_FIRST)}
#: Metadata that the server sets; left out of exports.
_SERVER_SET = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
    "selfLink",
)


class ManifestError(BadRequest):
    """A document cannot be imported; the message says which one and why."""


class ManifestErrors(BadRequest):
    """Several documents cannot be imported; `errors` has one error for each."""

    def __init__(self, errors: Sequence[ManifestError]) -> None:
        super().__init__("; ".join(error.message for error in errors))
        self.errors = errors


#: At most so many documents are reported.
_MAX_ERRORS = 20


def ignore_progress(done: int, total: int) -> None:
    """The default for `progress`: does nothing."""


def import_yaml(
    cluster: Cluster, text: str, *, actor: Actor, progress: Progress = ignore_progress
) -> list[Body]:
    """Create all objects of a YAML stream (Lists are unfolded) in one transaction.

    Kinds that others refer to are created first, otherwise in the order of the file. Built-in
    objects, which every cluster has, are skipped and not returned. Owner references get the uids of
    the created owners. Raises ManifestError, which names the document, or ManifestErrors.
    """
    numbered, errors = _read_objects(text)
    created: list[Body] = []
    owners = Owners(cluster)
    with transaction.atomic():
        for batch in _batches(numbered):
            new = _create(cluster, batch, actor, owners, errors)
            owners.add(new)
            created += new
            if len(errors) >= _MAX_ERRORS:
                break
            progress(len(created), len(numbered))
        _raise_all(errors)
    return created


def check_yaml(text: str) -> None:
    """Raise ManifestError or ManifestErrors for YAML with unknown kinds or names of fields.

    Values are checked when the objects are created.
    """
    _raise_all(_read_objects(text)[1])


def _read_objects(text: str) -> tuple[list[Numbered], list[ManifestError]]:
    """The objects of a YAML stream, and an error for each document that has none."""
    found: list[Numbered] = []
    errors: list[ManifestError] = []
    for number, document in enumerate(_read_documents(text), start=1):
        try:
            found += _unfold(f"document {number}", document)
        except ManifestError as error:
            errors.append(error)
    return found, errors


def _raise_all(errors: Sequence[ManifestError]) -> None:
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ManifestErrors(errors[:_MAX_ERRORS])


def _batches(numbered: Sequence[Numbered]) -> Iterator[Sequence[Numbered]]:
    """Batches of kinds of the same rank: a batch may refer to the earlier ones."""
    by_rank = groupby(
        sorted(numbered, key=lambda item: _rank(item[1])), lambda item: _rank(item[1])
    )
    for _, same in by_rank:
        items = list(same)
        for start in range(0, len(items), _BATCH):
            yield items[start : start + _BATCH]


def _rank(kind: Kind) -> int:
    return _RANK.get(kind.name, len(_FIRST))


def _create(
    cluster: Cluster,
    numbered: Sequence[Numbered],
    actor: Actor,
    owners: Owners,
    errors: list[ManifestError],
) -> list[Body]:
    """The objects as stored; an error is appended to `errors` for each that is refused."""
    placed = [(kind, body, _get_namespace(kind, body)) for _, kind, body in numbered]
    outcomes = store.write(
        cluster,
        [
            Create(kind, owners.refer(body, namespace), namespace)
            for kind, body, namespace in placed
        ],
        actor=actor,
        collect_refusals=True,
    )
    created: list[Body] = []
    for (place, kind, body), outcome in zip(numbered, outcomes, strict=True):
        if not isinstance(outcome, ApiError):
            created.append(outcome)
        elif not (isinstance(outcome, AlreadyExists) and _is_built_in(kind, body)):
            error = ManifestError(f"{place} ({kind.name}): {outcome.message}")
            error.__cause__ = outcome
            errors.append(error)
    return created


def export_yaml(cluster: Cluster, *, progress: Progress = ignore_progress) -> str:
    """All objects of a cluster, except events, as a YAML stream for `import_yaml`."""
    bodies = _report(list(_export_bodies(cluster)), progress)
    return yaml.dump_all(bodies, Dumper=_Dumper, sort_keys=False, explicit_start=True)


def _report(bodies: Sequence[Body], progress: Progress) -> Iterator[Body]:
    """Pass the bodies through, and report progress once per batch."""
    for number, body in enumerate(bodies):
        if number % _BATCH == 0:
            progress(number, len(bodies))
        yield body
    progress(len(bodies), len(bodies))


def _export_bodies(cluster: Cluster) -> Iterator[Body]:
    for kind in sorted(kinds.ALL, key=_rank):
        if kind is kinds.EVENT:
            continue
        rows = kind.objects(cluster).order_by("id")
        for body in rows.values_list("body", flat=True):
            metadata = {k: v for k, v in body["metadata"].items() if k not in _SERVER_SET}
            yield {**body, "metadata": metadata}


def _read_documents(text: str) -> list[Any]:
    try:
        return list(parse_yaml_stream(text))
    except UnreadableDocument as error:
        raise ManifestError(f"this is not YAML: {error}") from error


def _unfold(place: str, document: Any) -> Iterator[Numbered]:
    if document is None:
        return
    if not isinstance(document, dict):
        raise ManifestError(f"{place}: must be an object with apiVersion and kind")
    name = document.get("kind")
    if isinstance(name, str) and name.endswith("List") and isinstance(document.get("items"), list):
        typed = _item_type(name, document)
        for number, item in enumerate(document["items"]):
            whole = {**typed, **item} if isinstance(item, dict) else item
            yield from _unfold(f"{place}, items[{number}]", whole)
        return
    try:
        kind = kinds.by_api_version(str(document.get("apiVersion")), str(name))
    except KeyError:
        raise ManifestError(
            f"{place}: no kind {name!r} is registered for apiVersion {document.get('apiVersion')!r}"
        ) from None
    if not isinstance(document.get("metadata"), dict):
        raise ManifestError(f"{place} ({kind.name}): metadata: must be an object")
    try:
        check_fields(kind, document)
    except Invalid as error:
        raise ManifestError(f"{place} ({kind.name}): {error.message}") from error
    yield place, kind, document


def _item_type(name: str, document: Body) -> Body:
    """The type of the items of a typed list, such as a PodList, which do not repeat it."""
    kind = name.removesuffix("List")
    return {"kind": kind, "apiVersion": document.get("apiVersion")} if kind else {}


def _is_in_default(body: Body) -> bool:
    return bool(body["metadata"].get("namespace", "default") == "default")


def _is_built_in(kind: Kind, body: Body) -> bool:
    """Whether every new cluster has this object."""
    names = {
        kinds.NAMESPACE: BUILT_IN_NAMESPACES,
        kinds.PRIORITY_CLASS: SYSTEM_CLASSES,
        kinds.by_name("Service"): API_SERVICE if _is_in_default(body) else (),
    }
    return body["metadata"].get("name") in names.get(kind, ())


def _get_namespace(kind: Kind, body: Body) -> str:
    """The object's namespace, by default `default`; empty for cluster-scoped kinds."""
    if not kind.namespaced:
        return ""
    return str(body["metadata"].get("namespace") or "default")
