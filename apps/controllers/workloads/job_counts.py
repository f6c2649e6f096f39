"""The pods of a Job by outcome, with its failed and completed indexes.

The finalizer of a pod says that its outcome is not yet in the status of its Job: counts are those
of the status, and of the pods that have it.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from apps.cluster import kinds
from apps.controllers.cache import ControllerCache
from apps.controllers.workloads.job_indexes import (
    index_of,
    indexes_of,
    read_indexes,
    read_number,
)
from apps.controllers.workloads.job_policies import FailureVerdict, judge_failure
from apps.controllers.writes import BURST, is_active, is_terminating
from apps.scheduler.objects import Pod

Body = dict[str, Any]
#: Holds a pod until it is counted.
TRACKING: Final = "batch.kubernetes.io/job-tracking"
#: Counted and ignored failures of an index before this pod.
FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
IGNORED: Final = "batch.kubernetes.io/job-index-ignored-failure-count"


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed pod."""

    pod: Pod
    verdict: FailureVerdict


@dataclass(frozen=True, slots=True)
class PodCounts:
    """The pods of a job by outcome."""

    active: Sequence[Pod]
    terminating: Sequence[Pod]
    #: those that are not in the status of the job, ended or not
    tracked: Sequence[Pod]
    failures: Sequence[Failure]
    #: how many have succeeded, or how many indexes of an Indexed Job
    succeeded: int
    failed: int
    #: of an Indexed Job
    succeeded_indexes: Set[int]
    #: of a Job with a limit for each index
    failed_indexes: Set[int]


def count_pods(cache: ControllerCache, job: Body, pods: Sequence[Pod]) -> PodCounts:
    """The pods of the Job by outcome."""
    status = job.get("status") or {}
    tracked = [pod for pod in pods if is_tracked(pod)]
    succeeded = [pod for pod in tracked if pod.status.phase == "Succeeded"]
    failures = _failures(cache, job, [pod for pod in pods if has_failed(job, pod)])
    new = [each for each in failures if is_tracked(each.pod) and _is_counted(job, each)]
    done: set[int] = set()
    given_up: set[int] = set()
    if is_indexed(job):
        completions = job["spec"]["completions"]
        listed = read_indexes(status.get("completedIndexes") or "", completions)
        done = listed | {index for index in indexes_of(succeeded) if index < completions}
        if limits_indexes(job):
            given_up = read_indexes(status.get("failedIndexes") or "", completions)
            # pods that are counted have their indexes in the status, unless the job ended them
            lost = (each for each in failures if is_tracked(each.pod))
            given_up |= indexes_of(each.pod for each in lost if _gives_index_up(job, each)) - done
    return PodCounts(
        active=[pod for pod in pods if is_active(pod)],
        terminating=[pod for pod in pods if is_terminating(pod)],
        tracked=tracked,
        failures=failures,
        succeeded=len(done) if is_indexed(job) else status.get("succeeded", 0) + len(succeeded),
        failed=status.get("failed", 0) + len(new),
        succeeded_indexes=done,
        failed_indexes=given_up,
    )


def is_tracked(pod: Pod) -> bool:
    """Whether the pod is still to be counted."""
    return TRACKING in pod.metadata.finalizers


def has_failed(job: Body, pod: Pod) -> bool:
    """Whether the pod counts as failed.

    A pod that is being deleted does, unless the job waits for its end; one that has not begun to
    run has ended.
    """
    phase = pod.status.phase
    if phase == "Failed" or not pod.metadata.deletion_timestamp:
        return phase == "Failed"
    return phase == "Pending" if waits_for_end(job) else phase != "Succeeded"


def waits_for_end(job: Body) -> bool:
    """Whether a pod that is being deleted is replaced only after it has ended."""
    spec = job["spec"]
    return spec.get("podReplacementPolicy") == "Failed" or bool(spec.get("podFailurePolicy"))


def to_be_counted(job: Body, count: PodCounts, *, ends: bool) -> list[Pod]:
    """The pods that the status of the Job has to count now, at most `BURST` at once.

    When the Job ends, these are all pods. Until then the last failure of an index is counted when
    the pod exists that replaces it, which knows how many failures came before it.
    """
    kept = set() if ends else _last_of_open(job, count)
    ended = (
        pod
        for pod in count.tracked
        if ends
        or pod.status.phase == "Succeeded"
        or (has_failed(job, pod) and pod.metadata.uid not in kept)
    )
    return list(islice(ended, BURST))


def count_failed(job: Body, count: PodCounts, pods: Sequence[Pod], *, fails: bool) -> int:
    """How many of the pods count as failed; a Job that fails takes its running pods with it."""
    verdicts = {each.pod.metadata.uid: each for each in count.failures}
    return sum(
        _is_counted(job, verdicts.get(pod.metadata.uid) or Failure(pod, FailureVerdict()))
        for pod in pods
        if pod.status.phase != "Succeeded" and (fails or has_failed(job, pod))
    )


def _is_counted(job: Body, failure: Failure) -> bool:
    index = index_of(failure.pod)
    known = not is_indexed(job) or (index is not None and index < job["spec"]["completions"])
    return known and failure.verdict.counts


def _last_of_open(job: Body, count: PodCounts) -> Set[str]:
    """The uids of the last failed pods of the indexes that get another pod."""
    if not limits_indexes(job):
        return frozenset()
    settled = indexes_of(count.active) | count.succeeded_indexes | count.failed_indexes
    last = last_failures([each for each in count.failures if is_tracked(each.pod)])
    return {each.pod.metadata.uid for index, each in last.items() if index not in settled}


def last_failures(failures: Sequence[Failure]) -> dict[int, Failure]:
    """The failure of each index with most failures before it."""
    last: dict[int, Failure] = {}
    for each in failures:
        index = index_of(each.pod)
        if index is not None and (index not in last or tries(each.pod) >= tries(last[index].pod)):
            last[index] = each
    return last


def tries(pod: Pod) -> int:
    """How many pods of its index failed before it."""
    return earlier_failures(pod, FAILURES) + earlier_failures(pod, IGNORED)


def _failures(cache: ControllerCache, job: Body, failed: Sequence[Pod]) -> list[Failure]:
    """The failed pods, as `podFailurePolicy` judges them by their whole status."""
    policy, namespace = job["spec"].get("podFailurePolicy"), job["metadata"]["namespace"]
    if policy is None:
        return [Failure(pod, FailureVerdict()) for pod in failed]
    names = [pod.metadata.name for pod in failed]
    stored = cache.find_all_stored(kinds.POD, namespace, names)
    bodies = {body["metadata"]["uid"]: body for body in stored}
    return [
        Failure(pod, judge_failure(policy, body))
        for pod in failed
        if (body := bodies.get(pod.metadata.uid)) is not None
    ]


def limits_indexes(job: Body) -> bool:
    """Whether each index has its own backoff limit."""
    return is_indexed(job) and job["spec"].get("backoffLimitPerIndex") is not None


def _gives_index_up(job: Body, failure: Failure) -> bool:
    """Whether the index of the failed pod has failed for good."""
    if failure.verdict.action == "FailIndex":
        return True
    earlier = earlier_failures(failure.pod, FAILURES)
    return failure.verdict.counts and earlier >= int(job["spec"]["backoffLimitPerIndex"])


def earlier_failures(pod: Pod, annotation: str) -> int:
    """The number in an annotation about the failures of its index; 0 without one."""
    return read_number(pod.metadata.annotations.get(annotation, "")) or 0


def is_indexed(job: Body) -> bool:
    return bool(job["spec"].get("completionMode") == "Indexed")
