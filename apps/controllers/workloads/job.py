"""Jobs: create pods until enough have succeeded or too many have failed."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.writes import Create, Delete
from apps.cluster.writing.metadata import timestamp
from apps.controllers.cache import ControllerCache, Ref, controller_refs, ref_of
from apps.controllers.controller import Controller, ReportedWrite, Requeue, Step, parse_time
from apps.controllers.events.writer import PendingEvent
from apps.controllers.workloads.job_counts import (
    PodCounts,
    count_failed,
    count_pods,
    is_indexed,
    is_tracked,
    limits_indexes,
    to_be_counted,
)
from apps.controllers.workloads.job_groups import (
    find_group,
    refs_for_group,
    refs_for_job,
    remove_group,
)
from apps.controllers.workloads.job_indexes import format_indexes
from apps.controllers.workloads.job_pods import (
    JOB_CONTROLLER,
    backoff_end,
    fill,
    remove,
    track,
    untrack,
)
from apps.controllers.workloads.job_policies import find_success
from apps.controllers.workloads.ownership import map_pods, own_pods
from apps.controllers.writes import delete_with_event, is_ready, object_reference, set_status
from apps.scheduler.objects import Job, Pod

Body = dict[str, Any]
KIND: Final = "Job"
USER: Final = JOB_CONTROLLER
_MANAGER: Final = "kubernetes.io/job-controller"
#: The condition of a Job whose end is decided -> that of the Job when all its pods have ended.
_ENDS: Final = {"SuccessCriteriaMet": "Complete", "FailureTarget": "Failed"}
_map_to_job: Final = map_pods(KIND)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """How a Job ends: the condition that says so before its pods have ended."""

    condition: str
    reason: str
    message: str


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    if ref[0] == "Pod":
        yield from _let_go(cache, ref)
        return
    if ref[0] != KIND:
        yield from remove_group(cache, ref)
        return
    job = cache.body(ref)
    if job is None or job["spec"].get("managedBy") not in (None, _MANAGER):
        return
    pods = own_pods(cache, job)
    is_over = bool(_finish_time(job))
    if is_over or job["metadata"].get("deletionTimestamp"):
        cache.lost_failures.pop(job["metadata"]["uid"], None)
        yield from (untrack(pod) for pod in pods if is_tracked(pod))
        if is_over:
            yield from _expire(ref, job, now)
        return
    count = count_pods(cache, job, pods)
    decided = _decided(job)
    outcome = decided or _outcome(job, count, now)
    if outcome is not None:
        for pod in count.active:
            yield delete_with_event(job, pod, USER)
    elif _is_suspended(job):
        for pod in count.active:
            yield from remove(job, pod)
    else:
        has_group = yield from _run(cache, job, pods, count, now)
        if not has_group:
            return
    counted = to_be_counted(job, count, ends=outcome is not None)
    for pod in counted:
        if pod.metadata.deletion_timestamp:
            cache.lost_failures.setdefault(job["metadata"]["uid"], []).append(now)
        yield untrack(pod)
    yield from _report(ref, job, count, counted, outcome, now, is_new=decided is None)


def _run(
    cache: ControllerCache, job: Body, pods: Sequence[Pod], count: PodCounts, now: datetime
) -> Generator[Step, None, bool]:
    """Create and delete pods; False if the PodGroup has to be created before."""
    group = find_group(cache, job, pods, USER)
    if group.steps:
        yield from group.steps
        yield Requeue(now)
        return False
    # with a limit for each index, each index waits for itself
    lost = cache.lost_failures.get(job["metadata"]["uid"], ())
    pause = None if limits_indexes(job) else backoff_end(job, pods, lost, now)
    if pause is not None:
        yield Requeue(pause)
    for step in fill(job, count, group.name, now):
        if pause is None or not _creates(step):
            yield step
    # pods of an earlier release have no finalizer, nor those from which a client has removed it
    yield from (track(pod) for pod in count.active if not is_tracked(pod))
    deadline = _deadline(job)
    if deadline is not None:
        yield Requeue(deadline)
    return True


def refs_for_pod(cache: ControllerCache, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
    """The Job of the pod, or the pod itself if it waits for a Job that does not exist."""
    refs = [*_map_to_job(cache, old, new)]
    if new is not None and is_tracked(new) and not _has_job(cache, new):
        refs.append(ref_of("Pod", new))
    return refs


def _let_go(cache: ControllerCache, ref: Ref) -> Iterator[Step]:
    pod = cache.pod(ref)
    if pod is not None and is_tracked(pod) and not _has_job(cache, pod):
        yield untrack(pod)


def _has_job(cache: ControllerCache, pod: Pod) -> bool:
    owner = pod.metadata.controller
    job = next((cache.get(ref, Job) for ref in controller_refs(pod, (KIND,))), None)
    return owner is not None and job is not None and job.metadata.uid == owner.uid


def _creates(step: Step) -> bool:
    return isinstance(step, ReportedWrite) and isinstance(step.write, Create)


def _decided(job: Body) -> _Outcome | None:
    """The end that was decided earlier; None: none."""
    for each in (job.get("status") or {}).get("conditions") or ():
        if each["type"] in _ENDS and each["status"] == "True":
            return _Outcome(each["type"], each.get("reason", ""), each.get("message", ""))
    return None


def _outcome(job: Body, count: PodCounts, now: datetime) -> _Outcome | None:
    """How the job ends, if that is decided by now; None while it runs."""
    spec = job["spec"]
    deadline = _deadline(job)
    message = next((each.verdict.message for each in count.failures if each.verdict.message), "")
    if message:
        return _Outcome("FailureTarget", "PodFailurePolicy", message)
    if count.failed > spec.get("backoffLimit", 6):
        what = "Job has reached the specified backoff limit"
        return _Outcome("FailureTarget", "BackoffLimitExceeded", what)
    if deadline is not None and now >= deadline:
        what = "Job was active longer than specified deadline"
        return _Outcome("FailureTarget", "DeadlineExceeded", what)
    wanted = spec.get("completions")
    done, failed = count.succeeded, len(count.failed_indexes)
    most = spec.get("maxFailedIndexes")
    if most is not None and failed > most:
        what = "Job has exceeded the specified maximal number of failed indexes"
        return _Outcome("FailureTarget", "MaxFailedIndexesExceeded", what)
    if failed and failed + done >= wanted:
        return _Outcome("FailureTarget", "FailedIndexes", "Job has failed indexes")
    if is_indexed(job):
        met = find_success(spec.get("successPolicy"), wanted, count.succeeded_indexes)
        if met:
            return _Outcome("SuccessCriteriaMet", "SuccessPolicy", met)
    # without completions, one success is enough once the others have ended
    ended = bool(done) and not count.active
    complete = ended if wanted is None else done >= wanted
    if complete:
        what = "Reached expected number of succeeded pods"
        return _Outcome("SuccessCriteriaMet", "CompletionsReached", what)
    return None


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
    ref: Ref,
    job: Body,
    count: PodCounts,
    counted: Sequence[Pod],
    outcome: _Outcome | None,
    now: datetime,
    *,
    is_new: bool,
) -> Iterator[Step]:
    """Write the status of the job; `outcome` is how it ends, `is_new` if that is decided now.

    `counted` are the pods that the status counts for good.
    """
    status = _count_status(job, count, counted, outcome, now)
    conditions = list((job.get("status") or {}).get("conditions") or [])
    if outcome is None:
        resumed = yield from _report_suspension(job, conditions, now)
        if resumed:
            status["startTime"] = timestamp(now)
    else:
        if is_new:
            conditions.append(_condition(outcome.condition, outcome, now))
        if not count.active and not count.terminating and len(counted) == len(count.tracked):
            yield from _finish(job, outcome, conditions, status, now)
    status["conditions"] = conditions or None
    yield set_status(ref, job["metadata"]["uid"], status)


def _count_status(
    job: Body,
    count: PodCounts,
    counted: Sequence[Pod],
    outcome: _Outcome | None,
    now: datetime,
) -> Body:
    """The counts of pods; those of a job that ends or is suspended count as terminating."""
    suspended, known = _is_suspended(job), job.get("status") or {}
    active = [] if outcome or suspended else count.active
    ending = len(count.terminating) + sum(bool(pod.spec.node_name) for pod in count.active)
    succeeded = sum(pod.status.phase == "Succeeded" for pod in counted)
    fails = outcome is not None and outcome.condition == "FailureTarget"
    failed = count_failed(job, count, counted, fails=fails)
    status: Body = {
        "active": len(active) or None,
        "ready": sum(map(is_ready, active)),
        "terminating": len(count.terminating) if active else ending,
        "succeeded": (known.get("succeeded", 0) + succeeded) or None,
        "failed": (known.get("failed", 0) + failed) or None,
        # the pods are counted in the transaction that lets them go
        "uncountedTerminatedPods": {},
        "startTime": None if suspended else known.get("startTime") or timestamp(now),
    }
    if is_indexed(job):
        status["succeeded"] = count.succeeded or None
        status["completedIndexes"] = format_indexes(count.succeeded_indexes) or None
    if limits_indexes(job):
        status["failedIndexes"] = format_indexes(count.failed_indexes)
    return status


def _is_suspended(job: Body) -> bool:
    return bool(job["spec"].get("suspend"))


def _finish(
    job: Body, outcome: _Outcome, conditions: list[Body], status: Body, now: datetime
) -> Iterator[Step]:
    """The last condition and the event, once no pod is left."""
    complete = outcome.condition == "SuccessCriteriaMet"
    said = ("Completed", "Job completed") if complete else (outcome.reason, outcome.message)
    yield PendingEvent(object_reference(job), *said, USER, warning=not complete)
    conditions.append(_condition(_ENDS[outcome.condition], outcome, now))
    if complete:
        status["completionTime"] = timestamp(now)


def _report_suspension(
    job: Body, conditions: list[Body], now: datetime
) -> Generator[Step, None, bool]:
    """Keep the condition Suspended; whether the job has been resumed."""
    suspended = _is_suspended(job)
    place = next((n for n, each in enumerate(conditions) if each["type"] == "Suspended"), None)
    was = place is not None and conditions[place]["status"] == "True"
    if was == suspended:
        return False
    word = "suspended" if suspended else "resumed"
    said = _Outcome("Suspended", f"Job{word.capitalize()}", f"Job {word}")
    condition = _condition("Suspended", said, now) | {"status": "True" if suspended else "False"}
    if place is None:
        conditions.append(condition)
    else:
        conditions[place] = condition
    yield PendingEvent(object_reference(job), word.capitalize(), said.message, USER)
    return not suspended


def _condition(name: str, outcome: _Outcome, now: datetime) -> Body:
    return {
        "type": name,
        "status": "True",
        "reason": outcome.reason,
        "message": outcome.message,
        "lastProbeTime": timestamp(now),
        "lastTransitionTime": timestamp(now),
    }


CONTROLLER = Controller(
    name="jobs",
    user=USER,
    concerns={KIND: refs_for_job, "Pod": refs_for_pod, "PodGroup": refs_for_group},
    reconcile=reconcile,
)
