"""CEL selectors of devices: compiled once, evaluated once per distinct device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from apps.caching import cache_within
from apps.cel.checking import SINGLE_VALUES, Environment
from apps.cel.compiling import check_selector
from apps.cel.conversions import parse_semver
from apps.cel.effort import CostExceeded, limited
from apps.cel.estimation import estimate_cost
from apps.cel.evaluation import Evaluation, find_error, fold
from apps.cel.parsing import SyntaxProblem, parse_expression
from apps.cel.tracking import CostTracker
from apps.cel.tree import Expr
from apps.cel.values import CelError, DefaultMap, OptionalValue, Quantity, Value, type_name

COST_LIMIT: Final = 1_000_000
#: Characters of all selectors that are kept.
_CHARACTERS: Final = 1024 * 1024
_EXCEEDED: Final = CelError("operation cancelled: actual cost limit exceeded")
_CONVERSION_ERRORS: Final = {
    "int": "unsupported type conversion from 'int' to bool",
    "string": "unsupported native conversion from string to 'bool'",
    "list": "type conversion error from list to 'bool'",
    "kubernetes.Semver": "type conversion error from 'Semver' to 'bool'",
}


class CompileProblem(ValueError):
    """The expression is refused. ``internal``: when its program was built, not by the compiler."""

    def __init__(self, text: str, *, internal: bool = False) -> None:
        super().__init__(text)
        self.internal = internal


@dataclass(frozen=True, slots=True)
class Outcome:
    """``result`` is a bool or the error of the evaluation."""

    result: bool | CelError
    cost: int


@dataclass(frozen=True, slots=True, eq=False)
class Selector:
    """``max_cost``: the most that an evaluation costs; 2**64 - 1 without a limit."""

    expression: str
    tree: Expr
    max_cost: int

    def matches(self, device: Mapping[str, Any]) -> Outcome:
        """``device``: the variable, see :func:`device_variable`."""
        tracker = CostTracker(COST_LIMIT)
        try:
            with limited():
                value = Evaluation({"device": device}, tracker).evaluate(self.tree)
        except (CostExceeded, RecursionError):
            value = _EXCEEDED
        return Outcome(_as_bool(value), tracker.cost)


@cache_within(_CHARACTERS)
def compile_selector(expression: str, environment: Environment = SINGLE_VALUES) -> Selector:
    """The compiled expression; raises CompileProblem. ``environment``: one of those for devices."""
    try:
        tree = parse_expression(expression, environment.without)
    except SyntaxProblem as wrong:
        raise CompileProblem(f"compilation failed: {wrong}") from None
    problem, checked = check_selector(tree, expression, environment)
    if problem:
        raise CompileProblem(problem)
    folded = fold(tree)
    failed = find_error(folded)
    if failed is not None:
        raise CompileProblem(f"program instantiation failed: {failed.text}", internal=True)
    return Selector(expression, folded, estimate_cost(tree, checked))


def device_variable(
    driver: str,
    attributes: Mapping[str, tuple[str, Value]],
    capacity: Mapping[str, str | int | float],
    allow_multiple_allocations: bool,
) -> Mapping[str, Any]:
    """The variable ``device``. ``attributes``: name -> (int, bool, string or version; value).

    The value may be a list of values of the type.
    """
    by_domain, amounts = DefaultMap(), DefaultMap()
    for name, (kind, value) in attributes.items():
        domain, _, identifier = name.rpartition("/")
        parsed = _parse_versions(value) if kind == "version" else value
        by_domain.setdefault(domain or driver, {})[identifier] = parsed
    for name, amount in capacity.items():
        domain, _, identifier = name.rpartition("/")
        amounts.setdefault(domain or driver, {})[identifier] = Quantity.parse(str(amount))
    return {
        "driver": driver,
        "attributes": by_domain,
        "capacity": amounts,
        "allowMultipleAllocations": allow_multiple_allocations,
    }


def _parse_versions(value: Value) -> Value:
    return (
        [parse_semver(each) for each in value] if isinstance(value, list) else parse_semver(value)
    )


def _as_bool(value: Value) -> bool | CelError:
    if isinstance(value, (bool, CelError)):
        return value
    if isinstance(value, OptionalValue):
        return CelError(_not_bool(value, "type conversion error from 'optional_type' to 'bool'"))
    name = type_name(value)
    text = _CONVERSION_ERRORS.get(name, f"type conversion error from '{name}' to 'bool'")
    return CelError(_not_bool(value, text))


def _not_bool(value: Value, text: str) -> str:
    return f"CEL result of type {type_name(value)} could not be converted to bool: {text}"
