"""Clusters as YAML: imports and exports all objects of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar

import yaml
from django.db import transaction

from apps.administration.clusters.identities import Identities, owners_of
from apps.administration.clusters.missing import find_missing
from apps.cluster import kinds
from apps.cluster.custom.versions import stored_kinds
from apps.cluster.errors import AlreadyExists, ApiError
from apps.cluster.kinds import Kind
from apps.cluster.manifests.places import ManifestError, from_refusal
from apps.cluster.manifests.reading import (
    MAX_ERRORS,
    Numbered,
    custom_kinds,
    describe_skipped,
    raise_all,
    read_manifest,
)
from apps.cluster.manifests.text_files import Text
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
#: An object of the text, and its uid.
Planned = tuple[Numbered, str]
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
#: Metadata that says nothing about the object; left out of exports.
_LEFT_OUT = ("resourceVersion", "managedFields", "selfLink")


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import."""

    bodies: list[Body]
    #: the number of skipped objects by kind, as a sentence; empty if there are none
    skipped: str = ""
    #: what was created because objects refer to it, as a sentence; empty if nothing
    added: str = ""

    ANSWER: ClassVar = ("created", "objects", "skipped", "added")

    @property
    def created(self) -> int:
        return len(self.bodies)

    @property
    def objects(self) -> list[str]:
        """Kind namespace/name"""
        return [
            f"{body['kind']} "
            + "/".join(filter(None, (body["metadata"].get("namespace"), body["metadata"]["name"])))
            for body in self.bodies
        ]

    @property
    def summary(self) -> str:
        count = f"{self.created:,} {'object' if self.created == 1 else 'objects'} created"
        return "; ".join(filter(None, (count, self.added, self.skipped)))


def ignore_progress(done: int, total: int) -> None:
    """The default for `progress`: does nothing."""


@dataclass(frozen=True, slots=True)
class Options:
    """How an import treats what it reads."""

    #: Objects existed before: their statuses, times and generations stay.
    restored: bool = True
    #: Objects keep their uids.
    keep_uids: bool = False
    #: What objects refer to has to be in the text or in the cluster; otherwise namespaces,
    #: priority classes, runtime classes and service accounts are added.
    strict: bool = False


def import_texts(
    cluster: Cluster,
    texts: Sequence[Text],
    *,
    actor: Actor,
    options: Options = Options(),  # noqa: B008
    progress: Progress = ignore_progress,
) -> Imported:
    """Create all objects of texts (Lists are unfolded) in one transaction.

    Kinds that others refer to are created first, otherwise in the order of the file. Built-in
    objects, which every cluster has, are skipped and not returned. References among the objects,
    to owners above all, get their new uids. Objects of APIs that the cluster does not serve are
    skipped and counted, unless there is nothing else. Raises ManifestError, which names the
    file, the document and the line, or ManifestErrors.
    """
    manifest = read_manifest(*texts)
    if not manifest.documents and not manifest.errors:
        raise ManifestError("the text contains no object" if texts else "there is no file")
    check_room(cluster.pk, cluster.resource_version, len(manifest.documents))
    created: list[Body] = []
    identities = Identities(cluster, keep=options.keep_uids)

    def create(resolved: Sequence[Numbered]) -> None:
        uids = identities.assign(resolved)
        if options.keep_uids:
            manifest.errors += _find_taken(cluster, resolved, uids)
        for batch in _batches(list(zip(resolved, uids, strict=True))):
            created.extend(_create(cluster, batch, actor, identities, options, manifest.errors))
            if len(manifest.errors) >= MAX_ERRORS:
                break
            progress(len(created), len(manifest.documents))

    with transaction.atomic():
        if definitions := manifest.resolve(manifest.definitions, {}):
            create(definitions)
        objects = manifest.resolve(manifest.objects, custom_kinds(cluster))
        missing = find_missing(cluster, objects)
        if options.strict:
            manifest.errors += missing.errors()
        create([*missing.objects(), *objects])
        raise_all(manifest.errors)
        skipped = describe_skipped(manifest.skipped)
        if manifest.documents and manifest.skipped.total() == len(manifest.documents):
            raise ManifestError(skipped)
    return Imported(created, skipped, missing.describe())


def import_yaml(cluster: Cluster, text: str, **options: Any) -> Imported:
    """`import_texts` of one text."""
    return import_texts(cluster, [Text("", text)], **options)


def _batches(planned: Sequence[Planned]) -> Iterator[Sequence[Planned]]:
    """Batches of kinds of the same rank: a batch may refer to the earlier ones."""
    by_rank = groupby(sorted(planned, key=_rank_of), _rank_of)
    for _, same in by_rank:
        items = list(same)
        for start in range(0, len(items), _BATCH):
            yield items[start : start + _BATCH]


def _rank_of(planned: Planned) -> int:
    return _rank(planned[0][1])


def _rank(kind: Kind) -> int:
    return _RANK.get(kind.name, len(_FIRST))


def _find_taken(
    cluster: Cluster, resolved: Sequence[Numbered], uids: Sequence[str]
) -> Iterator[ManifestError]:
    """An error for each object whose uid another object of the cluster has."""
    owners = owners_of(cluster, uids)
    for (place, kind, body), uid in zip(resolved, uids, strict=True):
        own = (kind.name, _get_namespace(kind, body), body["metadata"].get("name"))
        # an object that exists under the same name is refused for that
        if (owner := owners.get(uid, own)) != own:
            owner_kind, namespace, name = owner
            called = f"{namespace}/{name}" if namespace else name
            problem = f"metadata.uid: {uid} is the uid of the {owner_kind} {called} of the cluster"
            yield ManifestError(problem, place, kind.name)


def _create(
    cluster: Cluster,
    planned: Sequence[Planned],
    actor: Actor,
    identities: Identities,
    options: Options,
    errors: list[ManifestError],
) -> list[Body]:
    """The objects as stored; an error is appended to `errors` for each that is refused."""
    writes: list[Create] = []
    for (_, kind, body), uid in planned:
        namespace = _get_namespace(kind, body)
        moved = identities.translate(body, namespace)
        writes.append(Create(kind, moved, namespace, uid=uid, restored=options.restored))
    outcomes = store.write(cluster, writes, actor=actor, collect_refusals=True)
    created: list[Body] = []
    for ((place, kind, body), _), outcome in zip(planned, outcomes, strict=True):
        if not isinstance(outcome, ApiError):
            created.append(outcome)
        elif not (isinstance(outcome, AlreadyExists) and _is_built_in(kind, body)):
            errors.append(from_refusal(place, kind.name, outcome))
    return created


def export_yaml(
    cluster: Cluster, *, without: Collection[str] = (), progress: Progress = ignore_progress
) -> str:
    """All objects of a cluster as a YAML stream for `import_texts`.

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
    for kind in (*sorted(kinds.ALL, key=_rank), *stored_kinds(cluster)):
        if kind is kinds.EVENT or kind.key in without:
            continue
        rows = kind.objects(cluster).order_by("id")
        for body in rows.values_list("body", flat=True):
            metadata = {k: v for k, v in body["metadata"].items() if k not in _LEFT_OUT}
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
