"""What the compiler refuses after the type check: literals that cannot be evaluated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from apps.cel import regexes
from apps.cel.checking import Checked
from apps.cel.conversions import to_duration, to_timestamp
from apps.cel.tree import Call, Comprehension, Const, Expr, ListExpr, MapExpr, Select, StructExpr
from apps.cel.types import Type, unwrap_optional
from apps.cel.values import CelError, Value

Problems = Iterator[tuple[int, str]]


def _check_pattern(pattern: Value) -> Value:
    problem = regexes.problem_of(pattern) if isinstance(pattern, str) else ""
    return CelError(problem) if problem else True


_CLAUSE: Final = re.compile(r"%(?:\.[0-9]+)?[sdfexXob%]")
_LITERALS: Final[dict[str, Callable[[Value], Value]]] = {
    "duration": to_duration,
    "timestamp": to_timestamp,
    "matches": _check_pattern,
}


def check_literals(tree: Expr, checked: Checked) -> Problems:
    """(offset, text) of every literal that is wrong."""
    return _visit(tree, checked, in_format=False)


def _visit(expr: Expr, checked: Checked, *, in_format: bool) -> Problems:
    if isinstance(expr, Call):
        yield from _check_argument(expr)
        yield from _check_format(expr)
    if isinstance(expr, (ListExpr, MapExpr)) and not in_format and type(expr) is not StructExpr:
        yield from _check_elements(expr, checked)
    is_literal = isinstance(expr, (ListExpr, MapExpr))
    inside = (isinstance(expr, Call) and expr.function == "format") or (is_literal and in_format)
    for part in parts_of(expr):
        yield from _visit(part, checked, in_format=inside)


def parts_of(expr: Expr) -> list[Expr]:
    """The expressions directly inside an expression."""
    if isinstance(expr, Select):
        return [expr.operand]
    if isinstance(expr, Call):
        return [expr.target, *expr.args] if expr.target is not None else list(expr.args)
    if isinstance(expr, ListExpr):
        return list(expr.elements)
    if isinstance(expr, MapExpr):
        return [each for key, value, _ in expr.entries for each in (key, value)]
    if isinstance(expr, Comprehension):
        loop = [expr.loop_condition, expr.loop_step]
        return [expr.iter_range, expr.accu_init, *loop, expr.result]
    return []


def _check_argument(expr: Call) -> Problems:
    check = _LITERALS.get(expr.function)
    if check is None or not expr.args or not isinstance(expr.args[0], Const):
        return
    if isinstance(check(expr.args[0].value), CelError):
        yield expr.args[0].offset, f"invalid {expr.function} argument"


def _check_format(expr: Call) -> Problems:
    """A constant format has a clause for each of its arguments."""
    template, args = expr.target, expr.args[0] if expr.args else None
    if expr.function != "format" or not isinstance(args, ListExpr):
        return
    if not isinstance(template, Const) or not isinstance(template.value, str):
        return
    wanted = sum(clause != "%%" for clause in _CLAUSE.findall(template.value))
    given = len(args.elements)
    if wanted > given:
        yield expr.offset, f"index {given} out of range"
    elif wanted < given:
        text = f"too many arguments supplied to string.format (expected {wanted}, got {given})"
        yield expr.offset, text


def _check_elements(expr: ListExpr | MapExpr, checked: Checked) -> Problems:
    """The elements of a list, the keys and the values of a map have one type each."""
    if isinstance(expr, ListExpr):
        elements = [
            (each, position in expr.optional) for position, each in enumerate(expr.elements)
        ]
        yield from list(_mismatches(elements, checked))[:1]
        return
    yield from _mismatches([(key, False) for key, _, _ in expr.entries], checked)
    yield from _mismatches([(value, optional) for _, value, optional in expr.entries], checked)


def _mismatches(elements: list[tuple[Expr, bool]], checked: Checked) -> Problems:
    common: Type | None = None
    for expr, optional in elements:
        element_type = checked.types[expr.id]
        if optional:
            element_type = unwrap_optional(element_type)[0]
        common = common or element_type
        if element_type != common:
            yield expr.offset, f"expected type '{common}' but found '{element_type}'"
