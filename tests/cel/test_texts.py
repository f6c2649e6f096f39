"""Functions of texts, regular expressions and format."""

from __future__ import annotations

import pytest

from tests.cel.evaluating import evaluate, problem_of

VALUES = [
    ("'grün ☃'.size()", 6),
    ("size('abc')", 3),
    ("size(b'abc')", 3),
    ("'tacocat'.charAt(3)", "o"),
    ("'tacocat'.charAt(7)", ""),
    ("'tacocat'.contains('coc')", True),
    ("'tacocat'.contains('')", True),
    ("'tacocat'.startsWith('tac') && 'tacocat'.endsWith('cat')", True),
    ("'tacocat'.startsWith('cat')", False),
    ("'tacocat'.indexOf('ac')", 1),
    ("'tacocat'.indexOf('ac', 2)", -1),
    ("'tacocat'.indexOf('')", 0),
    ("'tacocat'.indexOf('none')", -1),
    ("'tacocat'.lastIndexOf('at')", 5),
    ("'tacocat'.lastIndexOf('a', 4)", 1),
    ("'tacocat'.lastIndexOf('')", 7),
    ("'tacocat'.lastIndexOf('none')", -1),
    ("['x', 'y', ''].join()", "xy"),
    ("['x', 'y'].join(', ')", "x, y"),
    ("[].join(',')", ""),
    ("'TacoCÆt'.lowerAscii()", "tacocÆt"),
    ("'tacoCæt'.upperAscii()", "TACOCæT"),
    ("'hello hello'.replace('he', 'we')", "wello wello"),
    ("'hello hello'.replace('he', 'we', 1)", "wello hello"),
    ("'hello hello'.replace('he', 'we', 0)", "hello hello"),
    ("'hello'.replace('he', 'we', -1)", "wello"),
    ("'abc'.replace('', '_')", "_a_b_c_"),
    ("'a,b,c'.split(',')", ["a", "b", "c"]),
    ("'a,b,c'.split(',', 2)", ["a", "b,c"]),
    ("'a,b,c'.split(',', 1)", ["a,b,c"]),
    ("'a,b,c'.split(',', 0)", []),
    ("'a,b,c'.split(',', -1)", ["a", "b", "c"]),
    ("'abc'.split('')", ["a", "b", "c"]),
    ("''.split(',')", [""]),
    ("'tacocat'.substring(4)", "cat"),
    ("'tacocat'.substring(0, 4)", "taco"),
    ("'tacocat'.substring(7)", ""),
    ("'ta©o'.substring(2, 3)", "©"),
    ("'  \\ttrim\\n '.trim()", "trim"),
    ("'\\u00a0trim\\u2003'.trim()", "trim"),
    ("strings.quote('a \"b\"\\n')", '"a \\"b\\"\\n"'),
    # regular expressions
    ("'abc'.matches('b')", True),
    ("'abc'.matches('^b$')", False),
    ("matches('abc', '^[a-c]+$')", True),
    ("'ABC'.matches('(?i)abc')", True),
    ("'abc 123'.find('[0-9]+')", "123"),
    ("'abc'.find('[0-9]+')", ""),
    ("'123 abc 456'.findAll('[0-9]+')", ["123", "456"]),
    ("'123 abc 456'.findAll('[0-9]+', 1)", ["123"]),
    ("'123 abc 456'.findAll('[0-9]+', 0)", []),
    ("'abc'.findAll('[0-9]')", []),
    # format
    ("'%s is %d'.format(['a', 5])", "a is 5"),
    ("'100%%'.format([])", "100%"),
    ("'%s'.format([true])", "true"),
    ("'%s'.format([1.5])", "1.5"),
    ("'%s'.format([null])", "null"),
    ("'%s'.format([duration('90s')])", "90s"),
    ("'%s'.format([timestamp(0)])", "1970-01-01T00:00:00Z"),
    ("'%s'.format([[1, 2]])", "[1, 2]"),
    ("'%s'.format([['a', 'b\\n']])", '["a", "b\\n"]'),
    ("'%s'.format([{'b': 1, 'a': 2}])", '{"a":2, "b":1}'),
    ("'%s'.format([[1.5, 2.0]])", "[1.500000, 2.000000]"),
    ("'%s'.format([[b'a']])", '[b"a"]'),
    ("'%s'.format([[duration('1s')]])", '[duration("1s")]'),
    ("'%s'.format([[timestamp(0)]])", '[timestamp("1970-01-01T00:00:00Z")]'),
    ("'%s'.format([1.0 / 0.0])", "+Inf"),
    ("'%f'.format([1.0 / 0.0])", "∞"),
    ("'%f'.format([12345678.9])", "12,345,678.900000"),
    ("'%x'.format([-255])", "-ff"),
    ("'%s'.format([int])", "int"),
    ("'%.2f'.format([1.005])", "1.00"),
    ("'%f'.format([2.5])", "2.500000"),
    ("'%e'.format([1234.5])", "1.234500×10⁰³"),
    ("'%.1e'.format([1234.5])", "1.234500×10⁰³"),
    ("'%b'.format([5])", "101"),
    ("'%b'.format([true])", "1"),
    ("'%o'.format([8])", "10"),
    ("'%x'.format([255])", "ff"),
    ("'%X'.format([255])", "FF"),
    ("'%x'.format(['hello'])", "68656c6c6f"),
    ("'%X'.format([b'hello'])", "68656C6C6F"),
    ("'%d'.format([7u])", "7"),
]

ERRORS = [
    ("'tacocat'.charAt(8)", "index out of range: 8"),
    ("'tacocat'.charAt(-1)", "index out of range: -1"),
    ("'tacocat'.substring(8)", "index out of range: 8"),
    ("'tacocat'.substring(-1)", "index out of range: -1"),
    ("'tacocat'.substring(5, 8)", "index out of range: 8"),
    ("'tacocat'.substring(5, 4)", "invalid substring range. start: 5, end: 4"),
    ("'tacocat'.indexOf('a', -1)", "index out of range: -1"),
    ("'tacocat'.lastIndexOf('a', -1)", "index out of range: -1"),
    ("dyn(1).startsWith('a')", "no such overload"),
    ("dyn(1).matches('a')", "no such overload"),
    ("dyn(1).lowerAscii()", "no such overload: lowerAscii(int)"),
    ("size(dyn(1))", "no such overload: size"),
    ("dyn('%s %s').format([1])", "index 1 out of range"),
    (
        "dyn('%q').format([1])",
        'could not parse formatting clause: unrecognized formatting clause "q"',
    ),
    ("dyn('%').format([1])", "unexpected end of string"),
    (
        "'%d'.format([dyn(1.5)])",
        "error during formatting: decimal clause can only be used on integers, was given double",
    ),
    (
        "'%f'.format([dyn(1)])",
        "error during formatting: fixed-point clause can only be used on doubles, was given int",
    ),
    (
        "'%x'.format([dyn(1.5)])",
        "error during formatting: only integers, byte buffers, and strings can be formatted as hex"
        ", was given double",
    ),
    (
        "'%b'.format([dyn('a')])",
        "error during formatting: only integers and bools can be formatted as binary, "
        "was given string",
    ),
]

PROBLEMS = [
    ("size(1) == 1", "1:5: found no matching overload for 'size' applied to '(int)'"),
    (
        "'a'.charAt('b') == ''",
        "1:11: found no matching overload for 'charAt' applied to 'string.(string)'",
    ),
    (
        "'a'.contains(1)",
        "1:13: found no matching overload for 'contains' applied to 'string.(int)'",
    ),
    ("[1].join() == ''", "1:9: found no matching overload for 'join' applied to 'list(int).()'"),
    (
        "'a'.split(1) == []",
        "1:10: found no matching overload for 'split' applied to 'string.(int)'",
    ),
    ("'a'.matches('(')", "1:13: invalid matches argument"),
    (
        "'a'.substring() == ''",
        "1:14: found no matching overload for 'substring' applied to 'string.()'",
    ),
    ("'%s'.format([]) == ''", "1:12: index 0 out of range"),
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
