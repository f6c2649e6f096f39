"""Expressions with any variables, such as the validation rules of custom resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from apps.cel.checking import Checked, Environment
from apps.cel.compiling import check_expression
from apps.cel.effort import CostExceeded, limited
from apps.cel.estimation import Sizes, estimate_cost
from apps.cel.evaluation import Evaluation, find_error, fold
from apps.cel.parsing import SyntaxProblem, parse_expression
from apps.cel.selector import CompileProblem
from apps.cel.tracking import CostTracker
from apps.cel.tree import Call, Comprehension, Expr, Ident, ListExpr, MapExpr, Select
from apps.cel.types import Type
from apps.cel.values import Value


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A compiled expression. ``names``: what it refers to, variables of its macros included.

    ``max_cost``: the most that an evaluation costs, by the sizes with which it was compiled.
    """

    expression: str
    tree: Expr
    result: Type
    names: frozenset[str]
    max_cost: int

    def evaluate(self, variables: Mapping[str, Any], tracker: CostTracker) -> Value:
        """The result, which may be a CelError; CostExceeded."""
        try:
            with limited():
                return Evaluation(variables, tracker).evaluate(self.tree)
        except RecursionError:
            # values that refer to each other can be nested deeper than any expression
            raise CostExceeded from None


def compile_program(expression: str, environment: Environment, sizes: Sizes) -> Program:
    """The compiled expression, with `sizes` of the variables; raises CompileProblem."""
    tree, checked = _checked(expression, environment)
    folded = fold(tree)
    failed = find_error(folded)
    if failed is not None:
        raise CompileProblem(f"program instantiation failed: {failed.text}", internal=True)
    names = frozenset(each.name for each in _walk(tree) if isinstance(each, Ident))
    max_cost = estimate_cost(tree, checked, sizes)
    return Program(expression, folded, checked.types[tree.id], names, max_cost)


def type_of(expression: str, environment: Environment) -> Type:
    """The type of an expression; raises CompileProblem."""
    tree, checked = _checked(expression, environment)
    return checked.types[tree.id]


def _checked(expression: str, environment: Environment) -> tuple[Expr, Checked]:
    try:
        tree = parse_expression(expression, environment.without)
    except SyntaxProblem as wrong:
        raise CompileProblem(f"compilation failed: {wrong}") from None
    problem, checked = check_expression(tree, expression, environment)
    if problem:
        raise CompileProblem(problem)
    return tree, checked


def _walk(expr: Expr) -> Iterator[Expr]:
    yield expr
    for part in _parts(expr):
        yield from _walk(part)


def _parts(expr: Expr) -> list[Expr]:
    match expr:
        case Select():
            return [expr.operand]
        case Call():
            return [*expr.args, *([expr.target] if expr.target is not None else [])]
        case ListExpr():
            return expr.elements
        case MapExpr():
            return [part for key, value, _ in expr.entries for part in (key, value)]
        case Comprehension():
            parts = [expr.iter_range, expr.accu_init, expr.loop_condition]
            return [*parts, expr.loop_step, expr.result]
        case _:
            return []
