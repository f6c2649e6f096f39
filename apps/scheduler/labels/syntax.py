"""The text syntax of label selectors: `app=web,tier in (a, b),!legacy,size>3`.

Grammar (Kubernetes'): requirements joined by commas; each is `key`, `!key`, `key op value` with
op one of `= == != > <`, or `key in (…)`, `key notin (…)`. Values may be empty.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from apps.caching import cache_short
from apps.scheduler.labels.selectors import (
    DOES_NOT_EXIST,
    EVERYTHING,
    EXISTS,
    GREATER_THAN,
    IN,
    LESS_THAN,
    NOT_IN,
    Requirement,
    Selector,
    SelectorError,
    parse_int64,
)
from apps.scheduler.labels.validity import label_value_faults, qualified_name_faults

_TOKEN: Final = re.compile(r"[ \t\r\n]*(==|!=|=|!|,|\(|\)|>|<|[^ \t\r\n=!,()<>]+|$)")
_SYMBOLS: Final = frozenset(("=", "==", "!=", "!", ",", "(", ")", ">", "<", ""))
_OPERATOR: Final = {
    "=": IN,
    "==": IN,
    "!=": NOT_IN,
    "in": IN,
    "notin": NOT_IN,
    ">": GREATER_THAN,
    "<": LESS_THAN,
}
_EXPECTED_OPERATOR: Final = "in, notin, =, ==, !=, gt, lt"


@cache_short(4096)
def parse_selector(text: str) -> Selector:
    """The selector that `text` describes; the empty text selects everything.

    Raises SelectorError with the message of Kubernetes.
    """
    parser = _Parser(text)
    requirements = parser.requirements()
    return Selector(tuple(sorted(requirements))) if requirements else EVERYTHING


class _Parser:
    """One pass over the tokens; the empty token is the end of the text."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text)
        self._position = 0

    def requirements(self) -> list[Requirement]:
        requirements: list[Requirement] = []
        while True:
            token = self._peek()
            if token == "" and not requirements:
                return requirements
            if token in _SYMBOLS and token != "!":
                raise SelectorError(f"found '{token}', expected: !, identifier, or 'end of string'")
            requirements.append(self._requirement())
            token = self._next()
            if token == "":
                return requirements
            if token != ",":
                raise SelectorError(f"found '{token}', expected: ',' or 'end of string'")
            if self._peek() in _SYMBOLS and self._peek() != "!":
                raise SelectorError(f"found '{self._peek()}', expected: identifier after ','")

    def _requirement(self) -> Requirement:
        negated = self._peek() == "!"
        if negated:
            self._next()
        key = self._next()
        if key in _SYMBOLS:
            raise _parse_error(f"found '{key}', expected: identifier")
        if faults := qualified_name_faults(key):
            raise _parse_error(_invalid("<nil>", key, "; ".join(faults)))
        if negated:
            return Requirement(key, DOES_NOT_EXIST)
        if self._peek() in ("", ","):
            return Requirement(key, EXISTS)
        sign = self._next()
        operator = _OPERATOR.get(sign)
        if operator is None:
            raise _parse_error(f"found '{sign}', expected: {_EXPECTED_OPERATOR}")
        values = self._values() if sign in ("in", "notin") else (self._exact_value(),)
        values = tuple(sorted(set(values)))
        if wrong := list(_value_faults(key, operator, values)):
            raise _parse_error(wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]")
        return Requirement(key, operator, values)

    def _exact_value(self) -> str:
        if self._peek() in ("", ","):
            return ""
        value = self._next()
        if value in _SYMBOLS:
            raise _parse_error(f"found '{value}', expected: identifier")
        return value

    def _values(self) -> tuple[str, ...]:
        """The values in parentheses: `(a, b)`; `(,)` contains an empty value twice."""
        opening = self._next()
        if opening != "(":
            raise _parse_error(f"found '{opening}' expected: '('")
        if self._peek() in _SYMBOLS - {",", ")"}:
            raise _parse_error(f"found '{self._peek()}', expected: ',', ')' or identifier")
        values: list[str] = []
        value = ""
        while True:
            token = self._next()
            if token in (",", ")"):
                values.append(value)
                value = ""
                if token == ")":
                    return tuple(values)
            elif value:
                raise _parse_error(f"found '{token}', expected: ',' or ')'")
            elif token in _SYMBOLS:
                raise _parse_error(f"found '{token}', expected: ',', or identifier")
            else:
                value = token

    def _peek(self) -> str:
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._position += 1
        return token


def _value_faults(key: str, operator: str, values: tuple[str, ...]) -> Iterator[str]:
    if operator in (GREATER_THAN, LESS_THAN) and parse_int64(values[0]) is None:
        yield _invalid(
            "values[0]", values[0], "for 'Gt', 'Lt' operators, the value must be an integer"
        )
    for index, value in enumerate(values):
        if faults := label_value_faults(value):
            yield _invalid(f"values[{index}][{key}]", value, "; ".join(faults))


def _invalid(field: str, value: str, detail: str) -> str:
    return f"{field}: Invalid value: {json.dumps(value, ensure_ascii=False)}: {detail}"


def _parse_error(reason: str) -> SelectorError:
    return SelectorError(f"unable to parse requirement: {reason}")
