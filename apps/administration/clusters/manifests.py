"""Clusters as YAML: imports and exports all objects of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import yaml
from django.db import transaction

from apps.administration.clusters.owners import Owners
from apps.cluster import kinds
from apps.cluster.custom.versions import all_versions
from apps.cluster.errors import AlreadyExists, ApiError
from apps.cluster.kinds import Kind
from apps.cluster.manifests import (
    MAX_ERRORS,
    ManifestError,
    Numbered,
    custom_kinds,
    describe_skipped,
    raise_all,
    read_manifest,
)
from apps.cluster.models import Cluster
from apps.cluster.quota.room import check_room
from apps.cluster.system_classes import SYSTEM_CLASSES
from apps.cluster.writes import Actor, Create
from apps.cluster.writing import store
from apps.controllers.accounts import ACCOUNT, AUTHORITY
from apps.controllers.endpoints.api_service import API_SERVICE
from apps.controllers.generating import BUILT_IN_NAMESPACES

#: libyaml's dumper, which is ten times as fast, if PyYAML was built with it.
_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

Body = dict[str, Any]
#: Called with the number of objects done, and the total.
Progress = Callable[[int, int], None]

#: Objects per write.
_BATCH = 500
#: Kinds that other objects refer to are created and exported first.
_FIRST = (
    "CustomResourceDefinition",
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


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import."""

    created: list[Body]
    #: A sentence about objects of kinds that the cluster does not serve; "" if there are none.
    skipped: str = ""

    @property
    def summary(self) -> str:
        count = f"{len(self.created):,} {'object' if len(self.created) == 1 else 'objects'} created"
        return f"{count}; {self.skipped}" if self.skipped else count


def ignore_progress(done: int, total: int) -> None:
    """The default for `progress`: does nothing."""


def import_yaml(
    cluster: Cluster, text: str, *, actor: Actor, progress: Progress = ignore_progress
) -> Imported:
    """Create all objects of a YAML stream (Lists are unfolded) in one transaction.

    Kinds that others refer to are created first, otherwise in the order of the file. Built-in
    objects, which every cluster has, are skipped and not returned. Owner references get the uids of
    the created owners. Objects of APIs that the cluster does not serve are skipped and counted,
    unless there is nothing else. Raises ManifestError, which names the document, or ManifestErrors.
    """
    manifest = read_manifest(text)
    if not manifest.documents and not manifest.errors:
        raise ManifestError("the text contains no object")
    check_room(cluster.pk, cluster.resource_version, len(manifest.documents))
    created: list[Body] = []
    owners = Owners(cluster)
    with transaction.atomic():
        for documents in (manifest.definitions, manifest.objects):
            custom = custom_kinds(cluster) if documents else {}
            for batch in _batches(manifest.resolve(documents, custom)):
                new = _create(cluster, batch, actor, owners, manifest.errors)
                owners.add(new)
                created += new
                if len(manifest.errors) >= MAX_ERRORS:
                    break
                progress(len(created), len(manifest.documents))
        raise_all(manifest.errors)
        skipped = describe_skipped(manifest.skipped)
        if manifest.documents and manifest.skipped.total() == len(manifest.documents):
            raise ManifestError(skipped)
    return Imported(created, skipped)


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


def export_yaml(
    cluster: Cluster, *, without: Collection[str] = (), progress: Progress = ignore_progress
) -> str:
    """All objects of a cluster as a YAML stream for `import_yaml`.

    Except events, and those of the kinds whose keys are in `without`.
    """
    bodies = _report(list(_export_bodies(cluster, without)), progress)
    return yaml.dump_all(bodies, Dumper=_Dumper, sort_keys=False, explicit_start=True)


def _report(bodies: Sequence[Body], progress: Progress) -> Iterator[Body]:
    """Pass the bodies through, and report progress once per batch."""
    for number, body in enumerate(bodies):
        if number % _BATCH == 0:
            progress(number, len(bodies))
        yield body
    progress(len(bodies), len(bodies))


def _export_bodies(cluster: Cluster, without: Collection[str]) -> Iterator[Body]:
    stored = {each.kind.key: each.kind for each in all_versions(cluster)}
    for kind in (*sorted(kinds.ALL, key=_rank), *stored.values()):
        if kind is kinds.EVENT or kind.key in without:
            continue
        rows = kind.objects(cluster).order_by("id")
        for body in rows.values_list("body", flat=True):
            metadata = {k: v for k, v in body["metadata"].items() if k not in _SERVER_SET}
            yield {**body, "metadata": metadata}


def _is_in_default(body: Body) -> bool:
    return bool(body["metadata"].get("namespace", "default") == "default")


def _is_built_in(kind: Kind, body: Body) -> bool:
    """Whether every cluster has this object, or its controllers create it."""
    names = {
        kinds.NAMESPACE: BUILT_IN_NAMESPACES,
        kinds.PRIORITY_CLASS: SYSTEM_CLASSES,
        kinds.by_name("Service"): (API_SERVICE,) if _is_in_default(body) else (),
        kinds.by_name("ServiceAccount"): (ACCOUNT,),
        kinds.by_name("ConfigMap"): (AUTHORITY,),
    }
    return body["metadata"].get("name") in names.get(kind, ())


def _get_namespace(kind: Kind, body: Body) -> str:
    """The object's namespace, by default `default`; empty for cluster-scoped kinds."""
    if not kind.namespaced:
        return ""
    return str(body["metadata"].get("namespace") or "default")
