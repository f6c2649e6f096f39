"""ControllerRevisions: the history of the templates of a StatefulSet or a DaemonSet.

`kubectl rollout history` lists them, and `kubectl rollout undo` applies the data of one as a
strategic merge patch.

A pod carries the key of the revision that it was created from in the label
`controller-revision-hash`: for a StatefulSet the revision's name, for a DaemonSet its hash.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.writes import Create, Delete
from apps.controllers.cache import ControllerCache, Ref, owner_reference
from apps.controllers.controller import Concerns, Step
from apps.controllers.workloads.ownership import claim_objects
from apps.controllers.workloads.templates import (
    REVISION_LABEL,
    is_same_template,
    template_hash,
)
from apps.controllers.writes import update_object
from apps.scheduler.objects import KubeObject

Body = dict[str, Any]

KIND: Final = "ControllerRevision"
#: The label of a StatefulSet's revision that has its hash.
_HASH_LABEL: Final = "controller.kubernetes.io/hash"
_REVISIONS: Final = kinds.by_name(KIND)
_DEFAULT_LIMIT: Final = 10


def map_revisions(kind: str) -> Concerns:
    """Map a deleted or adopted revision to the workload of this kind that it belongs to."""

    def refs_for_revision(
        _: ControllerCache, old: KubeObject | None, new: KubeObject | None
    ) -> list[Ref]:
        if old is None or (
            new is not None and new.metadata.owner_references == old.metadata.owner_references
        ):
            return []
        owners = (new or old).metadata.owner_references
        return [(kind, old.metadata.namespace, each.name) for each in owners if each.kind == kind]

    return refs_for_revision


def current_key(cache: ControllerCache, workload: Body) -> str:
    """The key of the revision with the current template, which may have to be created.

    A workload without revisions whose status is that of its spec has the revision that its status
    names: it comes from another cluster, without them.
    """
    template = workload["spec"]["template"]
    history = _revisions(cache, workload)
    for revision in reversed(history):
        if is_same_template(revision["data"]["spec"]["template"], template):
            return _key(workload, revision)
    status, generation = workload.get("status") or {}, workload["metadata"].get("generation")
    named = status.get("updateRevision")
    if named and not history and status.get("observedGeneration") == generation:
        return str(named)
    digest = template_hash(template)
    return f"{workload['metadata']['name']}-{digest}" if _has_names(workload) else digest


def keep_history(
    cache: ControllerCache, workload: Body, key: str, used: Collection[str]
) -> Iterator[Step]:
    """Give the current template the highest revision, and delete the oldest beyond the limit.

    `key` is its key, `used` are those of existing pods; their revisions are kept. Revisions that
    another workload has left are adopted first.
    """
    claimed = list(claim_objects(cache, KIND, workload))
    if claimed:
        yield from claimed
        return
    history = _revisions(cache, workload)
    highest = max((each["revision"] for each in history), default=0)
    current = next((each for each in history if _key(workload, each) == key), None)
    if current is None:
        yield _new_revision(workload, key, highest + 1)
    elif current["revision"] < highest:
        yield _renumber(current, highest + 1)
    limit = workload["spec"].get("revisionHistoryLimit", _DEFAULT_LIMIT)
    old = [each for each in history if _key(workload, each) not in {key, *used}]
    for each in old[: max(len(old) - limit, 0)]:
        metadata = each["metadata"]
        yield Delete(_REVISIONS, metadata["namespace"], metadata["name"])


def at_revision(cache: ControllerCache, workload: Body, key: str) -> Body:
    """The workload with the template of the revision with this key, if that is kept."""
    for revision in _revisions(cache, workload):
        if _key(workload, revision) == key:
            template = {**revision["data"]["spec"]["template"]}
            template.pop("$patch", None)
            return {**workload, "spec": {**workload["spec"], "template": template}}
    return workload


def _revisions(cache: ControllerCache, workload: Body) -> list[Body]:
    """The revisions of the workload, oldest first."""
    owned = cache.owned_by(workload["metadata"]["uid"])
    bodies = [cache.body(ref) for ref in owned if ref[0] == KIND]
    return sorted((body for body in bodies if body is not None), key=lambda b: int(b["revision"]))


def _has_names(workload: Body) -> bool:
    """Whether pods carry the names of revisions, not their hashes."""
    return bool(workload["kind"] == "StatefulSet")


def _key(workload: Body, revision: Body) -> str:
    metadata: Body = revision["metadata"]
    if _has_names(workload):
        return str(metadata["name"])
    return str((metadata.get("labels") or {}).get(REVISION_LABEL, ""))


def _new_revision(workload: Body, key: str, number: int) -> Create:
    metadata, template = workload["metadata"], workload["spec"]["template"]
    digest = key.removeprefix(f"{metadata['name']}-")
    label = _HASH_LABEL if _has_names(workload) else REVISION_LABEL
    labels = {**((template.get("metadata") or {}).get("labels") or {}), label: digest}
    body = {
        "metadata": {
            "name": f"{metadata['name']}-{digest}",
            "labels": labels,
            "annotations": dict(metadata.get("annotations") or {}),
            "ownerReferences": [owner_reference(workload)],
        },
        "data": {"spec": {"template": {**template, "$patch": "replace"}}},
        "revision": number,
    }
    return Create(_REVISIONS, body, metadata["namespace"])


def _renumber(revision: Body, number: int) -> Step:
    metadata = revision["metadata"]
    ref = KIND, metadata["namespace"], metadata["name"]
    return update_object(ref, metadata["uid"], lambda body: {**body, "revision": number})
