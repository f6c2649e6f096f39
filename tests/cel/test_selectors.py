"""Expressions besides the recorded ones: the compiler, the estimate, functions and their errors."""

from __future__ import annotations

import pytest

from apps.cel.selector import CompileProblem, compile_selector, device_variable
from apps.cel.values import CelError

_DEVICE = device_variable(
    "gpu.example.com",
    {"model": ("string", "a100"), "index": ("int", 3), "csv": ("string", "a,b")},
    {"memory": "40Gi"},
    allow_multiple_allocations=False,
)
_A = "device.attributes['gpu.example.com']"
_C = "device.capacity['gpu.example.com']"


def _evaluate(expression: str) -> bool | str:
    found = compile_selector(expression).matches(_DEVICE).result
    return found.text if isinstance(found, CelError) else found


def _problem(expression: str) -> str:
    with pytest.raises(CompileProblem) as raised:
        compile_selector(expression)
    return str(raised.value).partition("\n")[0].removeprefix("compilation failed: ")


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("1 && true", "ERROR: <input>:1:1: expected type 'bool' but found 'int'"),
        ("[1, 2].exists(x, x)", "ERROR: <input>:1:18: expected type 'bool' but found 'int'"),
        (
            "device.driver.exists(x, true)",
            "ERROR: <input>:1:7: expression of type 'string' cannot be range of a comprehension "
            "(must be list, map, or dynamic)",
        ),
        (
            "null == 1",
            "ERROR: <input>:1:6: found no matching overload for '_==_' applied to '(null, int)'",
        ),
        (
            "size(1) == 1",
            "ERROR: <input>:1:5: found no matching overload for 'size' applied to '(int)'",
        ),
        (
            "[].size() + 1u == 2",
            "ERROR: <input>:1:11: found no matching overload for '_+_' applied to '(int, uint)'",
        ),
        ("duration('x') > duration('1s')", "ERROR: <input>:1:10: invalid duration argument"),
        (f"[1, {_A}.index] == [1]", "ERROR: <input>:1:41: expected type 'int' but found 'any'"),
        ("'%s%%'.format([]) == ''", "ERROR: <input>:1:14: index 0 out of range"),
        (
            "'%s'.format([1, 2]) == ''",
            "ERROR: <input>:1:12: too many arguments supplied to string.format (expected 1, got 2)",
        ),
        ("(" * 40 + "true" + ")" * 40, "expression recursion limit exceeded: 32"),
        ("1" + " + 1" * 40 + " > 0", "expression recursion limit exceeded: 32"),
        ("dyn(true)", "must evaluate to bool or the unknown type, not dyn"),
        ("true\n&& foo", "ERROR: <input>:2:4: undeclared reference to 'foo' (in container '')"),
        (
            "string(b'\\xff') == ''",
            "program instantiation failed: invalid UTF-8 in bytes, cannot convert to string",
        ),
        ("uint(-1) == 1u", "program instantiation failed: unsigned integer overflow"),
    ],
)
def test_the_compiler_says_what_is_wrong_and_where(expression: str, problem: str) -> None:
    assert _problem(expression) == problem


def test_the_place_of_an_error_is_marked_below_the_line() -> None:
    with pytest.raises(CompileProblem) as raised:
        compile_selector("'é' +\t1")
    assert str(raised.value).splitlines()[1:] == [" | 'é' + 1", " | .．..^"]


@pytest.mark.parametrize(
    ("expression", "cost"),
    [
        (f"{_A}.model == 'a100'", 5),
        (f"{_A}.all(k, {_A}[k] != '')", 3 + 32 * (3 + 1 + 3 + 1 + 0) + 1),
        (f"{_C}.memory.compareTo(quantity('1Gi')) > 0", 7),
        (f"{_A}.csv.split(',', 2).all(x, x != '')", 4 + 13 + 2 * (2 + 1 + 1 + 0) + 1),
    ],
)
def test_the_estimate_grows_with_the_declared_sizes(expression: str, cost: int) -> None:
    selector = compile_selector(expression)
    assert selector.matches(_DEVICE).cost <= selector.max_cost
    assert selector.max_cost == cost


def test_a_size_that_is_not_known_counts_as_the_largest() -> None:
    assert compile_selector("['a'].join() == ''").max_cost > 10**18


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        (f"{_A}.model.includes('a100') && !{_A}.index.includes(4)", True),
        ("[1, 2].last().value() == 2 && ![].first().hasValue()", True),
        ("[optional.of(1), optional.none()].unwrapOpt() == [1]", True),
        ("'abcb'.lastIndexOf('b', 2) == 1 && 'abc'.indexOf('c', 9) == -1", True),
        ("'abc'.indexOf('c', -1) == 0", "index out of range: -1"),
        ("string(1234567.0) == '1.234567e+06' && string(0.5) == '0.5'", True),
        ("timestamp('2026-01-01T00:00:00Z').getHours('-05:30') == 18", True),
        ("semver('1.2.3+').major() == 1", "Build meta data is empty"),
        ("isIP('::ffff:1.2.3.4') || isCIDR('10.0.0.0/255.0.0.0')", False),
        (
            "ip('1.2.3').family() == 4",
            'IP Address "1.2.3" parse error during conversion from string: '
            'ParseAddr("1.2.3"): IPv4 address too short',
        ),
        (
            "cidr('1.2.3.4/99').prefixLength() == 4",
            "network address parse error during conversion from string: "
            'netip.ParsePrefix("1.2.3.4/99"): prefix length out of range',
        ),
        ("[[1]].flatten(-1) == []", "level must be non-negative"),
    ],
)
def test_functions_and_their_errors(expression: str, result: bool | str) -> None:
    assert _evaluate(expression) == result


_MANY_A = "a" * 60


@pytest.mark.parametrize(
    "expression",
    [
        f"'{_MANY_A}d b'.find('(a|aa)+c|b') == 'b'",
        f"'{_MANY_A}d b'.find('((a|a))*c|b') == 'b'",
        f"'{_MANY_A}d b'.find('{'a?' * 40}{'a' * 40}c|b') == 'b'",
        f"'{_MANY_A}d b'.findAll('a*a*a*a*a*a*a*a*c|b').size() == 1",
        r"'ab'.find('\\pL') == 'a'",
        "'baab'.findAll('a*') == ['', 'aa', '']",
    ],
)
def test_an_expression_that_backtracking_would_be_slow_for_is_found(expression: str) -> None:
    assert _evaluate(expression) is True


def test_ordinary_regular_expressions_are_found() -> None:
    assert _evaluate(r"'v1.22.333-x'.find('[0-9]+\\.([0-9]+)\\.([0-9]+)') == '1.22.333'") is True
    assert _evaluate("'xababy'.find('(ab)+') == 'abab'") is True
    assert _evaluate("'a,b;c'.findAll('[a-c]') == ['a', 'b', 'c']") is True


@pytest.mark.parametrize(
    ("expression", "function"),
    [
        (f"'{'x' * 5000}'.replace('x', '{'y' * 5000}') == ''", "replace"),
        (f"'{'x' * 4000}'.replace('', '{'y' * 4000}') == ''", "replace"),
        ("'%.1000000000f'.format([1.0]) == ''", "format"),
    ],
)
def test_texts_that_would_fill_the_memory_are_not_built(expression: str, function: str) -> None:
    assert f"{function}: the result has more than" in str(_evaluate(expression))


def test_a_duration_beyond_the_longest_is_refused() -> None:
    assert "invalid duration argument" in _problem(f"duration('{'9' * 400}s') == duration('1s')")
