"""The pods of a Job by outcome, with its failed and completed indexes."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Any, Final

from apps.cluster import kinds
from apps.controllers.cache import ControllerCache
from apps.controllers.workloads.job_indexes import indexes_of, read_indexes, read_number
from apps.controllers.workloads.job_policies import FailureVerdict, judge_failure
from apps.controllers.writes import is_active, is_terminating
from apps.scheduler.objects import Pod

Body = dict[str, Any]
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
    succeeded: Sequence[Pod]
    failures: Sequence[Failure]
    #: of an Indexed Job
    succeeded_indexes: Set[int]
    #: of a Job with a limit for each index
    failed_indexes: Set[int]

    @property
    def failed(self) -> int:
        return sum(each.verdict.counts for each in self.failures)


def count_pods(cache: ControllerCache, job: Body, pods: Sequence[Pod]) -> PodCounts:
    """The pods of the Job by outcome."""
    succeeded = [pod for pod in pods if pod.status.phase == "Succeeded"]
    failures = _failures(cache, job, [pod for pod in pods if pod.status.phase == "Failed"])
    done: set[int] = set()
    given_up: set[int] = set()
    if is_indexed(job):
        completions, status = job["spec"]["completions"], job.get("status") or {}
        listed = read_indexes(status.get("completedIndexes") or "", completions)
        done = listed | {index for index in indexes_of(succeeded) if index < completions}
        if limits_indexes(job):
            given_up = read_indexes(status.get("failedIndexes") or "", completions)
            given_up |= (
                indexes_of(each.pod for each in failures if _gives_index_up(job, each)) - done
            )
    return PodCounts(
        [pod for pod in pods if is_active(pod)],
        [pod for pod in pods if is_terminating(pod)],
        succeeded,
        failures,
        done,
        given_up,
    )


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
