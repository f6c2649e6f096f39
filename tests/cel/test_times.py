"""Durations and timestamps: their parts, also in other time zones."""

from __future__ import annotations

import pytest

from tests.cel.evaluating import evaluate, problem_of

_TIME = "timestamp('2026-01-04T05:06:07.089Z')"

VALUES = [
    (f"{_TIME}.getFullYear()", 2026),
    (f"{_TIME}.getMonth()", 0),
    (f"{_TIME}.getDate()", 4),
    (f"{_TIME}.getDayOfMonth()", 3),
    (f"{_TIME}.getDayOfWeek()", 0),
    (f"{_TIME}.getDayOfYear()", 3),
    (f"{_TIME}.getHours()", 5),
    (f"{_TIME}.getMinutes()", 6),
    (f"{_TIME}.getSeconds()", 7),
    (f"{_TIME}.getMilliseconds()", 89),
    (f"{_TIME}.getHours('-05:30')", 23),
    (f"{_TIME}.getDate('-05:30')", 3),
    (f"{_TIME}.getMinutes('05:30')", 36),
    (f"{_TIME}.getHours('+02:00')", 7),
    (f"{_TIME}.getHours('America/New_York')", 0),
    (f"{_TIME}.getHours('UTC')", 5),
    ("timestamp('2024-12-31T00:00:00Z').getDayOfYear()", 365),
    ("duration('3723.456s').getHours()", 1),
    ("duration('3723.456s').getMinutes()", 62),
    ("duration('3723.456s').getSeconds()", 3723),
    ("duration('90m').getHours()", 1),
    ("duration('-90m').getHours()", -1),
    ("duration('-1500ms').getMilliseconds()", -1500),
]

ERRORS = [
    (f"{_TIME}.getHours('Nowhere')", "unknown time zone Nowhere"),
    ("dyn(1).getHours()", "no such overload: getHours(int)"),
]

PROBLEMS = [
    (
        "duration('1h').getFullYear() == 1",
        "1:27: found no matching overload for 'getFullYear' applied to 'duration.()'",
    ),
    (
        f"{_TIME}.getHours(1) == 1",
        "1:47: found no matching overload for 'getHours' applied to 'timestamp.(int)'",
    ),
    (
        "timestamp(0) + timestamp(0) == timestamp(0)",
        "1:14: found no matching overload for '_+_' applied to '(timestamp, timestamp)'",
    ),
]


@pytest.mark.parametrize(("expression", "value"), VALUES)
def test_values(expression: str, value: object) -> None:
    assert evaluate(expression) == value


@pytest.mark.parametrize(("expression", "error"), ERRORS)
def test_errors(expression: str, error: str) -> None:
    assert evaluate(expression) == error


@pytest.mark.parametrize(("expression", "problem"), PROBLEMS)
def test_what_the_compiler_refuses(expression: str, problem: str) -> None:
    assert problem_of(expression) == problem
