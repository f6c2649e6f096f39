"""The status of a Job, as its controller writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from apps.cluster.errors import Cause
from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    IMMUTABLE,
    Causes,
    duplicate,
    invalid,
    invalid_without_value,
    required,
)

Body = Mapping[str, Any]

_COUNTS: Final = ("active", "succeeded", "failed", "ready", "terminating")
#: Two conditions that are not true of one Job, in the order of messages.
_EXCLUSIVE: Final = (("Complete", "Failed"), ("Complete", "FailureTarget"))
_EXCLUSIVE_GOALS: Final = (
    ("SuccessCriteriaMet", "Failed"),
    ("SuccessCriteriaMet", "FailureTarget"),
)
#: A condition, and what is true before it.
_PRECEDED: Final = (("Failed", "FailureTarget"), ("Complete", "SuccessCriteriaMet"))
_TERMINAL: Final = ("Complete", "Failed", "FailureTarget")
_FINISHED: Final = frozenset({"Complete", "Failed"})
_STARTED: Final = "field is immutable for unsuspended job once set"


def validate_job_status(job: Body, old: Body) -> Causes:
    """The status of a Job after an update; what was wrong before may stay."""
    status, before = job.get("status") or {}, old.get("status") or {}
    for field in _COUNTS:
        if (status.get(field) or 0) < 0:
            yield invalid(f"status.{field}", status[field], names.NOT_NEGATIVE)
    yield from _uncounted(status.get("uncountedTerminatedPods") or {})
    yield from _consistent(job, status, before)
    yield from _changes(job, status, before)


def _uncounted(pods: Body) -> Causes:
    seen: set[str] = set()
    for field in ("succeeded", "failed"):
        for index, uid in enumerate(pods.get(field) or ()):
            path = f"status.uncountedTerminatedPods.{field}[{index}]"
            if not uid:
                yield invalid(path, uid, "must not be empty")
            elif uid in seen:
                yield duplicate(path, uid)
            seen.add(uid)


def _consistent(job: Body, status: Body, before: Body) -> Causes:
    """What the parts of a status say of each other, as far as an update changes them."""
    true = _true_conditions(status)
    changed = {name for name in {*status, *before} if status.get(name) != before.get(name)}
    changed |= true ^ _true_conditions(before)
    yield from _indexes(job.get("spec") or {}, status, changed)
    more_ready = (status.get("ready") or 0) > max(status.get("active") or 0, 0)
    if changed & {"ready", "active"} and more_ready:
        yield invalid("status.ready", status["ready"], "cannot set more ready pods than active")
    yield from _exclusive(_EXCLUSIVE, true, changed)
    yield from _completion(status, true, changed)
    for condition, earlier in _PRECEDED:
        if condition in true & changed and earlier not in true:
            detail = f"cannot set {condition}=True condition without the {earlier}=true condition"
            yield invalid_without_value("status.conditions", detail)
    yield from _exclusive(_EXCLUSIVE_GOALS, true, changed)
    if true & _FINISHED:
        yield from _finished(status, changed)


def _exclusive(
    pairs: tuple[tuple[str, str], ...], true: set[str], changed: set[str]
) -> Iterator[Cause]:
    for one, other in pairs:
        if {one, other} <= true and {one, other} & changed:
            detail = f"cannot set {one}=True and {other}=true conditions"
            yield invalid_without_value("status.conditions", detail)


def _completion(status: Body, true: set[str], changed: set[str]) -> Causes:
    moment, start = status.get("completionTime"), status.get("startTime")
    path, moved = "status.completionTime", changed & {"completionTime", "Complete"}
    if moment is None:
        if moved and "Complete" in true:
            yield required(path, "completionTime is required for Complete jobs")
        return
    if moved and "Complete" not in true:
        detail = "cannot set completionTime when there is no Complete=True condition"
        yield invalid(path, moment, detail)
    if changed & {"completionTime", "startTime"} and start is not None and moment < start:
        yield invalid(path, moment, "must be equal to or after `startTime`")


def _finished(status: Body, changed: set[str]) -> Causes:
    ended = changed & _FINISHED
    if (ended or "startTime" in changed) and status.get("startTime") is None:
        yield required("status.startTime", "startTime is required for finished job")
    for field in ("active", "terminating"):
        if (ended or field in changed) and (status.get(field) or 0) > 0:
            yield invalid(
                f"status.{field}", status[field], f"{field}>0 is invalid for finished job"
            )
    pods = status.get("uncountedTerminatedPods") or {}
    shown = {"Succeeded": pods.get("succeeded"), "Failed": pods.get("failed")}
    if (ended or "uncountedTerminatedPods" in changed) and any(shown.values()):
        yield invalid("status.uncountedTerminatedPods", shown, "must be empty for finished job")


def _indexes(spec: Body, status: Body, changed: set[str]) -> Causes:
    completed, failed = status.get("completedIndexes"), status.get("failedIndexes")
    limited = spec.get("backoffLimitPerIndex") is not None
    if "completedIndexes" in changed:
        yield from _list_of_indexes("completedIndexes", completed, spec)
    if "failedIndexes" in changed and limited:
        yield from _list_of_indexes("failedIndexes", failed, spec)
    if "completedIndexes" in changed and completed and spec.get("completionMode") != "Indexed":
        detail = "cannot set non-empty completedIndexes when non-indexed completion mode"
        yield invalid("status.completedIndexes", completed, detail)
    if "failedIndexes" in changed and failed is not None and not limited:
        detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        yield invalid("status.failedIndexes", failed, detail)


def _list_of_indexes(field: str, text: str | None, spec: Body) -> Causes:
    problem = _problem_of_indexes(text or "", spec.get("completions") or 0)
    if problem:
        yield invalid(f"status.{field}", text, f"error parsing {field}: {problem}")


def _problem_of_indexes(text: str, completions: int) -> str:
    """What is wrong with `1,3-5`: growing numbers below the completions."""
    last = -1
    for part in text.split(",") if text else ():
        for end in part.split("-"):
            if not end.isascii() or not end.isdecimal():
                return f'cannot convert string to integer for index: "{end}"'
            if int(end) >= completions:
                return f'too large index: "{end}"'
            if int(end) <= last:
                return f"non-increasing order, previous: {last}, current: {int(end)}"
            last = int(end)
    return ""


def _changes(job: Body, status: Body, before: Body) -> Causes:
    true, was = _true_conditions(status), _true_conditions(before)
    suspended = bool((job.get("spec") or {}).get("suspend"))
    for field in ("failed", "succeeded"):
        if (status.get(field) or 0) < (before.get(field) or 0):
            detail = f"cannot decrease the {field} counter"
            yield invalid(f"status.{field}", status.get(field) or 0, detail)
    for condition in _TERMINAL:
        if condition in was - true:
            detail = f"cannot disable the terminal {condition}=True condition"
            yield invalid_without_value("status.conditions", detail)
    if "SuccessCriteriaMet" in was - true:
        detail = "cannot disable the SuccessCriteriaMet=True condition"
        yield invalid_without_value("status.conditions", detail)
    start, started = status.get("startTime"), before.get("startTime")
    if started is not None and start != started and not suspended:
        yield invalid("status.startTime", start, _STARTED)
    moment, done = status.get("completionTime"), before.get("completionTime")
    if done is not None and moment is not None and moment != done:
        yield invalid("status.completionTime", moment, IMMUTABLE)


def _true_conditions(status: Body) -> set[str]:
    listed = status.get("conditions") or ()
    return {each.get("type", "") for each in listed if each.get("status") == "True"}
