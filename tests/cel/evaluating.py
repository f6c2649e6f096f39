"""Expressions without variables: their values, and the errors of the compiler and at run time."""

from __future__ import annotations

from apps.cel.checking import Environment
from apps.cel.programs import Program, compile_program
from apps.cel.selector import CompileProblem
from apps.cel.tracking import CostTracker
from apps.cel.values import CelError, Value

_LIMIT = 10_000_000


def evaluate(expression: str) -> Value:
    """The value; the text of the error if it has none."""
    return _run(expression)[0]


def cost_of(expression: str) -> int:
    return _run(expression)[1]


def estimate(expression: str) -> int:
    """The most that an evaluation may cost."""
    return _compile(expression).max_cost


def problem_of(expression: str) -> str:
    """Where the compiler refuses the expression, and why: `1:5: text`."""
    try:
        _compile(expression)
    except CompileProblem as refused:
        text = str(refused).partition("\n")[0]
        return text.removeprefix("compilation failed: ").removeprefix("ERROR: <input>:")
    return "it compiles"


def _run(expression: str) -> tuple[Value, int]:
    tracker = CostTracker(_LIMIT)
    found = _compile(expression).evaluate({}, tracker)
    return found.text if isinstance(found, CelError) else found, tracker.cost


def _compile(expression: str) -> Program:
    return compile_program(expression, Environment({}, {}), lambda path: None)
