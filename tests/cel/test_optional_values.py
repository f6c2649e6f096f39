"""Optional values: fields, indices, elements and entries that may be absent."""

from __future__ import annotations

import pytest

from tests.cel.evaluating import evaluate, problem_of

VALUES = [
    ("optional.of(1).hasValue()", True),
    ("optional.none().hasValue()", False),
    ("optional.of(1).value()", 1),
    ("optional.of(1).orValue(2)", 1),
    ("dyn(1).orValue(2)", 1),
    ("optional.none().orValue(2)", 2),
    ("optional.of(1).orValue(1 / 0)", 1),
    ("optional.none().or(optional.of(3)).value()", 3),
    ("optional.of(1).or(optional.of(3)).value()", 1),
    ("optional.ofNonZeroValue(0).hasValue()", False),
    ("optional.ofNonZeroValue('').hasValue()", False),
    ("optional.ofNonZeroValue([]).hasValue()", False),
    ("optional.ofNonZeroValue({}).hasValue()", False),
    ("optional.ofNonZeroValue(false).hasValue()", False),
    ("optional.ofNonZeroValue(null).hasValue()", False),
    ("optional.ofNonZeroValue(0.0).hasValue()", False),
    ("optional.ofNonZeroValue(1).value()", 1),
    ("optional.ofNonZeroValue(duration('0s')).hasValue()", False),
    ("{'a': 1}.?a.orValue(2)", 1),
    ("{'a': 1}.?b.orValue(2)", 2),
    ("{'a': {'b': 1}}.?a.b.orValue(2)", 1),
    ("{'a': {'b': 1}}.?x.b.orValue(2)", 2),
    ("{'a': 1}[?'a'].value()", 1),
    ("{'a': 1}[?'b'].hasValue()", False),
    ("[1, 2][?1].value()", 2),
    ("[1, 2][?2].hasValue()", False),
    ("[1, 2][?-1].hasValue()", False),
    ("optional.of([1, 2])[1].value()", 2),
    ("optional.of({'a': 1}).a.value()", 1),
    ("[?optional.of(1), ?optional.none(), 3]", [1, 3]),
    ("{?'a': optional.of(1), ?'b': optional.none()}", {"a": 1}),
    ("optional.of(2).optMap(x, x * 2).value()", 4),
    ("optional.none().optMap(x, x).hasValue()", False),
    ("optional.of(2).optFlatMap(x, optional.of(x + 1)).value()", 3),
    ("optional.of({'a': 1}).optFlatMap(x, x.?b).hasValue()", False),
    ("optional.of(1) == optional.of(1)", True),
    ("optional.of(1) == optional.of(2)", False),
    ("optional.none() == optional.none()", True),
    ("optional.of(1) == optional.none()", False),
    ("optional.of(null).hasValue()", True),
    ("optional.unwrap([optional.of(1), optional.none(), optional.of(2)])", [1, 2]),
    ("[optional.of(1), optional.none()].unwrapOpt()", [1]),
    ("[1, 2].first().value()", 1),
    ("[1, 2].last().value()", 2),
    ("[].first().hasValue() || [].last().hasValue()", False),
]

ERRORS = [
    ("optional.none().value() == 1", "optional.none() dereference"),
    ("{'a': 1}.?b.value()", "optional.none() dereference"),
    ("dyn(1).hasValue()", "no such overload: hasValue(int)"),
    ("optional.of(1 / 0).hasValue()", "division by zero"),
]

PROBLEMS = [
    (
        "optional.of(1).orValue('a') == 1",
        "1:23: found no matching overload for 'orValue' applied to 'optional_type(int).(string)'",
    ),
    ("(1).hasValue()", "1:13: found no matching overload for 'hasValue' applied to 'int.()'"),
    (
        "optional.of(1) == 1",
        "1:16: found no matching overload for '_==_' applied to '(optional_type(int), int)'",
    ),
    (
        "optional.of(1) + 1 == 2",
        "1:16: found no matching overload for '_+_' applied to '(optional_type(int), int)'",
    ),
    ("[?1] == [1]", "1:3: expected type 'optional_type(int)' but found 'int'"),
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
