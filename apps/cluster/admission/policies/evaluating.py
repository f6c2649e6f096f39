"""Evaluates the expressions of one policy for one request, within what that may cost.

The limits of an expression and of a policy are those of Kubernetes. It has none for a request: any
number of policies and of their parameters may each use up theirs. Here one has (`RequestBudget`),
because one process serves everybody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from apps.cel.effort import CostExceeded, Effort
from apps.cel.tracking import CostTracker
from apps.cel.values import CelError, Value
from apps.cluster.validation.policy_programs import (
    NO_PROGRAMS,
    Check,
    Expression,
    Mutation,
    PolicyPrograms,
)

#: What one expression, all of a policy, and all of its conditions may cost.
_EXPRESSION_LIMIT: Final = 1_000_000
_POLICY_LIMIT: Final = 10_000_000
_CONDITIONS_LIMIT: Final = 2_500_000
#: What all policies together may cost in one request: more than any one of them.
_REQUEST_LIMIT: Final = 12_500_000
_LONGEST_MESSAGE: Final = 5 * 1024
_EXCEEDED: Final = "operation cancelled: actual cost limit exceeded"
_NO_BUDGET: Final = (
    "validation failed due to running out of cost budget, no further validation rules will be run"
)

_NO_REQUEST_BUDGET: Final = (
    "validation failed because the policies for this request cost too much together, "
    "no further validation rules will be run"
)


@dataclass(frozen=True, slots=True)
class Failure:
    """What a policy has against a request. `index`: of the validation."""

    index: int
    message: str
    reason: str = "Invalid"


@dataclass(frozen=True, slots=True)
class Findings:
    """The result of a policy: its failures, and its annotations for an audit log."""

    failures: tuple[Failure, ...] = ()
    #: Failures that deny the request whatever the actions of the binding are.
    denials: tuple[Failure, ...] = ()
    annotations: tuple[tuple[str, str], ...] = ()


class EvaluationError(Exception):
    """Expressions have no value; the message says why."""


class _OutOfBudget(Exception):
    """All expressions together cost too much."""


class _Failed(Exception):
    """An expression ended in an error."""


class RequestBudget:
    """What the expressions of all policies may still cost for one request."""

    __slots__ = ("effort", "left")

    def __init__(self, left: int = _REQUEST_LIMIT) -> None:
        self.left = left
        self.effort = Effort()


def evaluate(
    programs: PolicyPrograms,
    values: Mapping[str, Value],
    budget: RequestBudget,
    *,
    ignores_errors: bool,
) -> Findings:
    """What a policy finds. With `ignores_errors`, errors of expressions count for nothing."""
    try:
        if not _meets(programs.conditions, _Run(programs, values, _CONDITIONS_LIMIT, budget)):
            return Findings()
        run = _Run(programs, values, _POLICY_LIMIT, budget)
        failures = tuple(_failures(run, programs.checks, ignores_errors=ignores_errors))
        annotating = _Run(programs, values, _POLICY_LIMIT, budget)
        denials, annotations = _annotate(annotating, programs, ignores_errors=ignores_errors)
    except (_OutOfBudget, _Failed) as error:
        return Findings() if ignores_errors else Findings((Failure(0, str(error)),))
    return Findings(failures, denials, annotations)


class MutationRun:
    """The expressions of a mutating policy for one request, one after the other."""

    def __init__(self, programs: PolicyPrograms, budget: RequestBudget) -> None:
        self._programs, self._budget = programs, budget
        self._left = _POLICY_LIMIT

    def meets(self, values: Mapping[str, Value]) -> bool:
        """Whether all conditions are true; EvaluationError."""
        return meets(self._programs.conditions, values, self._budget)

    def value(self, mutation: Mutation, values: Mapping[str, Value]) -> Value:
        """The value of a mutation, with the object as it is now; EvaluationError."""
        run = _Run(self._programs, values, self._left, self._budget)
        try:
            return run.value(mutation.expression)
        except (_OutOfBudget, _Failed) as error:
            raise EvaluationError(str(error)) from None
        finally:
            self._left = run.left


def meets(
    conditions: Sequence[Expression], values: Mapping[str, Value], budget: RequestBudget
) -> bool:
    """Whether all conditions are true; raises EvaluationError with what is wrong with them."""
    try:
        return _meets(conditions, _Run(NO_PROGRAMS, values, _CONDITIONS_LIMIT, budget))
    except (_OutOfBudget, _Failed) as error:
        raise EvaluationError(str(error)) from None


def _meets(conditions: Sequence[Expression], run: _Run) -> bool:
    """Whether all conditions are true: one that is false outweighs errors of others."""
    errors = []
    for condition in conditions:
        try:
            if run.value(condition) is False:
                return False
        except _Failed as error:
            errors.append(str(error))
    if errors:
        unique = list(dict.fromkeys(errors))
        raise _Failed(unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]")
    return True


def _failures(run: _Run, checks: tuple[Check, ...], *, ignores_errors: bool) -> Iterator[Failure]:
    for index, check in enumerate(checks):
        try:
            if run.value(check.expression) is not True:
                yield Failure(index, _message(run, check), check.reason)
        except _Failed as error:
            if not ignores_errors:
                yield Failure(index, str(error))


def _message(run: _Run, check: Check) -> str:
    """Of the expression, if it evaluates to a text of one line that is not blank."""
    if check.message_expression is not None:
        try:
            value = run.value(check.message_expression)
        except _Failed:
            value = None
        text = value.strip() if isinstance(value, str) else ""
        if text and "\n" not in text and len(text.encode()) <= _LONGEST_MESSAGE:
            return text
    return check.message.strip() or f"failed expression: {check.expression.text.strip()}"


def _annotate(
    run: _Run, programs: PolicyPrograms, *, ignores_errors: bool
) -> tuple[tuple[Failure, ...], tuple[tuple[str, str], ...]]:
    failures: list[Failure] = []
    annotations: list[tuple[str, str]] = []
    for index, (key, expression) in enumerate(programs.annotations):
        try:
            value = run.value(expression)
        except _Failed as error:
            if not ignores_errors:
                failures.append(Failure(index, str(error)))
            continue
        if isinstance(value, str) and value.strip():
            annotations.append((key, value.strip()))
    return tuple(failures), tuple(annotations)


class _Run:
    """Evaluations that share their variables and what they may cost."""

    def __init__(
        self,
        programs: PolicyPrograms,
        values: Mapping[str, Value],
        budget: int,
        of_request: RequestBudget,
    ) -> None:
        self._budget = budget
        self._of_request = of_request
        self._values = {**values, "variables": _Variables(self, programs.variables)}

    @property
    def left(self) -> int:
        """What the expressions may still cost."""
        return self._budget

    def value(self, expression: Expression) -> Value:
        """The value of an expression; _Failed or _OutOfBudget."""
        if expression.program is None:
            raise _Failed(f"compilation error: {expression.problem}")
        if self._of_request.left < 0:
            raise _OutOfBudget(_NO_REQUEST_BUDGET)
        result = self.evaluate(expression)
        if self._budget < 0:
            raise _OutOfBudget(_NO_BUDGET)
        if isinstance(result, CelError):
            raise _Failed(f"expression '{expression.text}' resulted in error: {result.text}")
        return result

    def evaluate(self, expression: Expression) -> Value:
        assert expression.program is not None
        tracker = CostTracker(_EXPRESSION_LIMIT)
        try:
            with self._of_request.effort.shared():
                return expression.program.evaluate(self._values, tracker)
        except CostExceeded:
            return CelError(_EXCEEDED)
        finally:
            self._budget -= tracker.cost
            self._of_request.left -= tracker.cost


class _Variables(dict[str, Value]):
    """The variables of a policy, each evaluated when it is first read."""

    def __init__(self, run: _Run, expressions: Mapping[str, Expression]) -> None:
        super().__init__()
        self._run = run
        self._expressions = expressions

    def __missing__(self, name: str) -> Value:
        value = self[name] = self._read(name)
        return value

    def _read(self, name: str) -> Value:
        expression = self._expressions[name]
        if expression.program is None:
            why = f"fails to compile: {expression.problem}"
            return CelError(f'composited variable "{name}" {why}')
        value = self._run.evaluate(expression)
        if isinstance(value, CelError):
            return CelError(f'composited variable "{name}" fails to evaluate: {value.text}')
        return value
