"""The pods that a Job creates and deletes, and how long it waits after failures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final

from apps.cluster.writes import Create
from apps.controllers.controller import Requeue, Step, parse_time
from apps.controllers.workloads.job_counts import (
    FAILURES,
    IGNORED,
    Failure,
    PodCounts,
    earlier_failures,
    is_indexed,
    limits_indexes,
)
from apps.controllers.workloads.job_indexes import INDEX, index_of, indexes_of
from apps.controllers.workloads.templates import new_pod
from apps.controllers.writes import BURST, create_with_event, delete_with_event, is_active
from apps.scheduler.objects import Pod

Body = dict[str, Any]
JOB_CONTROLLER: Final = "job-controller"
#: Seconds, as upstream.
FIRST_PAUSE: Final = 10
LONGEST_PAUSE: Final = 600
_VARIABLE: Final = "JOB_COMPLETION_INDEX"
#: of a generated name
_LONGEST_PREFIX: Final = 58


def backoff_end(pods: Sequence[Pod], now: datetime) -> datetime | None:
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
    end = max(failures) + timedelta(seconds=_pause(len(failures)))
    return end if end > now else None


def _pause(failures: int) -> int:
    return int(min(FIRST_PAUSE * 2 ** min(failures - 1, 32), LONGEST_PAUSE))


def _ended_at(pod: Pod, now: datetime) -> datetime:
    changes = [each.last_transition_time for each in pod.status.conditions]
    times = [text for text in (*changes, pod.status.start_time) if text]
    return max(map(parse_time, times), default=now)


def fill(job: Body, count: PodCounts, group: str, now: datetime) -> Iterator[Step]:
    """Create as many pods as are still needed and may run in parallel, in a PodGroup if any."""
    spec, wanted = job["spec"], job["spec"].get("completions")
    parallel = spec.get("parallelism", 1)
    replaced_late = spec.get("podReplacementPolicy") == "Failed"
    ending = len(count.terminating) if replaced_late else 0
    if wanted is None:
        room = 0 if count.succeeded else parallel - len(count.active)
    elif is_indexed(job):
        yield from _fill_indexes(job, count, group, ending, now)
        return
    else:
        room = min(parallel, wanted - len(count.succeeded)) - len(count.active)
    for _ in range(min(room - ending, BURST)):
        yield create_with_event(job, new_pod(job), JOB_CONTROLLER)
    for pod in count.active[len(count.active) + min(room, 0) :] if room < 0 else ():
        yield delete_with_event(job, pod, JOB_CONTROLLER)


def _fill_indexes(
    job: Body, count: PodCounts, group: str, ending: int, now: datetime
) -> Iterator[Step]:
    """Create the pods of the first indexes without one, and delete pods that are too many."""
    spec = job["spec"]
    completions = spec["completions"]
    wanted = max(min(spec.get("parallelism", 1), completions - len(count.succeeded_indexes)), 0)
    kept, surplus = _sort_out(count.active, completions, wanted)
    for pod in surplus:
        yield delete_with_event(job, pod, JOB_CONTROLLER)
    if surplus:
        return
    taken = indexes_of(kept) | count.succeeded_indexes | count.failed_indexes
    if ending:
        taken |= indexes_of(count.terminating)
    free = (index for index in range(completions) if index not in taken)
    last = _last_failures(count.failures)
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


def _last_failures(failures: Sequence[Failure]) -> dict[int, Failure]:
    """The failure of each index with most failures before it."""
    last: dict[int, Failure] = {}
    for each in failures:
        index = index_of(each.pod)
        if index is not None and (index not in last or _tries(each.pod) >= _tries(last[index].pod)):
            last[index] = each
    return last


def _tries(pod: Pod) -> int:
    """How many pods of its index failed before it."""
    return earlier_failures(pod, FAILURES) + earlier_failures(pod, IGNORED)


def _index_pause(failure: Failure, now: datetime) -> datetime | None:
    """When the index may get a pod again; None: now."""
    end = _ended_at(failure.pod, now) + timedelta(seconds=_pause(_tries(failure.pod) + 1))
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
    return new_pod(job, prefix=prefix, labels={INDEX: text}, annotations=annotations, spec=spec)


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
