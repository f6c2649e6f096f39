"""Rules about an object, and what kube-apiserver 1.36 says about them.

Nothing in them is constant, so that they are evaluated, and types are known at run time only.
"""

from __future__ import annotations

from typing import Any

import pytest

from apps.cel.selector import CompileProblem
from apps.cluster.validation.custom_rules import apply_rules, compile_rule

PROPERTIES: dict[str, Any] = {
    "s": {"type": "string", "maxLength": 100},
    "t": {"type": "string", "maxLength": 40},
    "i": {"type": "integer"},
    "x": {"type": "number"},
    "b": {"type": "boolean"},
    "y": {"type": "string", "format": "byte", "maxLength": 30},
    "d": {"type": "string", "format": "duration"},
    "when": {"type": "string", "format": "date-time"},
    "li": {"type": "array", "maxItems": 20, "items": {"type": "integer"}},
    "lt": {"type": "array", "maxItems": 10, "items": {"type": "string", "maxLength": 15}},
    "ll": {
        "type": "array",
        "maxItems": 5,
        "items": {"type": "array", "maxItems": 4, "items": {"type": "integer"}},
    },
    "m": {
        "type": "object",
        "maxProperties": 8,
        "additionalProperties": {"type": "string", "maxLength": 12},
    },
    "s2": {"type": "string"},
    "s3": {"type": "string"},
    "s4": {"type": "string"},
    "s5": {"type": "string"},
    "s6": {"type": "string"},
}
SELF: dict[str, Any] = {
    "s": "abc(",
    "t": "",
    "i": 5,
    "x": 1.5,
    "b": True,
    "y": "YQ==",
    "d": "90s",
    "when": "2026-01-02T03:04:05Z",
    "li": [1, 2, 3],
    "lt": ["a", "b"],
    "ll": [[1]],
    "m": {"a": "x"},
    "s2": "-2562047h47m16.854775807s",
    "s3": "9223372036854775807ns",
    "s4": "9223372036854775808ns",
    "s5": "1.9999999999999ns",
    "s6": ".000000001s",
}
SCHEMA = {"type": "object", "required": list(PROPERTIES), "properties": PROPERTIES}
MET = [
    "(self.t + '%f').format([dyn('NaN')]) == 'NaN'",
    "quantity('1').add(quantity('0')).isInteger()",
    "quantity('1Gi').add(1).isInteger()",
    "quantity('100Gi').isInteger()",
    "quantity('1Ti').isInteger()",
    "quantity('5e3').isInteger()",
    "quantity('1E').isInteger()",
    "quantity('0').isInteger()",
    "quantity('-1').isInteger()",
    "quantity('00012').isInteger()",
    "quantity('1.').isInteger()",
    "quantity('.5k').isInteger()",
    "quantity('1.5k').isInteger()",
    "quantity('123456789012345678').isInteger()",
    "type(self.li) == list",
    "type(self.m) == map",
    "type(dyn(null)) == null_type",
    "self.s.replace('a', 'b', -5) == 'bbc('",
    "lists.range(-1).size() == 0",
    "self.s.split(',', -2) == ['abc(']",
    "1.0 / (self.x - 1.5) > 1e308",
    "-self.x / 0.0 < -1e308",
    "[1, self.i][dyn(1u)] == 5",
    "self.li[?dyn(1.0)].hasValue()",
    "{1: self.i}[dyn(1.0)] == 5",
    "{1: self.i}[dyn(1u)] == 5",
    "self.when.getHours('25:00') == 4",
    "self.when.getHours('5:30') == 8",
    "self.when.getHours('05:3') == 8",
    "self.when.getHours('Local') == 3",
    "self.when.getHours('') == 3",
    "self.when.getMinutes('05:99') == 43",
    "duration(self.s5) == duration('1ns')",
    "duration(self.s6) == duration('1ns')",
    "quantity('1e18').asInteger() == 1000000000000000000",
    "quantity('10k').asInteger() == 10000",
    "quantity('1.5').asApproximateFloat() == 1.5",
    "(self.t + '%.3d').format([1]) == '1'",
    "(self.t + '%.3s').format(['abcdef']) == 'abcdef'",
    "(self.t + '%.3x').format([10]) == 'a'",
]
UNMET = [
    "int(dyn(self.d)) == 1",
    "timestamp(dyn(self.when)) == timestamp(0)",
    "quantity('500m').add(quantity('500m')).isInteger()",
    "quantity('1').add(quantity('0.5')).sub(quantity('0.5')).isInteger()",
    "quantity('0').add(quantity('1.0')).isInteger()",
    "quantity('100000Gi').isInteger()",
    "quantity('100Ti').isInteger()",
    "quantity('0.5Gi').isInteger()",
    "quantity('100E').isInteger()",
    "quantity('1234567890123456789').isInteger()",
    "self.s.indexOf('', 500) == 1",
    "[1, self.i][dyn(1.0)] == 1",
    "dyn('a') in self.li",
    "self.when.getHours('99:00') == 4",
    "self.when.getHours('-05:99') == 4",
    "self.when.getHours('+5:30') == 4",
    "duration('2562047h47m16.854775807s') == duration('1s')",
    "duration('-2562047h47m16.854775808s') == duration('1s')",
    "duration(self.s3) == duration('1s')",
    "quantity('9223372036854775807').isInteger()",
    "quantity('9223372036854775808').isInteger()",
    "quantity('1e99').isInteger()",
    "quantity('1.0').isInteger()",
    "quantity('1.5').isInteger()",
    "quantity('1000m').isInteger()",
    "quantity('1e99').asApproximateFloat() == 1e99",
]
ERRORS = [
    ("uint(dyn(self.b)) == 1u", "no such overload: uint(bool)"),
    ("double(dyn(self.b)) == 1.0", "no such overload: double(bool)"),
    ("bool(dyn(self.i))", "no such overload: bool(int)"),
    ("string(dyn(self.li)) == 'a'", "no such overload: string(list)"),
    ("string(dyn(self.m)) == 'a'", "no such overload: string(map)"),
    (
        "duration(dyn(self.i)) == duration('1s')",
        "type conversion error from 'int' to 'google.protobuf.Duration'",
    ),
    (
        "duration(self.i) == duration('5ns')",
        "type conversion error from 'int' to 'google.protobuf.Duration'",
    ),
    ("duration(dyn(self.b)) == duration('1s')", "no such overload: duration(bool)"),
    ("timestamp(dyn(self.b)) == timestamp(0)", "no such overload: timestamp(bool)"),
    ("semver(dyn(self.i)).major() == 1", "no such overload: semver(int)"),
    ("semver(dyn(self.i), true).major() == 1", "no such overload: semver(int, bool)"),
    (
        "semver('99999999999999999999.0.0').major() == 1",
        'strconv.ParseUint: parsing "99999999999999999999": value out of range',
    ),
    ("semver('1.x.0').major() == 1", 'Invalid character(s) found in minor number "x"'),
    ("semver('1.2').major() == 1", "No Major.Minor.Patch elements found"),
    ("semver('01.2.3').major() == 1", 'Major number must not contain leading zeroes "01"'),
    (
        "semver('1.2.3-01').major() == 1",
        'Numeric PreRelease version must not contain leading zeroes "01"',
    ),
    ("semver('').major() == 1", "Version string empty"),
    ("url(dyn(self.i)).getHost() == 'a'", "no such overload: url(int)"),
    ("ip(dyn(self.i)).family() == 4", "no such overload: ip(int)"),
    ("cidr(dyn(self.i)).prefixLength() == 4", "no such overload: cidr(int)"),
    ("isIP(dyn(self.i))", "no such overload: isIP(int)"),
    ("isCIDR(dyn(self.i))", "no such overload: isCIDR(int)"),
    ("isURL(dyn(self.i))", "no such overload: isURL(int)"),
    ("isQuantity(dyn(self.i))", "no such overload: isQuantity(int)"),
    ("isSemver(dyn(self.i))", "no such overload: isSemver(int)"),
    ("quantity(dyn(self.i)).isInteger()", "no such overload: quantity(int)"),
    ("ip.isCanonical(dyn(self.i))", "no such overload: ip.isCanonical(int)"),
    ("format.named(dyn(self.i)).hasValue()", "no such overload: format.named(int)"),
    (
        "format.dns1123Label().validate(dyn(self.i)).hasValue()",
        "no such overload: validate(kubernetes.NamedFormat, int)",
    ),
    (
        "(self.t + '%.f').format([1.5]) == 'a'",
        (
            "could not parse formatting clause: error while parsing precision: error while "
            'converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
        ),
    ),
    (
        "(self.t + '%.5').format([1.5]) == 'a'",
        (
            "could not parse formatting clause: error while parsing precision: could not "
            "find end of precision specifier"
        ),
    ),
    (
        "(self.t + '%.2q').format([1.5]) == 'a'",
        'could not parse formatting clause: unrecognized formatting clause "q"',
    ),
    ("(self.t + '%').format([1.5]) == 'a'", "unexpected end of string"),
    ("(self.t + '%s').format([]) == 'a'", "index 0 out of range"),
    (
        "(self.t + '%o').format([dyn('a')]) == 'a'",
        "error during formatting: octal clause can only be used on integers, was given string",
    ),
    (
        "(self.t + '%d').format([dyn('a')]) == 'a'",
        ("error during formatting: decimal clause can only be used on integers, was given string"),
    ),
    (
        "(self.t + '%e').format([dyn('a')]) == 'a'",
        (
            "error during formatting: scientific clause can only be used on doubles, was "
            "given string"
        ),
    ),
    (
        "(self.t + '%x').format([dyn(self.b)]) == 'a'",
        (
            "error during formatting: only integers, byte buffers, and strings can be "
            "formatted as hex, was given bool"
        ),
    ),
    (
        "(self.t + '%b').format([dyn(1.5)]) == 'a'",
        (
            "error during formatting: only integers and bools can be formatted as binary, "
            "was given double"
        ),
    ),
    (
        "(self.t + '%s').format([optional.of(1)]) == 'a'",
        (
            "error during formatting: string clause can only be used on strings, bools, "
            "bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given "
            "optional_type"
        ),
    ),
    ("self.t.matches(self.s)", "error parsing regexp: missing closing ): `abc(`"),
    (
        "self.t.find(self.s) == 'a'",
        "Illegal regex: error parsing regexp: missing closing ): `abc(`",
    ),
    (
        "self.t.findAll(self.s) == ['a']",
        "Illegal regex: error parsing regexp: missing closing ): `abc(`",
    ),
    ("self.t.matches('a{2000}' + self.t)", "error parsing regexp: invalid repeat count: `{2000}`"),
    ("self.t.matches('\\\\C' + self.t)", "error parsing regexp: invalid escape sequence: `\\C`"),
    (
        "self.t.matches('[z-a]' + self.t)",
        "error parsing regexp: invalid character class range: `z-a`",
    ),
    (
        "self.t.matches('*' + self.t)",
        "error parsing regexp: missing argument to repetition operator: `*`",
    ),
    ("self.t.matches('(?<n' + self.t)", "error parsing regexp: invalid named capture: `(?<n`"),
    (
        "self.t.matches('a**' + self.t)",
        "error parsing regexp: invalid nested repetition operator: `**`",
    ),
    ("self.t.matches('\\\\8' + self.t)", "error parsing regexp: invalid escape sequence: `\\8`"),
    ("self.li[20] == 1", "index out of bounds: 20"),
    ("self.li[-1] == 1", "index out of bounds: -1"),
    ("self.li[dyn('a')] == 1", "unsupported index type 'string' in list"),
    ("self.li[dyn(1.5)] == 1", "unsupported index value 1.5 in list"),
    ("self.m['none'] == 'a'", "no such key: none"),
    ("dyn(self.m).none == 'a'", "no such key: none"),
    ("dyn(self.i).none == 'a'", "no such key: none"),
    ("1 / (self.i - self.i) == 1", "division by zero"),
    ("1 % (self.i - self.i) == 1", "modulus by zero"),
    ("9223372036854775807 + self.i == 1", "integer overflow"),
    ("-9223372036854775807 - self.i == 1", "integer overflow"),
    ("9223372036854775807 * self.i == 1", "integer overflow"),
    ("-(-9223372036854775807 - 1 + self.i - self.i) == 1", "integer overflow"),
    ("uint(self.i) - 100u == 1u", "unsigned integer overflow"),
    ("18446744073709551615u + uint(self.i) == 1u", "unsigned integer overflow"),
    ("18446744073709551615u * uint(self.i) == 1u", "unsigned integer overflow"),
    ("1u / uint(self.i - self.i) == 1u", "division by zero"),
    ("1u % uint(self.i - self.i) == 1u", "modulus by zero"),
    ("duration('2562047h') + duration('2562047h') + self.d == duration('1s')", "integer overflow"),
    ("self.when.getHours('Nowhere/At') == 1", "unknown time zone Nowhere/At"),
    ("self.when.getHours('1') == 1", "unknown time zone 1"),
    ("dyn(self.i).getHours() == 1", "no such overload: getHours(int)"),
    ("optional.none().value() == 1", "optional.none() dereference"),
    ("dyn(self.i).hasValue()", "no such overload: hasValue(int)"),
    ("optional.of(self.li).value()[30] == 1", "index out of bounds: 30"),
    ("self.li.sum() + dyn('a') == 1", "no such overload"),
    ("[].min() == dyn(1)", "min called on empty list"),
    ("self.li.slice(-1, 1) == [1]", "cannot slice(-1, 1), negative indexes not supported"),
    ("self.li.slice(1, 99) == [1]", "cannot slice(1, 99), list is length 3"),
    ("dyn(self.i) < dyn('a')", "no such overload"),
    ("dyn(self.b) && dyn(self.i)", "no such overload"),
    ("dyn(self.i) || false", "no such overload"),
    ("!dyn(self.i)", "no such overload"),
    ("dyn(self.i) ? true : false", "no such overload"),
    ("dyn(self.i) in dyn(self.i)", "no such overload"),
    ("dyn(self.i) + dyn(self.s) == 1", "no such overload"),
    ("dyn(self.s) - dyn(self.s) == 1", "no such overload"),
    ("self.li.exists(x, dyn(x))", "no such overload"),
    ("self.li.all(x, x / 0 == 1)", "division by zero"),
    ("self.li.exists_one(x, x / 0 == 1)", "division by zero"),
    ("dyn(self.i).map(x, x) == [1]", "got 'types.Int', expected iterable type"),
    ("self.s.substring(500) == 'a'", "index out of range: 500"),
    ("self.s.substring(2, 1) == 'a'", "invalid substring range. start: 2, end: 1"),
    ("self.s.charAt(500) == 'a'", "index out of range: 500"),
    ("quantity('1e99').asInteger() == 1", "cannot convert value to integer"),
    ("quantity('1.5').asInteger() == 1", "cannot convert value to integer"),
    (
        "quantity(self.s).asInteger() == 1",
        (
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        ),
    ),
    (
        "quantity('9223372036854775807').add(quantity('1')).asInteger() == 1",
        "cannot convert value to integer",
    ),
    ("string(bytes(self.s) + b'\\xff') == 'a'", "invalid UTF-8 in bytes, cannot convert to string"),
    ("int(self.s) == 1", "type conversion error from 'string' to 'int'"),
    ("uint(self.s) == 1u", "type conversion error from 'string' to 'uint'"),
    ("double(self.s) == 1.0", "type conversion error from 'string' to 'double'"),
    ("bool(self.s)", "type conversion error from 'string' to 'bool'"),
    (
        "duration(self.s) == duration('1s')",
        "type conversion error from 'string' to 'google.protobuf.Duration'",
    ),
    (
        "timestamp(self.s) == timestamp(0)",
        "type conversion error from 'string' to 'google.protobuf.Timestamp'",
    ),
    ("int(1e30 + self.x) == 1", "integer overflow"),
    ("int(0.0 / 0.0 + self.x) == 1", "integer overflow"),
    ("uint(-1.0 - self.x) == 1u", "unsigned integer overflow"),
    ("uint(1e30 + self.x) == 1u", "unsigned integer overflow"),
    ("self.lt.join(dyn(1)) == 'a'", "no such overload: join(list, int)"),
    ("dyn([1]).join() == 'a'", "no such overload: join(list)"),
    ("dyn(self.s).startsWith(dyn(1))", "no such overload"),
    (
        "self.li.transformMapEntry(i, v, {'same': v}) == {'a': 1}",
        "insert failed: key same already exists",
    ),
    ("[1, 2].transformMap(i, v, i / 0) == {1: 2}", "division by zero"),
    ("[1, self.i][dyn('a')] == 1", "unsupported index type 'string' in list"),
    ("[1, self.i][dyn(1.5)] == 1", "unsupported index value 1.5 in list"),
    ("[1, self.i][dyn(self.b)] == 5", "unsupported index type 'bool' in list"),
    ("self.li[dyn(self.b)] == 2", "unsupported index type 'bool' in list"),
    ("self.li[?dyn('a')].hasValue()", "unsupported index type 'string' in list"),
    ("{'a': self.i}[dyn(1)] == 1", "no such key: 1"),
    ("dyn(self.i)[dyn(1)] == 5", "no such key: 1"),
    ("dyn(self.i)[dyn('a')] == 5", "no such key: a"),
    ("dyn(self.s)[0] == 'a'", "no such key: 0"),
    ("dyn(self.s).all(x, true)", "got 'types.String', expected iterable type"),
    ("dyn(self.b).exists(x, true)", "got 'types.Bool', expected iterable type"),
    ("dyn(self.x).map(x, x) == [1]", "got 'types.Double', expected iterable type"),
    ("dyn(null).filter(x, true) == []", "got 'types.Null', expected iterable type"),
    ("dyn(self.when).all(x, true)", "got 'types.Timestamp', expected iterable type"),
    ("dyn(self.d).all(x, true)", "got 'types.Duration', expected iterable type"),
    ("dyn(b'a').all(x, true)", "got 'types.Bytes', expected iterable type"),
    ("dyn(1u).all(x, true)", "got 'types.Uint', expected iterable type"),
    ("dyn(optional.of(1)).all(x, true)", "got '*types.Optional', expected iterable type"),
    ("dyn(self.i).all(i, v, true)", "unsupported comprehension range type: types.Int"),
    ("dyn(self.s) * dyn(self.s) == 1", "no such overload"),
    ("dyn(self.s) / dyn(self.s) == 1", "no such overload"),
    ("dyn(self.s) % dyn(self.s) == 1", "no such overload"),
    ("dyn(self.b) + dyn(self.b) == 1", "no such overload: _+_"),
    ("-dyn(self.s) == 1", "no such overload"),
    ("dyn(self.i) - dyn(self.x) == 1", "no such overload"),
    ("dyn(self.i) * dyn(self.x) == 1", "no such overload"),
    ("dyn(self.when) - dyn(self.i) == 1", "no such overload"),
    ("dyn(self.d) + dyn(self.i) == 1", "no such overload"),
    ("dyn(self.li) + dyn(self.i) == 1", "no such overload"),
    ("dyn(self.s) < dyn(self.i)", "no such overload"),
    ("dyn(self.b) < dyn(self.s)", "no such overload"),
    ("dyn(self.li) < dyn(self.li)", "no such overload: _<_"),
    ("self.when.getHours('a:b') == 4", 'strconv.Atoi: parsing "a": invalid syntax'),
    ("self.when.getHours(':') == 8", 'strconv.Atoi: parsing "": invalid syntax'),
    ("self.when.getHours('05:30:10') == 8", 'strconv.Atoi: parsing "30:10": invalid syntax'),
    ("self.when.getHours('utc') == 3", "unknown time zone utc"),
    (
        "duration(self.s4) == duration('1s')",
        "type conversion error from 'string' to 'google.protobuf.Duration'",
    ),
    (
        "quantity('9223372036854775807').asInteger() == 9223372036854775807",
        "cannot convert value to integer",
    ),
    (
        "quantity('9223372036854775808').asInteger() == 9223372036854775807",
        "cannot convert value to integer",
    ),
    (
        "quantity('-9223372036854775808').asInteger() == -9223372036854775807",
        "cannot convert value to integer",
    ),
    ("quantity('1000m').asInteger() == 1", "cannot convert value to integer"),
    ("quantity('1Ei').asInteger() == 1152921504606846976", "cannot convert value to integer"),
    ("quantity('8Ei').asInteger() == 1", "cannot convert value to integer"),
    (
        "self.t.find('(' + self.t) == ''",
        "Illegal regex: error parsing regexp: missing closing ): `(`",
    ),
    (
        "self.t.findAll('a{2000}' + self.t) == ['']",
        "Illegal regex: error parsing regexp: invalid repeat count: `{2000}`",
    ),
    (
        "(self.t + '%.-1f').format([1.5]) == 'a'",
        (
            "could not parse formatting clause: error while parsing precision: error while "
            'converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
        ),
    ),
    (
        "(self.t + '%5d').format([1]) == 'a'",
        'could not parse formatting clause: unrecognized formatting clause "5"',
    ),
    (
        "(self.t + '% d').format([1]) == 'a'",
        'could not parse formatting clause: unrecognized formatting clause " "',
    ),
]
PROBLEMS = [
    (
        "jsonpatch.escapeKey('a') == 'a'",
        "1:1: undeclared reference to 'jsonpatch' (in container '')",
    ),
    ("duration('2562047h47m16.854775808s') == duration('1s')", "1:10: invalid duration argument"),
]


def message_of(rule: str) -> str:
    """What an object that breaks the rule is told; "" if it does not."""
    rules = [{"rule": rule, "message": "it is unmet"}]
    causes = list(apply_rules({**SCHEMA, "x-kubernetes-validations": rules}, SELF, None))
    return causes[0].message if causes else ""


@pytest.mark.parametrize("rule", MET)
def test_rules_that_are_met(rule: str) -> None:
    assert message_of(rule) == ""


@pytest.mark.parametrize("rule", UNMET)
def test_rules_that_are_not_met(rule: str) -> None:
    assert message_of(rule) == "Invalid value: it is unmet"


@pytest.mark.parametrize(("rule", "error"), ERRORS)
def test_errors(rule: str, error: str) -> None:
    end = f"{error} evaluating rule: it is unmet"
    if error.startswith("no such overload"):
        unsupported = "call arguments did not match a supported operator, function or macro"
        end = f"'{error}': {unsupported} signature for rule: it is unmet"
    assert message_of(rule) == f'Invalid value: "object": {end}'


@pytest.mark.parametrize(("rule", "problem"), PROBLEMS)
def test_what_the_compiler_refuses(rule: str, problem: str) -> None:
    with pytest.raises(CompileProblem) as raised:
        compile_rule(SCHEMA, {"rule": rule})
    text = str(raised.value).removeprefix("compilation failed: ")
    assert text.partition("\n")[0].removeprefix("ERROR: <input>:") == problem
