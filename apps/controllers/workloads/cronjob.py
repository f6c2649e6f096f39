"""CronJobs: create Jobs on a schedule, by the cluster's clock, and delete old ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.errors import ApiError
from apps.cluster.writes import Create, Delete
from apps.cluster.writing.metadata import timestamp
from apps.controllers.cache import ControllerCache, Ref, controller_refs, owner_reference
from apps.controllers.controller import Controller, ReportedWrite, Requeue, Step, parse_time
from apps.controllers.events.writer import PendingEvent
from apps.controllers.workloads.ownership import map_object
from apps.controllers.workloads.schedule import read_schedule
from apps.controllers.writes import object_reference, set_status
from apps.scheduler.objects import Job

Body = dict[str, Any]

KIND: Final = "CronJob"
USER: Final = "cronjob-controller"
_JOB: Final = kinds.by_name("Job")
_SCHEDULED_AT: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_BACKGROUND: Final = "Background"


def refs_for_job(_: ControllerCache, old: Job | None, new: Job | None) -> Iterable[Ref]:
    """The CronJob of a job that has changed."""
    job = new or old
    assert job is not None
    return controller_refs(job, (KIND,))


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    cron_job = cache.body(ref)
    if cron_job is None or cron_job["metadata"].get("deletionTimestamp"):
        return
    spec = cron_job["spec"]
    owned = _jobs(cache, cron_job)
    jobs = [job for job in owned if not job["metadata"].get("deletionTimestamp")]
    active = [job for job in owned if not _outcome(job) and _is_known(cron_job, job)]
    old = _old(cron_job, jobs)
    yield from (_delete(cron_job, job) for job in old)
    yield from _notice(cron_job, owned, [job for job in jobs if job not in old])
    schedule = read_schedule(spec["schedule"], spec.get("timeZone", ""))
    status: Body = {}
    if schedule is not None and not spec.get("suspend"):
        due = schedule.last_until(now, _start(cron_job, now))
        following = schedule.after(now)
        if following is not None:
            yield Requeue(following)
        if due is not None and active and spec["concurrencyPolicy"] == "Forbid":
            note = "Not starting job because prior execution is running and concurrency policy is "
            subject = object_reference(cron_job)
            yield PendingEvent(subject, "JobAlreadyActive", f"{note}Forbid", USER, once=True)
        elif due is not None:
            if spec["concurrencyPolicy"] == "Replace":
                yield from (_delete(cron_job, job) for job in active)
                active = []
            yield _create(cron_job, due)
            status["lastScheduleTime"] = timestamp(due)
    yield from _report(ref, cron_job, jobs, active, status)


def _start(cron_job: Body, now: datetime) -> datetime:
    """Times before it need no job: it had one, is too old, or is older than the CronJob."""
    last = (cron_job.get("status") or {}).get("lastScheduleTime")
    start = parse_time(last or cron_job["metadata"]["creationTimestamp"])
    deadline = cron_job["spec"].get("startingDeadlineSeconds")
    if deadline is None:
        return start
    return max(start, now - timedelta(seconds=min(deadline, 10**9)))


def _jobs(cache: ControllerCache, cron_job: Body) -> list[Body]:
    """The jobs of the CronJob, oldest first."""
    owned = [cache.body(ref) for ref in cache.owned_by(cron_job["metadata"]["uid"])]
    return sorted((body for body in owned if body and body["kind"] == "Job"), key=_age)


def _age(job: Body) -> tuple[str, str]:
    metadata = job["metadata"]
    return metadata["creationTimestamp"], metadata["name"]


def _outcome(job: Body) -> str:
    """Complete or Failed; "" while the job runs."""
    for each in (job.get("status") or {}).get("conditions") or ():
        if each["type"] in ("Complete", "Failed") and each["status"] == "True":
            return str(each["type"])
    return ""


def _listed(cron_job: Body) -> dict[str, str]:
    """Uid -> name of the jobs that the status calls active."""
    active = (cron_job.get("status") or {}).get("active") or ()
    return {each.get("uid"): each.get("name") for each in active}


def _is_known(cron_job: Body, job: Body) -> bool:
    """Whether this controller created the job; one that a user creates from it is not active."""
    metadata = job["metadata"]
    is_scheduled = _SCHEDULED_AT in (metadata.get("annotations") or {})
    return is_scheduled or metadata["uid"] in _listed(cron_job)


def _notice(cron_job: Body, owned: Sequence[Body], jobs: Sequence[Body]) -> Iterator[Step]:
    """Record what jobs have ended, are missing, or are not from here."""
    subject, listed = object_reference(cron_job), _listed(cron_job)
    for job in jobs:
        name, outcome = job["metadata"]["name"], _outcome(job)
        if outcome and job["metadata"]["uid"] in listed:
            note = f"Saw completed job: {name}, condition: {outcome}"
            yield PendingEvent(subject, "SawCompletedJob", note, USER)
        elif not outcome and not _is_known(cron_job, job):
            note = f"Saw a job that the controller did not create or forgot: {name}"
            yield PendingEvent(subject, "UnexpectedJob", note, USER, warning=True, once=True)
    for uid in listed.keys() - {job["metadata"]["uid"] for job in owned}:
        note = f"Active job went missing: {listed[uid]}"
        yield PendingEvent(subject, "MissingJob", note, USER)


def _create(cron_job: Body, due: datetime) -> ReportedWrite:
    template, metadata = cron_job["spec"]["jobTemplate"], cron_job["metadata"]
    given = template.get("metadata") or {}
    annotations = {**(given.get("annotations") or {}), _SCHEDULED_AT: timestamp(due)}
    body = {
        "metadata": {
            "name": f"{metadata['name']}-{int(due.timestamp()) // 60}",
            "labels": dict(given.get("labels") or {}),
            "annotations": annotations,
            "ownerReferences": [owner_reference(cron_job)],
        },
        "spec": template["spec"],
    }
    subject = object_reference(cron_job)

    def on_success(job: Body) -> PendingEvent:
        return PendingEvent(
            subject, "SuccessfulCreate", f"Created job {job['metadata']['name']}", USER
        )

    def on_failure(refusal: ApiError) -> PendingEvent:
        note = f"Error creating job: {refusal.message}"
        return PendingEvent(subject, "FailedCreate", note, USER, warning=True)

    return ReportedWrite(Create(_JOB, body, metadata["namespace"]), on_success, on_failure)


def _delete(cron_job: Body, job: Body) -> ReportedWrite:
    metadata = job["metadata"]
    options = {"preconditions": {"uid": metadata["uid"]}, "propagationPolicy": _BACKGROUND}
    event = PendingEvent(
        object_reference(cron_job), "SuccessfulDelete", f"Deleted job {metadata['name']}", USER
    )
    write = Delete(_JOB, metadata["namespace"], metadata["name"], options)
    return ReportedWrite(write, lambda _: event)


def _old(cron_job: Body, jobs: Sequence[Body]) -> list[Body]:
    """The finished jobs beyond the limits of the history, oldest first."""
    old: list[Body] = []
    for outcome, field in (
        ("Complete", "successfulJobsHistoryLimit"),
        ("Failed", "failedJobsHistoryLimit"),
    ):
        finished = [job for job in jobs if _outcome(job) == outcome]
        limit = cron_job["spec"].get(field)
        if limit is not None:
            old += finished[: max(len(finished) - limit, 0)]
    return old


def _report(
    ref: Ref, cron_job: Body, jobs: Sequence[Body], active: Sequence[Body], status: Body
) -> Iterator[Step]:
    """Write the status, if it has changed."""
    ended = [
        job["status"]["completionTime"]
        for job in jobs
        if _outcome(job) == "Complete" and job["status"].get("completionTime")
    ]
    before = cron_job.get("status") or {}
    status["active"] = [_reference(job) for job in active] or None
    if ended:
        status["lastSuccessfulTime"] = max(ended)
    if any(before.get(name) != value for name, value in status.items()):
        yield set_status(ref, cron_job["metadata"]["uid"], status)


def _reference(job: Body) -> Body:
    return object_reference(job)


CONTROLLER = Controller(
    name="cronjob",
    user=USER,
    concerns={KIND: map_object(KIND), "Job": refs_for_job},
    reconcile=reconcile,
)
