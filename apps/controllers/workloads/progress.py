"""The conditions of a Deployment: Available and Progressing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from apps.cluster.writing.metadata import timestamp
from apps.controllers.controller import Requeue, parse_time
from apps.controllers.workloads.replicas import REPLICA_FAILURE

Body = dict[str, Any]

COMPLETE: Final = "NewReplicaSetAvailable"
_TIMED_OUT: Final = "ProgressDeadlineExceeded"
#: Reasons that are written before the counts of a status are.
_FIRST: Final = ("DeploymentPaused", "DeploymentResumed", "NewReplicaSetCreated")
#: Counts of a status that a rollout changes, and whether it increases them.
_PROGRESS: Final = ("updatedReplicas", "readyReplicas", "availableReplicas")


def conditions(
    deployment: Body,
    status: Mapping[str, Any],
    new: Body | None,
    sets: Sequence[Body],
    now: datetime,
    *,
    enough: bool,
) -> list[Body]:
    """The conditions that follow from the counts of `status`; `new` is the current set.

    One that changes becomes the last.
    """
    available = _condition(
        deployment,
        "Available",
        "True" if enough else "False",
        "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        f"Deployment {'has' if enough else 'does not have'} minimum availability.",
        now,
    )
    progressing = _progressing(deployment, status, new, now)
    found = [available, *([] if progressing is None else [progressing])]
    if progressing is not None and progressing["reason"] in _FIRST:
        found.reverse()
    found += _replica_failure(deployment, sets if new is None else [new, *sets], now)
    known = (deployment.get("status") or {}).get("conditions") or []
    # a renewed one may be equal to what it was before
    unchanged = {id(each) for each in found}
    kept = [each for each in known if id(each) in unchanged]
    last = {id(each) for each in kept}
    return [*kept, *(each for each in found if id(each) not in last)]


def _replica_failure(deployment: Body, sets: Sequence[Body], now: datetime) -> list[Body]:
    """The condition ReplicaFailure of the first of these sets that has it."""
    for each in sets:
        for condition in (each.get("status") or {}).get("conditions") or ():
            if condition["type"] == REPLICA_FAILURE:
                copied = {**condition, "lastUpdateTime": timestamp(now)}
                before = _existing_condition(deployment, REPLICA_FAILURE)
                same = all(before.get(key) == condition[key] for key in ("status", "reason"))
                return [before if same else copied]
    return []


def deadline(deployment: Body, listed: list[Body]) -> Iterator[Requeue]:
    """Reconcile again when a rollout without progress exceeds its deadline."""
    for each in listed:
        waits = each["type"] == "Progressing" and each["status"] == "True"
        if waits and each["reason"] != COMPLETE:
            end = _timeout(deployment, each)
            yield from [] if end is None else [Requeue(end)]


def _progressing(
    deployment: Body, status: Mapping[str, Any], new: Body | None, now: datetime
) -> Body | None:
    before = _existing_condition(deployment, "Progressing")
    if deployment["spec"].get("paused"):
        if before.get("reason") == _TIMED_OUT:
            return before
        why = ("DeploymentPaused", "Deployment is paused")
        return _condition(deployment, "Progressing", "Unknown", *why, now)
    if new is None:
        return before or None
    name = f'ReplicaSet "{new["metadata"]["name"]}"'
    state = (before.get("status"), before.get("reason"))
    if _is_complete(deployment, status):
        why = (COMPLETE, f"{name} has successfully progressed.")
        return _condition(deployment, "Progressing", "True", *why, now)
    if state == ("True", COMPLETE) and before.get("message", "").startswith(name):
        # a completed rollout stays complete, even if pods are lost later
        return before
    if state[1] == "DeploymentPaused":
        why = ("DeploymentResumed", "Deployment is resumed")
        return _condition(deployment, "Progressing", "Unknown", *why, now)
    if before and _has_progressed(deployment, status):
        why = ("ReplicaSetUpdated", f"{name} is progressing.")
        return _condition(deployment, "Progressing", "True", *why, now, renewed=True)
    if not before or state[1] == COMPLETE:
        why = ("NewReplicaSetCreated", f"Created new replica set {name.split()[1]}")
        return _condition(deployment, "Progressing", "True", *why, now, renewed=True)
    end = _timeout(deployment, before)
    if end is not None and now >= end:
        why = (_TIMED_OUT, f"{name} has timed out progressing.")
        return _condition(deployment, "Progressing", "False", *why, now)
    return before


def _is_complete(deployment: Body, status: Mapping[str, Any]) -> bool:
    wanted = deployment["spec"].get("replicas", 1)
    counts = ("replicas", "updatedReplicas", "availableReplicas")
    return all((status.get(name) or 0) == wanted for name in counts)


def _has_progressed(deployment: Body, status: Mapping[str, Any]) -> bool:
    before = deployment.get("status") or {}

    def count(of: Mapping[str, Any], name: str) -> int:
        return of.get(name) or 0

    old = [count(each, "replicas") - count(each, "updatedReplicas") for each in (before, status)]
    return old[1] < old[0] or any(count(status, each) > count(before, each) for each in _PROGRESS)


def _timeout(deployment: Body, progressing: Body) -> datetime | None:
    seconds = deployment["spec"].get("progressDeadlineSeconds")
    since = progressing.get("lastUpdateTime")
    # the largest integer means no deadline
    if seconds is None or seconds >= 2**31 - 1 or not since:
        return None
    return parse_time(since) + timedelta(seconds=seconds)


def _existing_condition(deployment: Body, kind: str) -> Body:
    listed = (deployment.get("status") or {}).get("conditions") or []
    return next((each for each in listed if each["type"] == kind), {})


def _condition(
    deployment: Body,
    kind: str,
    status: str,
    reason: str,
    message: str,
    now: datetime,
    *,
    renewed: bool = False,
) -> Body:
    """A condition; lastTransitionTime changes with its status, lastUpdateTime also if renewed."""
    before = _existing_condition(deployment, kind)
    unchanged = (before.get("status"), before.get("reason")) == (status, reason)
    if unchanged and not renewed and before.get("message") == message:
        return before
    same = before.get("status") == status
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastUpdateTime": timestamp(now),
        "lastTransitionTime": before["lastTransitionTime"] if same else timestamp(now),
    }
