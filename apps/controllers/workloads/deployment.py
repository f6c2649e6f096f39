"""Deployments: a ReplicaSet for each template, and a rollout from the old ones to the new one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.errors import ApiError
from apps.cluster.writes import Create, Delete
from apps.controllers.cache import ControllerCache, Ref, controller_refs, owner_reference
from apps.controllers.controller import Controller, ReportedWrite, Step, scaled_value
from apps.controllers.events.writer import PendingEvent
from apps.controllers.workloads import progress
from apps.controllers.workloads.ownership import map_object
from apps.controllers.workloads.templates import is_same_template, template_hash
from apps.controllers.writes import object_reference, set_status, update_object
from apps.scheduler.objects import KubeObject
from apps.scheduler.objects.meta import POD_TEMPLATE_HASH

Body = dict[str, Any]
_REPLICA_SET: Final = kinds.by_name("ReplicaSet")
_REVISION: Final = "deployment.kubernetes.io/revision"
_HISTORY: Final = "deployment.kubernetes.io/revision-history"
USER: Final = "deployment-controller"


def refs_for_replica_set(
    _: ControllerCache, old: KubeObject | None, new: KubeObject | None
) -> Iterable[Ref]:
    replica_set = new or old
    assert replica_set is not None
    return controller_refs(replica_set, ("Deployment",))


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    deployment = cache.body(ref)
    if deployment is None:
        return
    sets = _replica_sets(cache, deployment)
    new = _current_set(deployment, sets)
    old = [each for each in sets if each is not new]
    if not deployment["metadata"].get("deletionTimestamp"):
        if deployment["spec"].get("paused"):
            pass
        elif new is None:
            yield _new_replica_set(deployment, old)
        else:
            yield from _renumber(ref, deployment, new, old)
            yield from _roll(deployment, new, old)
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
    return min(same, key=lambda each: str(each["metadata"]["creationTimestamp"]), default=None)


def _renumber(ref: Ref, deployment: Body, new: Body, old: Sequence[Body]) -> Iterator[Step]:
    """Give the current set the highest revision; after a rollback, a new one."""
    revision = max(_revision(new), max(map(_revision, old), default=0) + 1)
    if _revision(new) and revision != _revision(new):
        yield update_object(_ref(new), new["metadata"]["uid"], partial(_set_revision, revision))
    seconds = deployment["spec"].get("minReadySeconds") or None
    if new["spec"].get("minReadySeconds") != seconds:
        yield update_object(
            _ref(new), new["metadata"]["uid"], partial(_set_min_ready_seconds, seconds)
        )
    if _revision(deployment) != revision:
        yield update_object(ref, deployment["metadata"]["uid"], partial(_set_revision, revision))


def _set_revision(revision: int, body: Body) -> Body:
    """The object with this revision; a set keeps its previous ones."""
    metadata = body["metadata"]
    annotations = dict(metadata.get("annotations") or {})
    before = annotations.get(_REVISION)
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
            "annotations": {_REVISION: str(revision)},
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
    subject = object_reference(deployment)

    def on_success(body: Body) -> PendingEvent | None:
        return _scale_event(deployment, body, 0, _size(body)) if _size(body) else None

    def on_failure(refusal: ApiError) -> PendingEvent:
        name = f"{metadata['name']}-{digest}"
        note = f'Failed to create new replica set "{name}": {refusal.message}'
        return PendingEvent(subject, "ReplicaSetCreateError", note, USER, warning=True)

    return ReportedWrite(Create(_REPLICA_SET, body, metadata["namespace"]), on_success, on_failure)


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
    if current >= wanted:
        return int(wanted)
    if _is_recreate(deployment):
        present = any((each.get("status") or {}).get("replicas") for each in old)
        return int(current if present else wanted)
    surge, _ = _limits(deployment)
    room = wanted + surge - current - sum(map(_size, old))
    return int(min(current + max(room, 0), wanted))


def _shrink(deployment: Body, new: Body, old: Sequence[Body]) -> Iterator[Step]:
    """Scale the old sets down, first pods that are not available."""
    if _is_recreate(deployment):
        yield from (_scale(deployment, each, 0) for each in old if _size(each))
        return
    wanted = deployment["spec"].get("replicas", 1)
    least = wanted - _limits(deployment)[1]
    # pods of the new set that are not available yet count as missing
    spare = sum(map(_size, (new, *old))) - least - (_size(new) - _available(new))
    for each in old:
        broken = min(max(_size(each) - _available(each), 0), max(spare, 0))
        rest = max(min(spare - broken, _size(each) - broken), 0)
        taken = min(broken + rest, _size(each))
        if taken > 0:
            spare -= taken
            yield _scale(deployment, each, _size(each) - taken)


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


def _scale(deployment: Body, replica_set: Body, size: int) -> ReportedWrite:
    def change(body: Body) -> Body:
        metadata = body["metadata"]
        counted = {**metadata, "generation": metadata.get("generation", 0) + 1}
        return {**body, "metadata": counted, "spec": {**body["spec"], "replicas": size}}

    write = update_object(_ref(replica_set), replica_set["metadata"]["uid"], change)
    event = _scale_event(deployment, replica_set, _size(replica_set), size)
    return ReportedWrite(write, lambda _: event)


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
        "unavailableReplicas": max(wanted - available, 0) or None,
    }
    listed = progress.conditions(deployment, status, new, now, enough=enough)
    yield set_status(ref, deployment["metadata"]["uid"], {**status, "conditions": listed})
    yield from progress.deadline(deployment, listed)


def _is_recreate(deployment: Body) -> bool:
    return (deployment["spec"].get("strategy") or {}).get("type") == "Recreate"


def _size(replica_set: Body) -> int:
    return int(replica_set["spec"].get("replicas", 1))


def _available(replica_set: Body) -> int:
    return int((replica_set.get("status") or {}).get("availableReplicas", 0))


def _revision(body: Body) -> int:
    text = (body["metadata"].get("annotations") or {}).get(_REVISION, "0")
    return int(text) if text.isdecimal() else 0


CONTROLLER = Controller(
    name="deployments",
    user=USER,
    concerns={"Deployment": map_object("Deployment"), "ReplicaSet": refs_for_replica_set},
    reconcile=reconcile,
)
