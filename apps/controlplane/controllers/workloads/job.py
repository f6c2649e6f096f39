"""Jobs: pods until enough of them have succeeded, or too many have failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.writes import Create, Delete
from apps.cluster.writing.metadata import timestamp
from apps.controlplane.controllers.controller import Controller, Later, Reported, Step, moment
from apps.controlplane.controllers.workloads.ownership import of_object, of_pods, own_pods
from apps.controlplane.controllers.workloads.templates import new_pod
from apps.controlplane.controllers.world import Ref, World
from apps.controlplane.controllers.writes import (
    about,
    create_told,
    delete_told,
    is_active,
    is_ready,
    set_status,
)
from apps.controlplane.events.writer import Told
from apps.scheduler.objects import Pod

Body = dict[str, Any]
KIND: Final = "Job"
USER: Final = "job-controller"
#: Seconds, as upstream.
FIRST_PAUSE: Final = 10
LONGEST_PAUSE: Final = 600
INDEX: Final = "batch.kubernetes.io/job-completion-index"


@dataclass(frozen=True, slots=True)
class _Count:
    """The pods of a job by what became of them."""

    active: Sequence[Pod]
    succeeded: Sequence[Pod]
    failed: int


def reconcile(world: World, ref: Ref, now: datetime) -> Iterator[Step]:
    job = world.body(ref)
    if job is None or job["metadata"].get("deletionTimestamp"):
        return
    if _finished(job):
        yield from _expire(ref, job, now)
        return
    pods = own_pods(world, job)
    count = _Count(
        [pod for pod in pods if is_active(pod)],
        [pod for pod in pods if pod.status.phase == "Succeeded"],
        sum(pod.status.phase == "Failed" for pod in pods),
    )
    outcome = _outcome(job, count, now)
    if outcome is not None or job["spec"].get("suspend"):
        for pod in count.active:
            yield delete_told(job, pod, USER)
    else:
        pause = _pause_ends(pods, now)
        if pause is not None:
            yield Later(pause)
        for step in _fill(job, count):
            if pause is None or not isinstance(step.write, Create):
                yield step
        deadline = _deadline(job)
        if deadline is not None:
            yield Later(deadline)
    yield from _report(ref, job, count, outcome, now)


def _pause_ends(pods: Sequence[Pod], now: datetime) -> datetime | None:
    """When a job may start pods again after its last failure; None: now.

    Ten seconds after the first failure since the last success, twice as long after each further.
    """
    ended = [(_ended_at(pod, now), pod.status.phase) for pod in pods if not is_active(pod)]
    success = max((at for at, phase in ended if phase == "Succeeded"), default=None)
    failures = [
        at for at, phase in ended if phase == "Failed" and (success is None or at > success)
    ]
    if not failures:
        return None
    seconds = min(FIRST_PAUSE * 2 ** min(len(failures) - 1, 32), LONGEST_PAUSE)
    end = max(failures) + timedelta(seconds=seconds)
    return end if end > now else None


def _ended_at(pod: Pod, now: datetime) -> datetime:
    changes = [each.last_transition_time for each in pod.status.conditions]
    times = [text for text in (*changes, pod.status.start_time) if text]
    return max(map(moment, times), default=now)


def _outcome(job: Body, count: _Count, now: datetime) -> tuple[str, str, str] | None:
    """(condition, reason, message) of a job that is over; None while it is not."""
    spec = job["spec"]
    deadline = _deadline(job)
    if count.failed > spec.get("backoffLimit", 6):
        return "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"
    if deadline is not None and now >= deadline:
        return "Failed", "DeadlineExceeded", "Job was active longer than specified deadline"
    wanted = spec.get("completions")
    done = len(_indexes(count.succeeded)) if _is_indexed(job) else len(count.succeeded)
    # without a number, any success is enough once the others have ended too
    ended = bool(count.succeeded) and not count.active
    complete = ended if wanted is None else done >= wanted
    if complete:
        return "Complete", "CompletionsReached", "Reached expected number of succeeded pods"
    return None


def _fill(job: Body, count: _Count) -> Iterator[Reported]:
    """Start as many pods as may run side by side, and as are still needed."""
    spec, wanted = job["spec"], job["spec"].get("completions")
    parallel = spec.get("parallelism", 1)
    if wanted is None:
        room = 0 if count.succeeded else parallel - len(count.active)
    elif _is_indexed(job):
        taken = _indexes(count.active) | _indexes(count.succeeded)
        free = [index for index in range(wanted) if index not in taken]
        for index in free[: max(parallel - len(count.active), 0)]:
            text = str(index)
            member = new_pod(job, labels={INDEX: text}, annotations={INDEX: text})
            yield create_told(job, member, USER)
        return
    else:
        room = min(parallel, wanted - len(count.succeeded)) - len(count.active)
    for _ in range(max(room, 0)):
        yield create_told(job, new_pod(job), USER)
    for pod in count.active[len(count.active) + min(room, 0) :] if room < 0 else ():
        yield delete_told(job, pod, USER)


def _deadline(job: Body) -> datetime | None:
    seconds = job["spec"].get("activeDeadlineSeconds")
    since = (job.get("status") or {}).get("startTime")
    if seconds is None or not since or job["spec"].get("suspend"):
        return None
    return moment(since) + timedelta(seconds=min(seconds, 10**9))


def _expire(ref: Ref, job: Body, now: datetime) -> Iterator[Step]:
    """A finished job goes after its time to live, with its pods."""
    seconds = job["spec"].get("ttlSecondsAfterFinished")
    ended = _finished(job)
    if seconds is None or ended is None:
        return
    end = moment(ended) + timedelta(seconds=min(seconds, 10**9))
    if now < end:
        yield Later(end)
        return
    options = {"propagationPolicy": "Background"}
    yield Delete(kinds.by_name(KIND), ref[1], ref[2], options)


def _finished(job: Body) -> str | None:
    """When the job ended; None while it has not."""
    for each in (job.get("status") or {}).get("conditions") or ():
        if each["type"] in ("Complete", "Failed") and each["status"] == "True":
            return str(each["lastTransitionTime"])
    return None


def _report(
    ref: Ref, job: Body, count: _Count, outcome: tuple[str, str, str] | None, now: datetime
) -> Iterator[Step]:
    before, suspended = job.get("status") or {}, bool(job["spec"].get("suspend"))
    active = [] if outcome or suspended else count.active
    status: Body = {
        "active": len(active) or None,
        "ready": sum(map(is_ready, active)),
        "succeeded": len(count.succeeded) or None,
        "failed": count.failed or None,
        "startTime": before.get("startTime") or (None if suspended else timestamp(now)),
    }
    if outcome is not None:
        condition, reason, message = outcome
        complete = condition == "Complete"
        said = ("Completed", "Job completed") if complete else (reason, message)
        yield Told(about(job), *said, USER, warning=not complete)
        status["conditions"] = [
            *(before.get("conditions") or []),
            {
                "type": condition,
                "status": "True",
                "reason": reason,
                "message": message,
                "lastProbeTime": timestamp(now),
                "lastTransitionTime": timestamp(now),
            },
        ]
        if complete:
            status["completionTime"] = timestamp(now)
    yield set_status(ref, job["metadata"]["uid"], status)


def _is_indexed(job: Body) -> bool:
    return bool(job["spec"].get("completionMode") == "Indexed")


def _indexes(pods: Sequence[Pod]) -> set[int]:
    texts = (pod.metadata.annotations.get(INDEX, "") for pod in pods)
    return {int(text) for text in texts if text.isdecimal()}


CONTROLLER = Controller(
    name="jobs",
    user=USER,
    concerns={KIND: of_object(KIND), "Pod": of_pods(KIND)},
    reconcile=reconcile,
)
