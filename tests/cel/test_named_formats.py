"""Named formats, such as dns1123Label."""

from __future__ import annotations

import pytest

from tests.cel.evaluating import evaluate, problem_of

_L63, _L64 = "a" * 63, "a" * 64


def _is_valid(name: str, text: str) -> str:
    return f"!format.{name}().validate('{text}').hasValue()"


VALUES = [
    (_is_valid("dns1123Label", "my-label-1"), True),
    (_is_valid("dns1123Label", _L63), True),
    (_is_valid("dns1123Label", _L64), False),
    (_is_valid("dns1123Label", "My-label"), False),
    (_is_valid("dns1123Label", "label-"), False),
    (_is_valid("dns1123Label", "a.b"), False),
    (_is_valid("dns1123Subdomain", "a.b-c.d"), True),
    (_is_valid("dns1123Subdomain", "a..b"), False),
    (_is_valid("dns1123Subdomain", "a." * 126 + "ab"), False),
    (_is_valid("dns1035Label", "a1"), True),
    (_is_valid("dns1035Label", "1a"), False),
    (_is_valid("qualifiedName", "example.com/My_name.1"), True),
    (_is_valid("qualifiedName", "name"), True),
    (_is_valid("qualifiedName", "/name"), False),
    (_is_valid("qualifiedName", "example.com/"), False),
    (_is_valid("qualifiedName", "a/b/c"), False),
    (_is_valid("dns1123LabelPrefix", "label-"), True),
    (_is_valid("dns1123LabelPrefix", "-label"), False),
    (_is_valid("dns1123SubdomainPrefix", "a.b-"), True),
    (_is_valid("dns1035LabelPrefix", "a-"), True),
    (_is_valid("dns1035LabelPrefix", "1a-"), False),
    # as Kubernetes checks it, what stands before the last dash is not looked at
    (_is_valid("dns1035LabelPrefix", "1-"), True),
    (_is_valid("labelValue", ""), True),
    (_is_valid("labelValue", "My_value.1"), True),
    (_is_valid("labelValue", "value-"), False),
    (_is_valid("labelValue", _L64), False),
    (_is_valid("uri", "https://example.com/a"), True),
    (_is_valid("uri", "example.com"), False),
    (_is_valid("uuid", "123e4567-e89b-12d3-a456-426614174000"), True),
    (_is_valid("uuid", "123e4567e89b12d3a456426614174000"), True),
    (_is_valid("uuid", "123e4567-e89b-12d3-a456-42661417400"), False),
    (_is_valid("byte", "aGVsbG8="), True),
    (_is_valid("byte", "aGVsbG8"), False),
    (_is_valid("date", "2026-01-31"), True),
    (_is_valid("date", "2026-02-30"), False),
    (_is_valid("datetime", "2026-01-31T01:02:03Z"), True),
    (_is_valid("datetime", "2026-01-31T01:02:03.5+01:00"), True),
    (_is_valid("datetime", "2026-01-31"), False),
    ("format.named('dns1123Label').hasValue()", True),
    ("format.named('unknown').hasValue()", False),
    ("format.named('uuid').value().validate('x').hasValue()", True),
    ("format.dns1123Label().validate('a').orValue([])", []),
    ("format.dns1123Label().validate('A').value().size()", 1),
    ("format.dns1123Label() == format.named('dns1123Label').value()", True),
    ("format.dns1123Label() == format.dns1035Label()", False),
]

ERRORS = [
    ("dyn(1).validate('a')", "no such overload: validate(int, string)"),
    ("format.dns1123Label().validate('a').value()", "optional.none() dereference"),
]

PROBLEMS = [
    ("format.unknown().hasValue()", "1:1: undeclared reference to 'format' (in container '')"),
    (
        "format.named(1).hasValue()",
        "1:13: found no matching overload for 'format.named' applied to '(int)'",
    ),
    (
        "format.uuid().validate(1).hasValue()",
        "1:23: found no matching overload for 'validate' applied to 'kubernetes.NamedFormat.(int)'",
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
