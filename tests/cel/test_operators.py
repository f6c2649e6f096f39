"""Operators: arithmetic and its limits, comparisons, logic, indices and fields."""

from __future__ import annotations

import pytest

from tests.cel.evaluating import evaluate, problem_of

VALUES = [
    # arithmetic
    ("7 + 5", 12),
    ("7 - 12", -5),
    ("7 * -3", -21),
    ("7 / 2", 3),
    ("-7 / 2", -3),
    ("7 / -2", -3),
    ("-7 / -2", 3),
    ("7 % 3", 1),
    ("-7 % 3", -1),
    ("7 % -3", 1),
    ("2 + 3 * 4 - 1", 13),
    ("-(3)", -3),
    ("5u + 3u", 8),
    ("5u / 2u", 2),
    ("5u % 3u", 2),
    ("1.5 + 2.25", 3.75),
    ("1.5 * 4.0", 6.0),
    ("1.0 / 4.0", 0.25),
    ("-(1.5)", -1.5),
    ("string(1.0 / 0.0)", "+Inf"),
    ("string(-1.0 / 0.0)", "-Inf"),
    ("string(0.0 / 0.0)", "NaN"),
    ("string(1.0 / -0.0)", "-Inf"),
    ("9223372036854775807 + 0", 2**63 - 1),
    ("-9223372036854775807 - 1", -(2**63)),
    ("18446744073709551614u + 1u", 2**64 - 1),
    ("0x1F + 0x1", 32),
    # texts, bytes and lists
    ("'a' + 'b' + ''", "ab"),
    ("b'a' + b'b' == b'ab'", True),
    ("[1] + [2, 3] + []", [1, 2, 3]),
    ("'\\u00e9\\x41\\n' + r'\\n'", "éA\n\\n"),
    # times
    ("duration('1h') + duration('90s') == duration('3690s')", True),
    ("duration('1h') - duration('90s') == duration('3510s')", True),
    (
        "timestamp('2026-01-31T00:00:00Z') + duration('24h') == timestamp('2026-02-01T00:00:00Z')",
        True,
    ),
    (
        "duration('24h') + timestamp('2026-01-31T00:00:00Z') == timestamp('2026-02-01T00:00:00Z')",
        True,
    ),
    (
        "timestamp('2026-02-01T00:00:00Z') - duration('1s') == timestamp('2026-01-31T23:59:59Z')",
        True,
    ),
    (
        "timestamp('2026-02-01T00:00:00Z') - timestamp('2026-01-31T00:00:00Z') == duration('24h')",
        True,
    ),
    ("timestamp('2026-01-01T00:00:00+02:00') == timestamp('2025-12-31T22:00:00Z')", True),
    # equality
    ("1 == 1", True),
    ("1u != 2u", True),
    ("'a' == 'A'", False),
    ("dyn(1) == 1.0", True),
    ("dyn(1) == 1u", True),
    ("dyn(1) == 1.5", False),
    ("dyn(1) == '1'", False),
    ("dyn(1) == true", False),
    ("dyn(0) == false", False),
    ("dyn('a') == b'a'", False),
    ("dyn(null) == 0", False),
    ("0.0 == -0.0", True),
    ("0.0 / 0.0 == 0.0 / 0.0", False),
    ("0.0 / 0.0 != 0.0 / 0.0", True),
    ("[1, 2] == [1, 2]", True),
    ("[1, 2] == [2, 1]", False),
    ("[1] == [1, 1]", False),
    ("dyn([1, 2]) == [1.0, 2.0]", True),
    ("{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", True),
    ("{'a': 1} == {'a': 2}", False),
    ("{'a': 1} == {'a': 1, 'b': 2}", False),
    ("dyn({1: 'a'}) == {1u: 'a'}", True),
    ("type(1) == int && type(1u) == uint && type([]) == list && type(null) == null_type", True),
    ("type('a') == type('b') && type(type(1)) == type", True),
    # order
    ("1 < 2 && 2 <= 2 && 3 > 2 && 2 >= 2", True),
    ("1 < 1.5 && 1u < 2 && 2.5 > 2u", True),
    ("-1 < 0u", True),
    ("9223372036854775807 < 9223372036854775808u", True),
    ("'a' < 'b' && 'B' < 'a' && 'a' < 'aa'", True),
    ("b'a' < b'b'", True),
    ("false < true", True),
    ("duration('1m') < duration('61s')", True),
    ("timestamp('2026-01-01T00:00:00Z') < timestamp('2026-01-01T00:00:01Z')", True),
    # logic
    ("true && false || true", True),
    ("!true", False),
    ("false && 1 / 0 == 0", False),
    ("1 / 0 == 0 && false", False),
    ("true || 1 / 0 == 0", True),
    ("1 / 0 == 0 || true", True),
    ("true ? 1 : 1 / 0", 1),
    ("false ? 1 / 0 : 2", 2),
    ("false ? 1 : true ? 2 : 3", 2),
    # membership, indices and fields
    ("2 in [1, 2]", True),
    ("3 in [1, 2]", False),
    ("'a' in {'a': 1}", True),
    ("dyn(1.0) in [1, 2]", True),
    ("dyn(1u) in {1: 'a'}", True),
    ("null in [null]", True),
    ("[1] in [[1], [2]]", True),
    ("[1, 2, 3][2]", 3),
    ("[1, 2][dyn(1.0)]", 2),
    ("[1, 2][dyn(1u)]", 2),
    ("{'a': 1}['a']", 1),
    ("{'a': 1}.a", 1),
    ("{'a': {'b': 2}}.a.b", 2),
    ("{1: 'int'}[dyn(1.0)]", "int"),
    ("{1u: 'uint'}[dyn(1)]", "uint"),
    ("{true: 1}[true]", 1),
    ("has({'a': 1}.a)", True),
    ("has({'a': 1}.b)", False),
    ("has({'a': null}.a)", True),
]

ERRORS = [
    ("9223372036854775807 + 1", "integer overflow"),
    ("-9223372036854775807 - 2", "integer overflow"),
    ("4611686018427387904 * 2", "integer overflow"),
    ("(-9223372036854775807 - 1) / -1", "integer overflow"),
    ("-(-9223372036854775807 - 1)", "integer overflow"),
    ("(-9223372036854775807 - 1) % -1", "integer overflow"),
    ("18446744073709551615u + 1u", "unsigned integer overflow"),
    ("1u - 2u", "unsigned integer overflow"),
    ("18446744073709551615u * 2u", "unsigned integer overflow"),
    ("1 / 0", "division by zero"),
    ("1u / 0u", "division by zero"),
    ("1 % 0", "modulus by zero"),
    ("1u % 0u", "modulus by zero"),
    ("dyn(1) + 1.0", "no such overload"),
    ("dyn('a') + 1", "no such overload"),
    ("0.0 / 0.0 < 1.0", "NaN values cannot be ordered"),
    ("dyn(true) + dyn(true)", "no such overload: _+_"),
    ("-dyn('a')", "no such overload"),
    ("!dyn(1)", "no such overload"),
    ("dyn(1) < 'a'", "no such overload"),
    ("dyn([1]) < dyn([2])", "no such overload: _<_"),
    ("dyn(null) > dyn(1)", "no such overload: _>_"),
    ("1 in dyn(1)", "no such overload"),
    ("dyn(1) && true", "no such overload"),
    ("1 / 0 == 0 && true", "division by zero"),
    ("1 / 0 == 0 || 1 % 0 == 0", "division by zero"),
    ("dyn(1) ? 1 : 2", "no such overload"),
    ("[1, 2][2]", "index out of bounds: 2"),
    ("[1, 2][-1]", "index out of bounds: -1"),
    ("{'a': 1}['b']", "no such key: b"),
    ("{'a': 1}.b", "no such key: b"),
    ("[1 / 0, 2]", "division by zero"),
    ("{'a': 1 / 0}", "division by zero"),
    (
        "timestamp('9999-12-31T23:59:59Z') + duration('1s')",
        "timestamp overflow",
    ),
    ("timestamp('0001-01-01T00:00:00Z') - duration('1s')", "timestamp overflow"),
    ("duration('2562047h') + duration('1h')", "integer overflow"),
]

PROBLEMS = [
    ("1 + 1u", "1:3: found no matching overload for '_+_' applied to '(int, uint)'"),
    ("1 + 1.0", "1:3: found no matching overload for '_+_' applied to '(int, double)'"),
    ("'a' - 'b'", "1:5: found no matching overload for '_-_' applied to '(string, string)'"),
    ("'a' * 2", "1:5: found no matching overload for '_*_' applied to '(string, int)'"),
    ("1.0 % 2.0", "1:5: found no matching overload for '_%_' applied to '(double, double)'"),
    ("-1u", "1:1: found no matching overload for '-_' applied to '(uint)'"),
    ("!1", "1:1: found no matching overload for '!_' applied to '(int)'"),
    ("1 == 1u", "1:3: found no matching overload for '_==_' applied to '(int, uint)'"),
    ("null == 'a'", "1:6: found no matching overload for '_==_' applied to '(null, string)'"),
    (
        "[1] == ['a']",
        "1:5: found no matching overload for '_==_' applied to '(list(int), list(string))'",
    ),
    ("true < 1", "1:6: found no matching overload for '_<_' applied to '(bool, int)'"),
    ("[1] < [2]", "1:5: found no matching overload for '_<_' applied to '(list(int), list(int))'"),
    ("1 || true", "1:1: expected type 'bool' but found 'int'"),
    ("1 ? 2 : 3", "1:3: found no matching overload for '_?_:_' applied to '(int, int, int)'"),
    (
        "true ? 1 : 'a'",
        "1:6: found no matching overload for '_?_:_' applied to '(bool, int, string)'",
    ),
    ("1 in 'abc'", "1:3: found no matching overload for '@in' applied to '(int, string)'"),
    ("'a' in [1]", "1:5: found no matching overload for '@in' applied to '(string, list(int))'"),
    ("[1]['a']", "1:4: found no matching overload for '_[_]' applied to '(list(int), string)'"),
    (
        "{'a': 1}[1]",
        "1:9: found no matching overload for '_[_]' applied to '(map(string, int), int)'",
    ),
    ("'abc'[0]", "1:6: found no matching overload for '_[_]' applied to '(string, int)'"),
    ("1.size()", "1:7: found no matching overload for 'size' applied to 'int.()'"),
    ("'a'.b", "1:4: type 'string' does not support field selection"),
    ("[1].b", "1:4: type 'list(int)' does not support field selection"),
    ("[1, 'a'] == []", "1:5: expected type 'int' but found 'string'"),
    ("{'a': 1, 2: 2} == {}", "1:10: expected type 'string' but found 'int'"),
    ("{'a': 1, 'b': 'c'} == {}", "1:15: expected type 'int' but found 'string'"),
    ("unknown", "1:1: undeclared reference to 'unknown' (in container '')"),
    ("unknown(1)", "1:8: undeclared reference to 'unknown' (in container '')"),
    ("'a'.unknown()", "1:12: undeclared reference to 'unknown' (in container '')"),
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
