"""CEL selectors of requests and DeviceClasses, which are compiled when they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.cel.checking import LISTS, WRITTEN_SINGLE_VALUES
from apps.cel.effort import CostExceeded
from apps.cel.selector import COST_LIMIT, CompileProblem, compile_selector
from apps.cluster.errors import Cause
from apps.cluster.validation.causes import Causes, forbidden, invalid, required, too_long
from apps.cluster.validation.devices.parts import validate_items
from apps.cluster.validation.gates import LIST_ATTRIBUTES, is_enabled

Body = Mapping[str, Any]
#: the expressions that an object had before an update
Stored = frozenset[str]
NOTHING_STORED: Final[Stored] = frozenset()

_MAX_EXPRESSION: Final = 10 * 1024
_MAX_SELECTORS: Final = 32


def list_expressions(value: Any) -> Stored:
    """The CEL expressions in a body."""
    if isinstance(value, Mapping):
        own = value.get("expression")
        expressions = {own} if isinstance(own, str) else set()
        return frozenset(expressions).union(*map(list_expressions, value.values()))
    if isinstance(value, list):
        return NOTHING_STORED.union(*map(list_expressions, value))
    return NOTHING_STORED


def validate_selectors(
    selectors: Sequence[Body] | None, path: str, stored: Stored = NOTHING_STORED
) -> Causes:
    """Selectors; expressions that are stored already are accepted as they are."""

    def validate_selector(selector: Body, at: str) -> Causes:
        if selector.get("cel") is None:
            yield required(f"{at}.cel")
        elif selector["cel"].get("expression", "") not in stored:
            yield from _validate_expression(selector["cel"].get("expression", ""), f"{at}.cel")

    yield from validate_items(selectors, path, validate_selector, most=_MAX_SELECTORS)


def _validate_expression(expression: str, path: str) -> Causes:
    """It compiles to a condition, and its evaluation cannot exceed the limit of costs."""
    field = f"{path}.expression"
    if len(expression.encode()) > _MAX_EXPRESSION:
        yield too_long(field, _MAX_EXPRESSION)
        return
    try:
        environment = LISTS if is_enabled(LIST_ATTRIBUTES) else WRITTEN_SINGLE_VALUES
        selector = compile_selector(expression, environment)
    except CompileProblem as problem:
        if problem.internal:
            yield Cause("InternalError", f"Internal error: {problem}", field)
        else:
            yield invalid(field, expression, str(problem))
        return
    except CostExceeded:
        yield forbidden(field, "the expressions of this object take too long to compile")
        return
    if selector.max_cost > COST_LIMIT:
        yield forbidden(field, "too complex, exceeds cost limit")
