"""Functions of lists and sets."""

from __future__ import annotations

import pytest

from tests.cel.evaluating import evaluate, problem_of

VALUES = [
    ("size([1, 2])", 2),
    ("{'a': 1}.size()", 1),
    ("[1, 2, 2].isSorted() && [].isSorted() && ['a', 'b'].isSorted()", True),
    ("[2, 1].isSorted()", False),
    ("[duration('1s'), duration('2s')].isSorted()", True),
    ("[1, 2, 3].sum()", 6),
    ("[1u, 2u].sum()", 3),
    ("[1.5, 2.0].sum()", 3.5),
    ("[].sum()", 0),
    ("[duration('1s'), duration('1m')].sum() == duration('61s')", True),
    ("[3, 1, 2].max()", 3),
    ("[3, 1, 2].min()", 1),
    ("['b', 'a'].min()", "a"),
    ("[1, 2, 2, 3].indexOf(2)", 1),
    ("[1, 2, 2, 3].lastIndexOf(2)", 2),
    ("[1].indexOf(2)", -1),
    ("[1].lastIndexOf(2)", -1),
    ("[1, 2, 3, 4].slice(1, 3)", [2, 3]),
    ("[1, 2].slice(2, 2)", []),
    ("[[1], [2, 3]].flatten()", [1, 2, 3]),
    ("[dyn(1), dyn([dyn(2), dyn([3])])].flatten(1)", [1, 2, [3]]),
    ("[dyn(1), dyn([dyn(2), dyn([3])])].flatten(2)", [1, 2, 3]),
    ("[dyn(1), dyn([2])].flatten(0)", [1, [2]]),
    ("[3, 1, 2].sort()", [1, 2, 3]),
    ("['b', 'a'].sort()", ["a", "b"]),
    ("[true, false].sort()", [False, True]),
    ("[1, 2, 3].reverse()", [3, 2, 1]),
    ("[1, 2, 1, 3, 2].distinct()", [1, 2, 3]),
    ("[dyn(1), dyn(1.0), dyn(1u), dyn('1')].distinct()", [1, "1"]),
    ("lists.range(3)", [0, 1, 2]),
    ("lists.range(0)", []),
    ("lists.range(-1)", []),
    # sets
    ("sets.contains([1, 2, 3], [3, 1])", True),
    ("sets.contains([1], [1, 2])", False),
    ("sets.contains([], [])", True),
    ("sets.contains([1], [])", True),
    ("sets.equivalent([1, 2], [2, 1, 1])", True),
    ("sets.equivalent([1, 2], [1])", False),
    ("sets.equivalent([], [])", True),
    ("sets.intersects([1, 2], [2, 3])", True),
    ("sets.intersects([1], [2])", False),
    ("sets.intersects([1], [])", False),
    ("sets.contains(dyn([1, 2]), [1.0])", True),
    ("sets.intersects([[1], [2]], [[2]])", True),
]

ERRORS = [
    ("[].max() == 0", "max called on empty list"),
    ("[].min() == 0", "min called on empty list"),
    ("[1, 2].slice(-1, 1)", "cannot slice(-1, 1), negative indexes not supported"),
    (
        "[1, 2].slice(1, 0)",
        "cannot slice(1, 0), start index must be less than or equal to end index",
    ),
    ("[1, 2].slice(0, 3)", "cannot slice(0, 3), list is length 2"),
    ("dyn([[1]]).flatten(-1)", "level must be non-negative"),
    ("[9223372036854775807, 1].sum()", "integer overflow"),
    ("dyn(1).isSorted()", "no such overload: isSorted(int)"),
]

PROBLEMS = [
    (
        "['a'].sum() == ''",
        "1:10: found no matching overload for 'sum' applied to 'list(string).()'",
    ),
    (
        "[[1]].sort() == []",
        "1:11: found no matching overload for 'sort' applied to 'list(list(int)).()'",
    ),
    (
        "[[1]].max() == 1",
        "1:10: found no matching overload for 'max' applied to 'list(list(int)).()'",
    ),
    (
        "[1].slice(1) == []",
        "1:10: found no matching overload for 'slice' applied to 'list(int).(int)'",
    ),
    (
        "[1].indexOf('a') == 0",
        "1:12: found no matching overload for 'indexOf' applied to 'list(int).(string)'",
    ),
    (
        "sets.contains([1], ['a'])",
        "1:14: found no matching overload for 'sets.contains' applied to '(list(int), "
        "list(string))'",
    ),
    (
        "sets.intersects([1], 1)",
        "1:16: found no matching overload for 'sets.intersects' applied to '(list(int), int)'",
    ),
    (
        "lists.range('a') == []",
        "1:12: found no matching overload for 'lists.range' applied to '(string)'",
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
