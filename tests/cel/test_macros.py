"""Macros over lists and maps, with one variable and with two; cel.bind and has."""

from __future__ import annotations

import pytest

from apps.cel.checking import ONLY_OF_DEVICES
from tests.cel.evaluating import evaluate, problem_of, problems_of

VALUES = [
    # one variable
    ("[1, 2, 3].all(x, x > 0)", True),
    ("[1, 2, 3].all(x, x > 1)", False),
    ("[].all(x, x > 1)", True),
    ("[1, 2, 3].exists(x, x == 2)", True),
    ("[].exists(x, true)", False),
    ("[1, 2, 3].exists_one(x, x > 2)", True),
    ("[1, 2, 3].exists_one(x, x > 1)", False),
    ("[].exists_one(x, true)", False),
    ("[1, 2, 3].map(x, x * x)", [1, 4, 9]),
    ("[1, 2, 3].map(x, x != 2, x * x)", [1, 9]),
    ("[1, 2, 3].filter(x, x != 2)", [1, 3]),
    ("[].map(x, x)", []),
    ("{'a': 1, 'b': 2}.all(k, k < 'c')", True),
    ("{'a': 1, 'b': 2}.exists(k, k == 'b')", True),
    ("{'a': 1, 'b': 2}.filter(k, k != 'a')", ["b"]),
    ("{'a': 1}.map(k, k + k)", ["aa"]),
    ("[[1, 2], [3]].map(x, x.map(y, y + 1))", [[2, 3], [4]]),
    ("[1, 2].map(x, [3, 4].map(x, x * 10))", [[30, 40], [30, 40]]),
    ("[1, 2].all(x, [1, 2].exists(y, y == x))", True),
    # one side that decides makes errors irrelevant
    ("[1, 0].exists(x, 1 / x == 1)", True),
    ("[0, 1].exists(x, 1 / x == 1)", True),
    ("[0, 2].all(x, 1 / x == 1)", False),
    # two variables: index and element, key and value
    ("[1, 2].all(i, v, v == i + 1)", True),
    ("[5, 6].exists(i, v, i == 1 && v == 6)", True),
    ("[5, 6].existsOne(i, v, v > 4)", False),
    ("[5, 6].exists_one(i, v, v > 5)", True),
    ("{'a': 1}.all(k, v, k == 'a' && v == 1)", True),
    ("{'a': 1, 'b': 2}.exists(k, v, k == 'b' && v == 1)", False),
    ("[1, 2].transformList(i, v, i * v)", [0, 2]),
    ("[1, 2].transformList(i, v, i > 0, v)", [2]),
    ("{'a': 1}.transformList(k, v, k + string(v))", ["a1"]),
    ("[4, 5].transformMap(i, v, v * 2)", {0: 8, 1: 10}),
    ("{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v * 2)", {"b": 4}),
    ("{'a': 1}.transformMapEntry(k, v, {v: k})", {1: "a"}),
    ("[7, 8].transformMapEntry(i, v, v > 7, {v: i})", {8: 1}),
    # cel.bind
    ("cel.bind(x, 2, x * x)", 4),
    ("cel.bind(x, 2, cel.bind(y, x + 1, x * y))", 6),
    ("cel.bind(x, 1 / 0, true)", True),
    ("cel.bind(x, [1, 2], x + x)", [1, 2, 1, 2]),
    # sortBy
    ("['ccc', 'a', 'bb'].sortBy(x, x.size())", ["a", "bb", "ccc"]),
    ("[1, 2, 3].sortBy(x, -x)", [3, 2, 1]),
    ("[].sortBy(x, x)", []),
]

ERRORS = [
    ("[0, 2].exists(x, 1 / x == 1)", "division by zero"),
    ("[0, 1].all(x, 1 / x == 1)", "division by zero"),
    ("[1, 0].map(x, 1 / x)", "division by zero"),
    ("[1, 0].filter(x, 1 / x == 1)", "division by zero"),
    ("[1, 0].exists_one(x, 1 / x == 1)", "division by zero"),
    ("cel.bind(x, 1 / 0, x == 1)", "division by zero"),
    ("[1, 1].transformMapEntry(i, v, {v: i})", "insert failed: key 1 already exists"),
]

PROBLEMS = [
    ("[1].all(x, x + 1)", "1:14: expected type 'bool' but found 'int'"),
    (
        "[1].filter(x, x)",
        "1:11: found no matching overload for '_?_:_' applied to '(int, list(int), list(int))'",
    ),
    (
        "'abc'.map(x, x)",
        "1:1: expression of type 'string' cannot be range of a comprehension (must be list, "
        "map, or dynamic)",
    ),
    (
        "(1).exists(x, true)",
        "1:2: expression of type 'int' cannot be range of a comprehension (must be list, map, "
        "or dynamic)",
    ),
    ("[1].all(x, y == 1)", "1:12: undeclared reference to 'y' (in container '')"),
    ("[1].map(x, x).exists(y, x == 1)", "1:25: undeclared reference to 'x' (in container '')"),
    ("has('a')", "1:5: invalid argument to has() macro"),
    (
        "cel.bind(x, 1, x == 'a')",
        "1:18: found no matching overload for '_==_' applied to '(int, string)'",
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


@pytest.mark.parametrize(
    ("expression", "problems"),
    [
        (
            "cel.bind(x, 1, x == 1)",
            [
                "1:1: undeclared reference to 'cel' (in container '')",
                "1:9: undeclared reference to 'bind' (in container '')",
                "1:10: undeclared reference to 'x' (in container '')",
                "1:16: undeclared reference to 'x' (in container '')",
            ],
        ),
        ("[1, 2].sortBy(x, x).size() == 2", []),
    ],
)
def test_only_selectors_of_devices_know_bind(expression: str, problems: list[str]) -> None:
    assert problems_of(expression, ONLY_OF_DEVICES) == problems
