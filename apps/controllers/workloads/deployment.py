"""Deployments: a ReplicaSet for each template, and a rollout from the old ones to the new one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import chain
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.errors import ApiError
from apps.cluster.writes import Create, Delete
from apps.controllers.cache import ControllerCache, Ref, controller_refs, owner_reference
from apps.controllers.controller import Controller, ReportedWrite, Step, scaled_value
from apps.controllers.events.writer import PendingEvent
from apps.controllers.workloads import progress
from apps.controllers.workloads.ownership import adopters, claim_objects, map_object
from apps.controllers.workloads.templates import is_same_template, template_hash
from apps.controllers.writes import is_unfinished, object_reference, set_status, update_object
from apps.scheduler.objects import KubeObject
from apps.scheduler.objects.meta import POD_TEMPLATE_HASH

Body = dict[str, Any]
_KIND: Final = "Deployment"
_REPLICA_SET: Final = kinds.by_name("ReplicaSet")
_REVISION: Final = "deployment.kubernetes.io/revision"
_HISTORY: Final = "deployment.kubernetes.io/revision-history"
#: The replicas of the deployment when the set was scaled, without and with the surge.
_DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
_MOST: Final = "deployment.kubernetes.io/max-replicas"
_NOT_COPIED: Final = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        "deprecated.deployment.rollback.to",
        _REVISION,
        _HISTORY,
        _DESIRED,
        _MOST,
    }
)
USER: Final = "deployment-controller"


def refs_for_replica_set(
    cache: ControllerCache, old: KubeObject | None, new: KubeObject | None
) -> Iterable[Ref]:
    replica_set = new or old
    assert replica_set is not None
    owners = controller_refs(replica_set, (_KIND,))
    if owners or new is None or new.metadata.controller is not None:
        return owners
    return adopters(cache, new, (_KIND,))


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    deployment = cache.body(ref)
    if deployment is None:
        return
    if not deployment["metadata"].get("deletionTimestamp"):
        claimed = list(claim_objects(cache, "ReplicaSet", deployment))
        if claimed:
            # they count once the change is observed
            yield from claimed
            return
    sets = _replica_sets(cache, deployment)
    new = _current_set(deployment, sets)
    old = [each for each in sets if each is not new]
    if not deployment["metadata"].get("deletionTimestamp"):
        if new is not None:
            yield from _renumber(ref, deployment, new, old)
        if deployment["spec"].get("paused") or _is_scaled(deployment, sets):
            yield from _spread(deployment, new, old)
        elif _is_recreate(deployment):
            yield from _recreate(cache, deployment, new, old)
        elif new is None:
            yield _new_replica_set(deployment, old)
        else:
            yield from _roll(deployment, new, old)
        if new is not None:
            yield from _delete_old_sets(deployment, old)
    yield from _report(ref, deployment, new, sets, now)


def _replica_sets(cache: ControllerCache, deployment: Body) -> list[Body]:
    """The ReplicaSets of the deployment, oldest first."""
    owned = cache.owned_by(deployment["metadata"]["uid"])
    bodies = [cache.body(ref) for ref in owned if ref[0] == "ReplicaSet"]
    return sorted((body for body in bodies if body is not None), key=_revision)


def _current_set(deployment: Body, sets: Sequence[Body]) -> Body | None:
    """The oldest ReplicaSet with the deployment's template, whoever named it."""
    template = deployment["spec"]["template"]
    same = (each for each in sets if is_same_template(each["spec"]["template"], template))
    return min(same, key=_creation, default=None)


def _renumber(ref: Ref, deployment: Body, new: Body, old: Sequence[Body]) -> Iterator[Step]:
    """Give the current set the highest revision; after a rollback, a new one.

    It also gets the annotations and the minReadySeconds of the deployment.
    """
    revision = max(_revision(new), max(map(_revision, old), default=0) + 1)
    seconds = deployment["spec"].get("minReadySeconds") or None

    def change(body: Body) -> Body:
        return _set_min_ready_seconds(
            seconds, _set_revision(revision, _annotated(deployment, body))
        )

    if change(new) != new:
        yield update_object(_ref(new), new["metadata"]["uid"], change)
    if _revision(deployment) != revision:
        yield update_object(ref, deployment["metadata"]["uid"], partial(_set_revision, revision))


def _annotated(deployment: Body, replica_set: Body) -> Body:
    """The set with the annotations of the deployment, but those that are its own."""
    given = deployment["metadata"].get("annotations") or {}
    copied = {name: value for name, value in given.items() if name not in _NOT_COPIED}
    metadata = replica_set["metadata"]
    annotations = {**(metadata.get("annotations") or {}), **copied}
    return {**replica_set, "metadata": {**metadata, "annotations": annotations}}


def _set_revision(revision: int, body: Body) -> Body:
    """The object with this revision; a set keeps its previous ones."""
    metadata = body["metadata"]
    annotations = dict(metadata.get("annotations") or {})
    before = annotations.get(_REVISION)
    if before == str(revision):
        return body
    if before and body["kind"] == "ReplicaSet":
        past = annotations.get(_HISTORY)
        annotations[_HISTORY] = f"{past},{before}" if past else before
    annotations[_REVISION] = str(revision)
    return {**body, "metadata": {**metadata, "annotations": annotations}}


def _set_min_ready_seconds(seconds: int | None, body: Body) -> Body:
    spec = {name: value for name, value in body["spec"].items() if name != "minReadySeconds"}
    return {**body, "spec": {**spec, **({"minReadySeconds": seconds} if seconds else {})}}


def _new_replica_set(deployment: Body, old: Sequence[Body]) -> ReportedWrite:
    template, metadata = deployment["spec"]["template"], deployment["metadata"]
    digest = template_hash(template)
    given = template.get("metadata") or {}
    labels = {**(given.get("labels") or {}), POD_TEMPLATE_HASH: digest}
    selector = deployment["spec"].get("selector") or {}
    matching = {**(selector.get("matchLabels") or {}), POD_TEMPLATE_HASH: digest}
    revision = max(map(_revision, old), default=0) + 1
    body: Body = {
        "metadata": {
            "name": f"{metadata['name']}-{digest}",
            "labels": labels,
            "annotations": {_REVISION: str(revision), **_sizes(deployment)},
            "ownerReferences": [owner_reference(deployment)],
        },
        "spec": {
            "replicas": _new_size(deployment, 0, old),
            "selector": {**selector, "matchLabels": matching},
            "template": {**template, "metadata": {**given, "labels": labels}},
        },
    }
    if seconds := deployment["spec"].get("minReadySeconds"):
        body["spec"]["minReadySeconds"] = seconds
    body = _annotated(deployment, body)
    subject = object_reference(deployment)

    def on_success(body: Body) -> PendingEvent | None:
        return _scale_event(deployment, body, 0, _size(body)) if _size(body) else None

    def on_failure(refusal: ApiError) -> PendingEvent:
        name = f"{metadata['name']}-{digest}"
        note = f'Failed to create new replica set "{name}": {refusal.message}'
        return PendingEvent(subject, "ReplicaSetCreateError", note, USER, warning=True)

    return ReportedWrite(Create(_REPLICA_SET, body, metadata["namespace"]), on_success, on_failure)


def _is_scaled(deployment: Body, sets: Sequence[Body]) -> bool:
    """Whether the number of replicas has changed since its sets with pods were scaled."""
    wanted = str(deployment["spec"].get("replicas", 1))
    known = [_annotation(each, _DESIRED) for each in sets if _size(each)]
    return any(each not in ("", wanted) for each in known)


def _spread(deployment: Body, new: Body | None, old: Sequence[Body]) -> Iterator[Step]:
    """Scale the sets to a new number of replicas, without going on with the rollout."""
    wanted = deployment["spec"].get("replicas", 1)
    sets = [*old, *([] if new is None else [new])]
    active = [each for each in sets if _size(each)]
    if len(active) <= 1:
        for each in active or sets[-1:]:
            if _size(each) != wanted:
                yield _scale(deployment, each, wanted)
    elif new is not None and _is_saturated(deployment, new):
        yield from (_scale(deployment, each, 0) for each in old if _size(each))
    elif not _is_recreate(deployment):
        allowed = wanted + _limits(deployment)[0] if wanted else 0
        added = allowed - sum(map(_size, active))
        for each, size in _proportions(deployment, active, added):
            if size != _size(each) or _sizes(deployment).items() - _annotations(each).items():
                yield _scale(deployment, each, size)


def _is_saturated(deployment: Body, new: Body) -> bool:
    wanted = deployment["spec"].get("replicas", 1)
    is_known = _annotation(new, _DESIRED) == str(wanted)
    return is_known and _size(new) == wanted == _available(new)


def _proportions(deployment: Body, sets: Sequence[Body], added: int) -> list[tuple[Body, int]]:
    """The sizes of sets to which `added` pods are given in proportion, the largest first.

    Of equal ones, the newest set gets more, and the oldest one loses more; the largest takes what
    rounding leaves.
    """
    newest_first = sorted(sets, key=_creation, reverse=added > 0)
    ordered = sorted(newest_first, key=_size, reverse=True)
    changes: list[int] = []
    for each in ordered:
        left = added - sum(changes)
        share = _share(deployment, each)
        changes.append(min(share, left) if added > 0 else max(share, left))
    changes[0] += added - sum(changes)
    return [
        (each, max(_size(each) + change, 0)) for each, change in zip(ordered, changes, strict=True)
    ]


def _share(deployment: Body, replica_set: Body) -> int:
    """By how much a set grows in proportion to the deployment, with its surge."""
    wanted, size = deployment["spec"].get("replicas", 1), _size(replica_set)
    if not wanted:
        return -size
    before = _annotation(replica_set, _MOST)
    most = int(before) if before.isdecimal() else (deployment.get("status") or {}).get("replicas")
    if not most:
        return 0
    # halves are rounded up, as in Go
    return int((2 * size * (wanted + _limits(deployment)[0]) + most) // (2 * most)) - size


def _recreate(
    cache: ControllerCache, deployment: Body, new: Body | None, old: Sequence[Body]
) -> Iterator[Step]:
    """Scale the old sets down; when their pods have ended, create the new one."""
    shrinking = [each for each in old if _size(each)]
    if shrinking:
        yield from (_scale(deployment, each, 0) for each in shrinking)
    elif any(map(is_unfinished, chain(*(cache.pods_of(each["metadata"]["uid"]) for each in old)))):
        return
    elif new is None:
        yield _new_replica_set(deployment, old)
    elif _size(new) != deployment["spec"].get("replicas", 1):
        yield _scale(deployment, new, deployment["spec"].get("replicas", 1))


def _roll(deployment: Body, new: Body, old: Sequence[Body]) -> Iterator[Step]:
    """Scale the new set up and the old ones down, within maxSurge and maxUnavailable."""
    size = _new_size(deployment, _size(new), old)
    if size != _size(new):
        yield _scale(deployment, new, size)
        return
    yield from _shrink(deployment, new, old)


def _new_size(deployment: Body, current: int, old: Sequence[Body]) -> int:
    """The number of pods that the new set may have now."""
    wanted = deployment["spec"].get("replicas", 1)
    if current >= wanted or _is_recreate(deployment):
        return int(wanted)
    surge, _ = _limits(deployment)
    room = wanted + surge - current - sum(map(_size, old))
    return int(min(current + max(room, 0), wanted))


def _shrink(deployment: Body, new: Body, old: Sequence[Body]) -> Iterator[Step]:
    """Scale the old sets down: first by their pods that are not available, then by others."""
    least = deployment["spec"].get("replicas", 1) - _limits(deployment)[1]
    # pods of the new set that are not available yet count as missing
    room = sum(map(_size, (new, *old))) - least - (_size(new) - _available(new))
    if not sum(map(_size, old)) or room <= 0:
        return
    sizes: list[tuple[Body, int]] = []
    for each in sorted(old, key=_creation):
        broken = min(max(_size(each) - _available(each), 0), room)
        room -= broken
        sizes.append((each, _size(each) - broken))
        if broken:
            yield _scale(deployment, each, _size(each) - broken)
    spare = sum(map(_available, (new, *old))) - least
    for each, size in sizes:
        taken = min(size, max(spare, 0))
        spare -= taken
        if taken:
            yield _scale(deployment, each, size - taken, before=size)


def _delete_old_sets(deployment: Body, old: Sequence[Body]) -> Iterator[Step]:
    """Delete old sets without pods beyond revisionHistoryLimit."""
    empty = [each for each in old if not _size(each) and not (each.get("status") or {})["replicas"]]
    limit = deployment["spec"].get("revisionHistoryLimit", 10)
    for each in empty[: max(len(empty) - limit, 0)]:
        metadata = each["metadata"]
        yield Delete(_REPLICA_SET, metadata["namespace"], metadata["name"])


def _limits(deployment: Body) -> tuple[int, int]:
    """(maxSurge, maxUnavailable) as numbers of pods."""
    rolling = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    wanted = deployment["spec"].get("replicas", 1)
    surge = scaled_value(rolling.get("maxSurge", "25%"), wanted)
    missing = scaled_value(rolling.get("maxUnavailable", "25%"), wanted, round_up=False)
    # one of them must be positive, otherwise no rollout makes progress
    return surge, missing if surge or missing else 1


def _scale(
    deployment: Body, replica_set: Body, size: int, *, before: int | None = None
) -> ReportedWrite:
    """Set the size of a set; `before` if an earlier step has changed it."""

    def change(body: Body) -> Body:
        metadata = body["metadata"]
        annotations = {**(metadata.get("annotations") or {}), **_sizes(deployment)}
        spec = {**body["spec"], "replicas": size}
        return {**body, "metadata": {**metadata, "annotations": annotations}, "spec": spec}

    write = update_object(_ref(replica_set), replica_set["metadata"]["uid"], change)
    before = _size(replica_set) if before is None else before
    if size == before:
        return ReportedWrite(write, lambda _: None)
    event = _scale_event(deployment, replica_set, before, size)
    return ReportedWrite(write, lambda _: event)


def _sizes(deployment: Body) -> dict[str, str]:
    """The annotations of a set that say for which number of replicas it was scaled."""
    wanted = deployment["spec"].get("replicas", 1)
    surge = 0 if _is_recreate(deployment) else _limits(deployment)[0]
    return {_DESIRED: str(wanted), _MOST: str(wanted + surge)}


def _scale_event(deployment: Body, replica_set: Body, before: int, size: int) -> PendingEvent:
    way, name = "up" if size > before else "down", replica_set["metadata"]["name"]
    note = f"Scaled {way} replica set {name} from {before} to {size}"
    return PendingEvent(object_reference(deployment), "ScalingReplicaSet", note, USER)


def _ref(replica_set: Body) -> Ref:
    metadata = replica_set["metadata"]
    return "ReplicaSet", metadata["namespace"], metadata["name"]


def _report(
    ref: Ref, deployment: Body, new: Body | None, sets: Sequence[Body], now: datetime
) -> Iterator[Step]:
    def total(field: str) -> int:
        return sum((each.get("status") or {}).get(field, 0) for each in sets)

    wanted = deployment["spec"].get("replicas", 1)
    replicas, available = total("replicas"), total("availableReplicas")
    updated = ((new or {}).get("status") or {}).get("replicas", 0)
    enough = available >= wanted - (0 if _is_recreate(deployment) else _limits(deployment)[1])
    status: Body = {
        "observedGeneration": deployment["metadata"].get("generation"),
        "replicas": replicas or None,
        "updatedReplicas": updated or None,
        "readyReplicas": total("readyReplicas") or None,
        "availableReplicas": available or None,
        "unavailableReplicas": max(sum(map(_size, sets)) - available, 0) or None,
        "terminatingReplicas": total("terminatingReplicas"),
    }
    listed = progress.conditions(deployment, status, new, sets, now, enough=enough)
    yield set_status(ref, deployment["metadata"]["uid"], {**status, "conditions": listed})
    yield from progress.deadline(deployment, listed)


def _is_recreate(deployment: Body) -> bool:
    return (deployment["spec"].get("strategy") or {}).get("type") == "Recreate"


def _size(replica_set: Body) -> int:
    return int(replica_set["spec"].get("replicas", 1))


def _available(replica_set: Body) -> int:
    return int((replica_set.get("status") or {}).get("availableReplicas", 0))


def _annotations(body: Body) -> Body:
    return body["metadata"].get("annotations") or {}


def _annotation(body: Body, name: str) -> str:
    return str(_annotations(body).get(name, ""))


def _creation(body: Body) -> tuple[str, str]:
    return body["metadata"]["creationTimestamp"], body["metadata"]["name"]


def _revision(body: Body) -> int:
    text = _annotation(body, _REVISION)
    return int(text) if text.isdecimal() else 0


CONTROLLER = Controller(
    name="deployments",
    user=USER,
    concerns={_KIND: map_object(_KIND), "ReplicaSet": refs_for_replica_set},
    reconcile=reconcile,
)
