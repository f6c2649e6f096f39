"""The rules of a Job about failed pods and about early success, and lists of indexes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    duplicate,
    invalid,
    invalid_without_value,
    not_supported,
    required,
    too_long,
    too_many,
)

Body = Mapping[str, Any]

_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS: Final = ("In", "NotIn")
_STATUSES: Final = ("False", "True", "Unknown")
_MAX_RULES: Final = 20
_MAX_EXIT_CODES: Final = 255
_MAX_PATTERNS: Final = 20
_MAX_INDEXES_LENGTH: Final = 64 * 1024


class IndexesProblem(Exception):
    """A list of indexes that cannot be read; the text says why."""


def validate_failure_policy(spec: Body, path: str) -> Causes:
    """`podFailurePolicy` of the spec of a Job, at `path`."""
    rules = spec["podFailurePolicy"].get("rules") or ()
    if len(rules) > _MAX_RULES:
        yield too_many(f"{path}.rules", len(rules), _MAX_RULES)
    pod = (spec.get("template") or {}).get("spec") or {}
    containers = {
        each.get("name")
        for field in ("containers", "initContainers")
        for each in pod.get(field) or ()
    }
    for number, rule in enumerate(rules):
        yield from _failure_rule(spec, rule, f"{path}.rules[{number}]", containers)


def _failure_rule(spec: Body, rule: Body, path: str, containers: set[Any]) -> Causes:
    action = rule.get("action", "")
    if not action:
        yield required(f"{path}.action", _valid(_ACTIONS))
    elif action == "FailIndex":
        if spec.get("backoffLimitPerIndex") is None:
            yield invalid(f"{path}.action", action, "requires the backoffLimitPerIndex to be set")
    elif action not in _ACTIONS:
        yield not_supported(f"{path}.action", action, _ACTIONS)
    codes, patterns = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
    if codes is not None:
        yield from _exit_codes(codes, f"{path}.onExitCodes", containers)
    if patterns:
        yield from _conditions(patterns, f"{path}.onPodConditions")
    if codes is not None and patterns:
        detail = "specifying both OnExitCodes and OnPodConditions is not supported"
        yield invalid_without_value(path, detail)
    if codes is None and not patterns:
        detail = "specifying one of OnExitCodes and OnPodConditions is required"
        yield invalid_without_value(path, detail)


def _exit_codes(codes: Body, path: str, containers: set[Any]) -> Causes:
    operator, values = codes.get("operator", ""), codes.get("values") or []
    if not operator:
        yield required(f"{path}.operator", _valid(_OPERATORS))
    elif operator not in _OPERATORS:
        yield not_supported(f"{path}.operator", operator, _OPERATORS)
    name = codes.get("containerName")
    if name is not None and name not in containers:
        detail = "must be one of the container or initContainer names in the pod template"
        yield invalid(f"{path}.containerName", name, detail)
    if not values:
        yield invalid(f"{path}.values", codes.get("values"), "at least one value is required")
    elif len(values) > _MAX_EXIT_CODES:
        yield too_many(f"{path}.values", len(values), _MAX_EXIT_CODES)
    known: set[int] = set()
    for number, value in enumerate(values):
        if operator == "In" and value == 0:
            detail = "must not be 0 for the In operator"
            yield invalid(f"{path}.values[{number}]", value, detail)
        if value in known:
            yield duplicate(f"{path}.values[{number}]", value)
        known.add(value)
    if list(values) != sorted(values):
        yield invalid(f"{path}.values", values, "must be ordered")


def _conditions(patterns: Any, path: str) -> Causes:
    if len(patterns) > _MAX_PATTERNS:
        yield too_many(path, len(patterns), _MAX_PATTERNS)
    for number, pattern in enumerate(patterns):
        kind, status = pattern.get("type", ""), pattern.get("status", "")
        yield from all_invalid(f"{path}[{number}].type", kind, names.qualified_name(kind))
        if not status:
            yield required(f"{path}[{number}].status", _valid(_STATUSES))
        elif status not in _STATUSES:
            yield not_supported(f"{path}[{number}].status", status, _STATUSES)


def validate_success_policy(spec: Body, path: str) -> Causes:
    """`successPolicy` of the spec of an Indexed Job, at `path`."""
    rules = spec["successPolicy"].get("rules") or ()
    if not rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        yield required(f"{path}.rules", detail)
    if len(rules) > _MAX_RULES:
        yield too_many(f"{path}.rules", len(rules), _MAX_RULES)
    for number, rule in enumerate(rules):
        yield from _success_rule(rule, spec.get("completions") or 0, f"{path}.rules[{number}]")


def _success_rule(rule: Body, completions: int, path: str) -> Causes:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and indexes is None:
        detail = "at least one of succeededCount or succeededIndexes must be specified"
        yield required(path, detail)
    total = 0
    if indexes is not None:
        if len(indexes) > _MAX_INDEXES_LENGTH:
            yield too_long(f"{path}.succeededIndexes", _MAX_INDEXES_LENGTH)
        try:
            total = count_indexes(indexes, completions)
        except IndexesProblem as problem:
            detail = f"error parsing succeededIndexes: {problem}"
            yield invalid(f"{path}.succeededIndexes", indexes, detail)
    if count is None:
        return
    if count < 0:
        yield invalid(f"{path}.succeededCount", count, names.NOT_NEGATIVE)
    most = "must be less than or equal to"
    if count > completions:
        detail = f"{most} {completions} (the number of specified completions)"
        yield invalid(f"{path}.succeededCount", count, detail)
    if indexes is not None and count > total:
        listed = "the number of indexes in the specified succeededIndexes field"
        yield invalid(f"{path}.succeededCount", count, f"{most} {total} ({listed})")


def count_indexes(text: str, completions: int) -> int:
    """How many indexes a list such as "1,3-5" has; raises `IndexesProblem`."""
    total, last = 0, -1
    for part in text.split(",") if text else ():
        first, end = _interval(part, completions)
        if last >= first and total:
            raise _not_increasing(last, first)
        total, last = total + end - first + 1, end
    return total


def _interval(text: str, completions: int) -> tuple[int, int]:
    limits = text.split("-")
    if len(limits) > 2:
        rule = "an index interval can have at most two parts separated by '-'"
        raise IndexesProblem(f'the fragment "{text}" violates the requirement that {rule}')
    first = _index(limits[0], completions)
    if len(limits) == 1:
        return first, first
    end = _index(limits[1], completions)
    if first >= end:
        raise _not_increasing(first, end)
    return first, end


def _index(text: str, completions: int) -> int:
    if not (text.isascii() and text.removeprefix("+").isdecimal()):
        raise IndexesProblem(f'cannot convert string to integer for index: "{text}"')
    value = int(text[:20])
    if value >= completions:
        raise IndexesProblem(f'too large index: "{text}"')
    return value


def _not_increasing(previous: int, current: int) -> IndexesProblem:
    return IndexesProblem(f"non-increasing order, previous: {previous}, current: {current}")


def _valid(values: Iterable[str]) -> str:
    return "valid values: [" + " ".join(f'"{one}"' for one in values) + "]"
