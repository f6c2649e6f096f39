"""ResourceClaims, their templates, DeviceClasses and ResourceSlices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from apps.cluster.errors import Cause
from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
)
from apps.scheduler.cel.selector import COST_LIMIT, CompileProblem, compile_selector

Body = Mapping[str, Any]
#: the expressions that an object had before an update
Stored = frozenset[str]
_NOTHING_STORED: Final[Stored] = frozenset()

_MAX_EXPRESSION: Final = 10 * 1024
_MAX_SELECTORS: Final = 32
_NODES: Final = ("nodeName", "perDeviceNodeSelection", "nodeSelector", "allNodes")
_ONE_OF: Final = (
    "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
)


def claim_rule(path: str) -> Callable[[Body], Causes]:
    """The rule of an object with the spec of a claim at a path."""
    return partial(_validate_claim, path, _NOTHING_STORED)


def claim_update_rule(path: str) -> Callable[[Body, Body], Causes]:
    """The same for an update: expressions that are stored already are accepted as they are."""

    def rule(body: Body, old: Body) -> Causes:
        yield from _validate_claim(path, _list_expressions(old), body)

    return rule


def _validate_claim(path: str, stored: Stored, body: Body) -> Causes:
    spec: Any = body
    for step in path.split("."):
        spec = spec.get(step) or {}
    requests = (spec.get("devices") or {}).get("requests") or ()
    at = f"{path}.devices.requests"
    yield from _validate_names(requests, at)
    for index, request in enumerate(requests):
        yield from _validate_request(request, f"{at}[{index}]", stored)


def validate_device_class(body: Body) -> Causes:
    """A DeviceClass."""
    selectors = (body.get("spec") or {}).get("selectors")
    yield from _validate_selectors(selectors, "spec.selectors", _NOTHING_STORED)


def validate_device_class_update(body: Body, old: Body) -> Causes:
    """Expressions that are stored already are accepted as they are."""
    selectors = (body.get("spec") or {}).get("selectors")
    yield from _validate_selectors(selectors, "spec.selectors", _list_expressions(old))


def _list_expressions(value: Any) -> Stored:
    """The CEL expressions in a body."""
    if isinstance(value, Mapping):
        own = value.get("expression")
        found = {own} if isinstance(own, str) else set()
        return frozenset(found).union(*map(_list_expressions, value.values()))
    if isinstance(value, list):
        return _NOTHING_STORED.union(*map(_list_expressions, value))
    return _NOTHING_STORED


def validate_resource_slice(body: Body) -> Causes:
    """A ResourceSlice: its driver, its pool, and which nodes it is for."""
    spec = body.get("spec") or {}
    if not spec.get("driver"):
        yield required("spec.driver")
    if not (spec.get("pool") or {}).get("name"):
        yield required("spec.pool.name")
    given = [field for field in _NODES if spec.get(field)]
    if not given:
        yield required("spec", _ONE_OF)
    elif len(given) > 1:
        detail = f"{_ONE_OF}, but multiple fields are set"
        yield invalid("spec", f"{{{', '.join(given)}}}", detail)


def _validate_names(requests: Sequence[Body], path: str) -> Causes:
    seen: set[str] = set()
    for index, request in enumerate(requests):
        name = request.get("name", "")
        yield from all_invalid(f"{path}[{index}].name", name, names.dns_label(name))
        if name in seen:
            yield duplicate(path, name)
        seen.add(name)


def _validate_request(request: Body, path: str, stored: Stored) -> Causes:
    alternatives = request.get("firstAvailable") or ()
    if not request.get("exactly") and not alternatives:
        yield required(path, "exactly one of `exactly` or `firstAvailable` is required")
    if request.get("exactly"):
        yield from _validate_wanted(request["exactly"], f"{path}.exactly", stored)
    yield from _validate_names(alternatives, f"{path}.firstAvailable")
    for index, alternative in enumerate(alternatives):
        yield from _validate_wanted(alternative, f"{path}.firstAvailable[{index}]", stored)


def _validate_wanted(wanted: Body, path: str, stored: Stored) -> Causes:
    if not wanted.get("deviceClassName"):
        yield required(f"{path}.deviceClassName")
    yield from _validate_selectors(wanted.get("selectors"), f"{path}.selectors", stored)


def _validate_selectors(selectors: Sequence[Body] | None, path: str, stored: Stored) -> Causes:
    selectors = selectors or ()
    if len(selectors) > _MAX_SELECTORS:
        detail = f"Too many: {len(selectors)}: must have at most {_MAX_SELECTORS} items"
        yield Cause("FieldValueTooMany", detail, path)
        return
    for index, selector in enumerate(selectors):
        at = f"{path}[{index}].cel"
        if selector.get("cel") is None:
            yield required(at)
        elif selector["cel"].get("expression", "") not in stored:
            yield from _validate_expression(selector["cel"].get("expression", ""), at)


def _validate_expression(expression: str, path: str) -> Causes:
    """It compiles to a condition, and its evaluation cannot exceed the limit of costs."""
    field = f"{path}.expression"
    if len(expression.encode()) > _MAX_EXPRESSION:
        yield too_long(field, _MAX_EXPRESSION)
        return
    try:
        selector = compile_selector(expression)
    except CompileProblem as problem:
        if problem.internal:
            yield Cause("InternalError", f"Internal error: {problem}", field)
        else:
            yield invalid(field, expression, str(problem))
        return
    if selector.max_cost > COST_LIMIT:
        yield forbidden(field, "too complex, exceeds cost limit")
