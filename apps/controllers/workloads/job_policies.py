"""What a Job's `podFailurePolicy` says about a failed pod, and when its `successPolicy` is met."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from apps.controllers.workloads.job_indexes import read_ranges

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FailureVerdict:
    """What follows from one failed pod."""

    #: Count, Ignore, FailIndex or FailJob; "" if no rule matches, which counts
    action: str = ""
    #: why the Job fails, with FailJob
    message: str = ""

    @property
    def counts(self) -> bool:
        """Whether the failure counts towards the backoff limit."""
        return self.action != "Ignore"


def judge_failure(policy: Body | None, pod: Body) -> FailureVerdict:
    """The first rule of `podFailurePolicy` that matches the failed pod decides."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    name = f"{metadata['namespace']}/{metadata['name']}"
    for number, rule in enumerate((policy or {}).get("rules") or ()):
        action = rule["action"]
        if rule.get("onExitCodes") is not None:
            container = _exited(status, rule["onExitCodes"])
            if container is not None:
                what = f"Container {container['name']} for pod {name} failed with exit code "
                what += str(container["state"]["terminated"]["exitCode"])
                return _verdict(action, what, number)
        elif condition := _matching_condition(status, rule.get("onPodConditions") or ()):
            return _verdict(action, f"Pod {name} has condition {condition}", number)
    return FailureVerdict()


def _verdict(action: str, what: str, number: int) -> FailureVerdict:
    message = f"{what} matching {action} rule at index {number}" if action == "FailJob" else ""
    return FailureVerdict(action, message)


def _exited(status: Body, wanted: Body) -> Body | None:
    """The first container whose exit code matches, init containers last."""
    values, name = set(wanted.get("values") or ()), wanted.get("containerName")
    for field in ("containerStatuses", "initContainerStatuses"):
        for each in status.get(field) or ():
            ended = (each.get("state") or {}).get("terminated")
            if not ended or not ended.get("exitCode") or name not in (None, each["name"]):
                continue
            if (ended["exitCode"] in values) == (wanted["operator"] == "In"):
                exited: Body = each
                return exited
    return None


def _matching_condition(status: Body, patterns: Iterable[Body]) -> str:
    wanted = {(each["type"], each["status"]) for each in patterns}
    for condition in status.get("conditions") or ():
        if (condition["type"], condition["status"]) in wanted:
            return str(condition["type"])
    return ""


def find_success(policy: Body | None, completions: int, succeeded: Collection[int]) -> str:
    """The message about the first rule of `successPolicy` that is met; "" for none."""
    for number, rule in enumerate((policy or {}).get("rules") or () if succeeded else ()):
        count, listed = rule.get("succeededCount"), rule.get("succeededIndexes")
        if listed is None:
            met = count is not None and len(succeeded) >= count
        else:
            # as intervals: a list may name billions of indexes
            wanted = read_ranges(listed, completions)
            done, total = _count_within(succeeded, wanted), sum(map(len, wanted))
            met = total > 0 and (done == total or (count is not None and done >= count))
        if met:
            return f"Matched rules at index {number}"
    return ""


def _count_within(indexes: Iterable[int], ranges: Iterable[range]) -> int:
    ordered = sorted(indexes)
    return sum(
        bisect_left(ordered, each.stop) - bisect_left(ordered, each.start) for each in ranges
    )
