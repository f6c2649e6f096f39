"""The pods that a Job creates and deletes, and how long it waits after failures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final

from apps.cluster.writes import Create, Update
from apps.controllers.cache import ref_of
from apps.controllers.controller import Requeue, Step, parse_time
from apps.controllers.workloads.job_counts import (
    FAILURES,
    IGNORED,
    TRACKING,
    Failure,
    PodCounts,
    earlier_failures,
    has_failed,
    is_indexed,
    is_tracked,
    last_failures,
    limits_indexes,
    tries,
)
from apps.controllers.workloads.job_indexes import INDEX, index_of, indexes_of
from apps.controllers.workloads.templates import new_pod
from apps.controllers.writes import BURST, create_with_event, delete_with_event, update_object
from apps.scheduler.objects import Pod

Body = dict[str, Any]
JOB_CONTROLLER: Final = "job-controller"
#: Seconds, as upstream.
FIRST_PAUSE: Final = 10
LONGEST_PAUSE: Final = 600
_VARIABLE: Final = "JOB_COMPLETION_INDEX"
#: of a generated name
_LONGEST_PREFIX: Final = 58


def backoff_end(
    job: Body, pods: Sequence[Pod], lost: Sequence[datetime], now: datetime
) -> datetime | None:
    """When a job may create pods again after its last failure; None: now.

    Ten seconds after the first failure since the last success, doubled by each further failure.
    `lost` are the failures of pods that were deleted and counted.
    """
    successes = [_ended_at(pod, now) for pod in pods if pod.status.phase == "Succeeded"]
    success = max(successes, default=None)
    failed = [
        _ended_at(pod, now)
        for pod in pods
        if has_failed(job, pod) and (is_tracked(pod) or not pod.metadata.deletion_timestamp)
    ]
    failures = [at for at in (*failed, *lost) if success is None or at > success]
    if not failures:
        return None
    end = max(failures) + timedelta(seconds=_pause(len(failures)))
    return end if end > now else None


def _pause(failures: int) -> int:
    return int(min(FIRST_PAUSE * 2 ** min(failures - 1, 32), LONGEST_PAUSE))


def _ended_at(pod: Pod, now: datetime) -> datetime:
    metadata = pod.metadata
    if metadata.deletion_timestamp:
        grace = timedelta(seconds=metadata.deletion_grace_period_seconds or 0)
        return parse_time(metadata.deletion_timestamp) - grace
    changes = [each.last_transition_time for each in pod.status.conditions]
    times = [text for text in (*changes, pod.status.start_time) if text]
    return max(map(parse_time, times), default=now)


def fill(job: Body, count: PodCounts, group: str, now: datetime) -> Iterator[Step]:
    """Create as many pods as are still needed and may run in parallel, in a PodGroup if any."""
    spec, wanted = job["spec"], job["spec"].get("completions")
    parallel = spec.get("parallelism", 1)
    ending = len(count.terminating) if spec.get("podReplacementPolicy") == "Failed" else 0
    if wanted is None:
        room = 0 if count.succeeded else parallel - len(count.active)
    elif is_indexed(job):
        yield from _fill_indexes(job, count, group, ending, now)
        return
    else:
        room = min(parallel, wanted - count.succeeded) - len(count.active)
    for _ in range(min(room - ending, BURST)):
        yield create_with_event(job, _tracked_pod(job), JOB_CONTROLLER)
    for pod in count.active[len(count.active) + min(room, 0) :] if room < 0 else ():
        yield from remove(job, pod)


def remove(job: Body, pod: Pod) -> Iterator[Step]:
    """Delete a pod that shall not count."""
    if is_tracked(pod):
        yield untrack(pod)
    yield delete_with_event(job, pod, JOB_CONTROLLER)


def track(pod: Pod) -> Update:
    """Hold the pod until it is counted."""
    return _set_finalizers(pod, lambda held: [*held, TRACKING])


def untrack(pod: Pod) -> Update:
    """Do not hold the pod any longer."""
    return _set_finalizers(pod, lambda held: [each for each in held if each != TRACKING])


def _set_finalizers(pod: Pod, change: Callable[[list[str]], list[str]]) -> Update:
    def apply(body: Body) -> Body:
        metadata = dict(body["metadata"])
        finalizers = change(metadata.pop("finalizers", []))
        return {**body, "metadata": metadata | ({"finalizers": finalizers} if finalizers else {})}

    return update_object(ref_of("Pod", pod), pod.metadata.uid, apply)


def _tracked_pod(job: Body, **parts: Any) -> Create:
    create = new_pod(job, **parts)
    create.body["metadata"]["finalizers"].append(TRACKING)
    return create


def _fill_indexes(
    job: Body, count: PodCounts, group: str, ending: int, now: datetime
) -> Iterator[Step]:
    """Create the pods of the first indexes without one, and delete pods that are too many."""
    spec = job["spec"]
    completions = spec["completions"]
    wanted = max(min(spec.get("parallelism", 1), completions - len(count.succeeded_indexes)), 0)
    kept, surplus = _sort_out(count.active, completions, wanted)
    for pod in surplus:
        yield from remove(job, pod)
    if surplus:
        return
    taken = indexes_of(kept) | count.succeeded_indexes | count.failed_indexes
    if ending:
        taken |= indexes_of(count.terminating)
    free = (index for index in range(completions) if index not in taken)
    last = last_failures(count.failures)
    for index in islice(free, min(max(wanted - len(kept) - ending, 0), BURST)):
        failure = last.get(index)
        pause = _index_pause(failure, now) if limits_indexes(job) and failure else None
        if pause is not None:
            yield Requeue(pause)
        else:
            yield create_with_event(job, _indexed_pod(job, index, failure, group), JOB_CONTROLLER)


def _sort_out(active: Sequence[Pod], completions: int, wanted: int) -> tuple[list[Pod], list[Pod]]:
    """(kept, surplus): one pod for each index, those of the lowest indexes."""
    kept: dict[int, Pod] = {}
    surplus: list[Pod] = []
    for pod in active:
        index = index_of(pod)
        if index is None or index >= completions or index in kept:
            surplus.append(pod)
        else:
            kept[index] = pod
    ordered = [kept[index] for index in sorted(kept)]
    return ordered[:wanted], surplus + ordered[wanted:]


def _index_pause(failure: Failure, now: datetime) -> datetime | None:
    """When the index may get a pod again; None: now."""
    end = _ended_at(failure.pod, now) + timedelta(seconds=_pause(tries(failure.pod) + 1))
    return end if end > now else None


def _indexed_pod(job: Body, index: int, failure: Failure | None, group: str) -> Create:
    """The pod of an index, with its name, host name and environment variable."""
    text, name = str(index), job["metadata"]["name"]
    spec: Body = {"hostname": f"{name}-{text}"}
    for field in ("initContainers", "containers"):
        containers = job["spec"]["template"]["spec"].get(field)
        if containers:
            spec[field] = [_with_index(each) for each in containers]
    if group:
        spec["schedulingGroup"] = {"podGroupName": group}
    annotations = {INDEX: text}
    if limits_indexes(job):
        annotations |= _failures_before(failure)
    suffix = f"-{text}-"
    prefix = f"{name[: _LONGEST_PREFIX - len(suffix)]}{suffix}"
    return _tracked_pod(
        job, prefix=prefix, labels={INDEX: text}, annotations=annotations, spec=spec
    )


def _failures_before(failure: Failure | None) -> dict[str, str]:
    """The annotations of a pod that replaces a failed one, or of the first of its index."""
    if failure is None:
        return {FAILURES: "0"}
    counted, ignored = (
        earlier_failures(failure.pod, FAILURES),
        earlier_failures(failure.pod, IGNORED),
    )
    if failure.verdict.counts:
        counted += 1
    else:
        ignored += 1
    return {FAILURES: str(counted)} | ({IGNORED: str(ignored)} if ignored else {})


def _with_index(container: Body) -> Body:
    """The container with the variable that has the index, unless it sets it itself."""
    variables = container.get("env") or []
    if any(each.get("name") == _VARIABLE for each in variables):
        return container
    reference = {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}
    variable = {"name": _VARIABLE, "valueFrom": {"fieldRef": reference}}
    return {**container, "env": [*variables, variable]}
