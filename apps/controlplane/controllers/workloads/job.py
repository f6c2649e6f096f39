"""Jobs: create pods until enough have succeeded or too many have failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.writes import Create, Delete
from apps.cluster.writing.metadata import timestamp
from apps.controlplane.controllers.cache import ControllerCache, Ref
from apps.controlplane.controllers.controller import (
    Controller,
    ReportedWrite,
    Requeue,
    Step,
    parse_time,
)
from apps.controlplane.controllers.workloads.job_groups import (
    find_group,
    refs_for_group,
    refs_for_job,
    remove_group,
)
from apps.controlplane.controllers.workloads.ownership import map_pods, own_pods
from apps.controlplane.controllers.workloads.templates import new_pod
from apps.controlplane.controllers.writes import (
    create_with_event,
    delete_with_event,
    is_active,
    is_ready,
    object_reference,
    set_status,
)
from apps.controlplane.events.writer import PendingEvent
from apps.scheduler.objects import Pod

Body = dict[str, Any]
KIND: Final = "Job"
USER: Final = "job-controller"
#: Seconds, as upstream.
FIRST_PAUSE: Final = 10
LONGEST_PAUSE: Final = 600
INDEX: Final = "batch.kubernetes.io/job-completion-index"


@dataclass(frozen=True, slots=True)
class _PodCounts:
    """The pods of a job by outcome."""

    active: Sequence[Pod]
    succeeded: Sequence[Pod]
    failed: int


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    if ref[0] != KIND:
        yield from remove_group(cache, ref)
        return
    job = cache.body(ref)
    if job is None or job["metadata"].get("deletionTimestamp"):
        return
    if _finish_time(job):
        yield from _expire(ref, job, now)
        return
    pods = own_pods(cache, job)
    count = _PodCounts(
        [pod for pod in pods if is_active(pod)],
        [pod for pod in pods if pod.status.phase == "Succeeded"],
        sum(pod.status.phase == "Failed" for pod in pods),
    )
    outcome = _outcome(job, count, now)
    if outcome is not None or job["spec"].get("suspend"):
        for pod in count.active:
            yield delete_with_event(job, pod, USER)
    else:
        group = find_group(cache, job, pods, USER)
        if group.steps:
            yield from group.steps
            yield Requeue(now)
            return
        pause = _backoff_end(pods, now)
        if pause is not None:
            yield Requeue(pause)
        for step in _fill(job, count, group.name):
            if pause is None or not isinstance(step.write, Create):
                yield step
        deadline = _deadline(job)
        if deadline is not None:
            yield Requeue(deadline)
    yield from _report(ref, job, count, outcome, now)


def _backoff_end(pods: Sequence[Pod], now: datetime) -> datetime | None:
    """When a job may create pods again after its last failure; None: now.

    Ten seconds after the first failure since the last success, doubled by each further failure.
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
    return max(map(parse_time, times), default=now)


def _outcome(job: Body, count: _PodCounts, now: datetime) -> tuple[str, str, str] | None:
    """(condition, reason, message) of a finished job; None while it runs."""
    spec = job["spec"]
    deadline = _deadline(job)
    if count.failed > spec.get("backoffLimit", 6):
        return "Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"
    if deadline is not None and now >= deadline:
        return "Failed", "DeadlineExceeded", "Job was active longer than specified deadline"
    wanted = spec.get("completions")
    done = len(_indexes(count.succeeded)) if _is_indexed(job) else len(count.succeeded)
    # without completions, one success is enough once the others have ended
    ended = bool(count.succeeded) and not count.active
    complete = ended if wanted is None else done >= wanted
    if complete:
        return "Complete", "CompletionsReached", "Reached expected number of succeeded pods"
    return None


def _fill(job: Body, count: _PodCounts, group: str) -> Iterator[ReportedWrite]:
    """Create as many pods as are still needed and may run in parallel, in a PodGroup if any."""
    spec, wanted = job["spec"], job["spec"].get("completions")
    extra = {"schedulingGroup": {"podGroupName": group}} if group else {}
    parallel = spec.get("parallelism", 1)
    if wanted is None:
        room = 0 if count.succeeded else parallel - len(count.active)
    elif _is_indexed(job):
        taken = _indexes(count.active) | _indexes(count.succeeded)
        free = [index for index in range(wanted) if index not in taken]
        for index in free[: max(parallel - len(count.active), 0)]:
            text = str(index)
            member = new_pod(job, labels={INDEX: text}, annotations={INDEX: text}, spec=extra)
            yield create_with_event(job, member, USER)
        return
    else:
        room = min(parallel, wanted - len(count.succeeded)) - len(count.active)
    for _ in range(max(room, 0)):
        yield create_with_event(job, new_pod(job), USER)
    for pod in count.active[len(count.active) + min(room, 0) :] if room < 0 else ():
        yield delete_with_event(job, pod, USER)


def _deadline(job: Body) -> datetime | None:
    seconds = job["spec"].get("activeDeadlineSeconds")
    since = (job.get("status") or {}).get("startTime")
    if seconds is None or not since or job["spec"].get("suspend"):
        return None
    return parse_time(since) + timedelta(seconds=min(seconds, 10**9))


def _expire(ref: Ref, job: Body, now: datetime) -> Iterator[Step]:
    """Delete a finished job and its pods after its time to live."""
    seconds = job["spec"].get("ttlSecondsAfterFinished")
    ended = _finish_time(job)
    if seconds is None or ended is None:
        return
    end = parse_time(ended) + timedelta(seconds=min(seconds, 10**9))
    if now < end:
        yield Requeue(end)
        return
    options = {"propagationPolicy": "Background"}
    yield Delete(kinds.by_name(KIND), ref[1], ref[2], options)


def _finish_time(job: Body) -> str | None:
    """When the job ended; None while it runs."""
    for each in (job.get("status") or {}).get("conditions") or ():
        if each["type"] in ("Complete", "Failed") and each["status"] == "True":
            return str(each["lastTransitionTime"])
    return None


def _report(
    ref: Ref, job: Body, count: _PodCounts, outcome: tuple[str, str, str] | None, now: datetime
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
        yield PendingEvent(object_reference(job), *said, USER, warning=not complete)
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
    concerns={KIND: refs_for_job, "Pod": map_pods(KIND), "PodGroup": refs_for_group},
    reconcile=reconcile,
)
