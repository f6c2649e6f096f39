"""Conversions between types, and what cannot be converted."""

from __future__ import annotations

import pytest

from tests.cel.evaluating import evaluate, problem_of

VALUES = [
    ("int('42')", 42),
    ("int('-42')", -42),
    ("int(4.9)", 4),
    ("int(-4.9)", -4),
    ("int(7u)", 7),
    ("int(timestamp('1970-01-01T00:01:00Z'))", 60),
    ("uint('42')", 42),
    ("uint(42)", 42),
    ("uint(4.9)", 4),
    ("double('1.5')", 1.5),
    ("double('1e3')", 1000.0),
    ("double(3)", 3.0),
    ("double(3u)", 3.0),
    ("string(double('Inf'))", "+Inf"),
    ("bool('true') && bool('t') && bool('1') && bool('TRUE') && bool('True')", True),
    ("bool('false') || bool('f') || bool('0') || bool('FALSE') || bool('False')", False),
    ("string(42)", "42"),
    ("string(-42)", "-42"),
    ("string(42u)", "42"),
    ("string(true)", "true"),
    ("string(1.5)", "1.5"),
    ("string(1.0)", "1"),
    ("string(0.1)", "0.1"),
    ("string(123456.0)", "123456"),
    ("string(1234567.0)", "1.234567e+06"),
    ("string(1e21)", "1e+21"),
    ("string(0.0001)", "0.0001"),
    ("string(0.00001)", "1e-05"),
    ("string(-0.0)", "-0"),
    ("string(b'abc')", "abc"),
    ("string('abc')", "abc"),
    ("string(duration('1h30m'))", "5400s"),
    ("string(duration('1500ms'))", "1.5s"),
    ("string(duration('-1ns'))", "-0.000000001s"),
    ("string(timestamp('2026-01-02T03:04:05Z'))", "2026-01-02T03:04:05Z"),
    ("string(timestamp('2026-01-02T03:04:05.120Z'))", "2026-01-02T03:04:05.12Z"),
    ("string(timestamp('2026-01-02T03:04:05+01:00'))", "2026-01-02T03:04:05+01:00"),
    ("string(timestamp(0))", "1970-01-01T00:00:00Z"),
    ("bytes('é') == b'\\303\\251'", True),
    ("bytes('é').size()", 2),
    ("duration('1h2m3s') == duration('3723s')", True),
    ("duration('1.5h') == duration('90m')", True),
    ("duration('-1m') == duration('-60s')", True),
    ("duration('1ms') == duration('1000us')", True),
    ("duration('1us') == duration('1000ns')", True),
    ("duration('0') == duration('0s')", True),
    ("timestamp('1970-01-01T00:00:10Z') == timestamp(10)", True),
    ("type(dyn(1)) == int", True),
    ("type(dyn(1.0)) == double", True),
    ("type(dyn('a')) == string", True),
    ("type(dyn(b'a')) == bytes", True),
    ("type(dyn({})) == map", True),
]

#: Of constants: no program can be built.
ERRORS = [
    ("int(dyn('x'))", "type conversion error from 'string' to 'int'"),
    ("int(dyn('1.5'))", "type conversion error from 'string' to 'int'"),
    ("int(dyn(''))", "type conversion error from 'string' to 'int'"),
    ("int(dyn('9223372036854775808'))", "type conversion error from 'string' to 'int'"),
    ("int(dyn(1e19))", "integer overflow"),
    ("int(dyn(18446744073709551615u))", "integer overflow"),
    ("int(dyn(true))", "no such overload: int(bool)"),
    ("uint(dyn(-1))", "unsigned integer overflow"),
    ("uint(dyn(-1.0))", "unsigned integer overflow"),
    ("uint(dyn('-1'))", "type conversion error from 'string' to 'uint'"),
    ("double(dyn('x'))", "type conversion error from 'string' to 'double'"),
    ("bool(dyn('yes'))", "type conversion error from 'string' to 'bool'"),
    ("bool(dyn('tRUE'))", "type conversion error from 'string' to 'bool'"),
    ("string(dyn([1]))", "no such overload: string(list)"),
    ("string(dyn(b'\\xff'))", "invalid UTF-8 in bytes, cannot convert to string"),
    ("duration(dyn('1'))", "type conversion error from 'string' to 'google.protobuf.Duration'"),
    ("duration(dyn('1d'))", "type conversion error from 'string' to 'google.protobuf.Duration'"),
    (
        "timestamp(dyn('2026-01-02'))",
        "type conversion error from 'string' to 'google.protobuf.Timestamp'",
    ),
    (
        "timestamp(dyn('2026-02-30T00:00:00Z'))",
        "type conversion error from 'string' to 'google.protobuf.Timestamp'",
    ),
    ("timestamp(dyn(253402300800))", "timestamp overflow"),
]

PROBLEMS = [
    ("int(true) == 1", "1:4: found no matching overload for 'int' applied to '(bool)'"),
    ("uint([1]) == 1u", "1:5: found no matching overload for 'uint' applied to '(list(int))'"),
    ("double(true) == 1.0", "1:7: found no matching overload for 'double' applied to '(bool)'"),
    ("bool(1)", "1:5: found no matching overload for 'bool' applied to '(int)'"),
    ("string([1]) == ''", "1:7: found no matching overload for 'string' applied to '(list(int))'"),
    ("bytes(1) == b''", "1:6: found no matching overload for 'bytes' applied to '(int)'"),
    ("duration('1d') == duration('1s')", "1:10: invalid duration argument"),
    ("timestamp('x') == timestamp(0)", "1:11: invalid timestamp argument"),
    (
        "int('1', '2') == 1",
        "1:4: found no matching overload for 'int' applied to '(string, string)'",
    ),
]


@pytest.mark.parametrize(("expression", "value"), VALUES)
def test_values(expression: str, value: object) -> None:
    assert evaluate(expression) == value


@pytest.mark.parametrize(("expression", "error"), ERRORS)
def test_errors(expression: str, error: str) -> None:
    assert problem_of(expression) == f"program instantiation failed: {error}"


@pytest.mark.parametrize(("expression", "problem"), PROBLEMS)
def test_what_the_compiler_refuses(expression: str, problem: str) -> None:
    assert problem_of(expression) == problem
