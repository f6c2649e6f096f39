"""Expressions without variables: their values, and the errors of the compiler and at run time."""

from __future__ import annotations

from collections.abc import Set

from apps.cel.checking import Environment
from apps.cel.programs import Program, compile_program
from apps.cel.selector import CompileProblem
from apps.cel.tracking import CostTracker
from apps.cel.values import CelError, Value

_LIMIT = 10_000_000


def evaluate(expression: str) -> Value:
    """The value; the text of the error if it has none."""
    found = _compile(expression).evaluate({}, CostTracker(_LIMIT))
    return found.text if isinstance(found, CelError) else found


def problem_of(expression: str) -> str:
    """Where the compiler refuses the expression, and why: `1:5: text`."""
    return next(iter(problems_of(expression)), "it compiles")


def problems_of(expression: str, without: Set[str] = frozenset()) -> list[str]:
    """All of them."""
    try:
        _compile(expression, without)
    except CompileProblem as refused:
        text = str(refused).removeprefix("compilation failed: ")
        lines = [line for line in text.split("\n") if not line.startswith(" |")]
        return [line.removeprefix("ERROR: <input>:") for line in lines]
    return []


def _compile(expression: str, without: Set[str] = frozenset()) -> Program:
    return compile_program(expression, Environment({}, {}, without), lambda path: None)
