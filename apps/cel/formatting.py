"""The texts that ``format`` builds from clauses such as ``%s`` and ``%.2f``."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Mapping
from typing import Final

from apps.cel.conversions import to_string
from apps.cel.values import CelError, Duration, TypeValue, Value, type_name

_CLAUSE: Final = re.compile(r"%(\.[0-9]*)?(.?)", re.DOTALL)
_NO_PRECISION: Final = (
    "could not parse formatting clause: error while parsing precision: error while converting "
    'precision to integer: strconv.Atoi: parsing "": invalid syntax'
)
_MOST_DECIMALS: Final = 1_000
_DIGITS: Final = 5
_DECIMALS: Final = 6
_SUPERSCRIPTS: Final = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "+")
_NOT_FINITE: Final = ("NaN", "Infinity", "-Infinity")
_ESCAPES: Final = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)


class TooLong(Exception):
    """A text grew beyond the longest."""


class _Wrong(Exception):
    """The clause cannot be written."""


def quote(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


def format_text(template: str, args: list[Value], longest: int) -> str | CelError:
    """The template with its clauses replaced, or what is wrong with one; TooLong."""
    try:
        return _CLAUSE.sub(_Writer(args, longest).write, template)
    except _Wrong as wrong:
        return CelError(str(wrong))


class _Writer:
    def __init__(self, args: list[Value], room: int) -> None:
        self._args = args
        self._next = 0
        self._room = room

    def write(self, match: re.Match[str]) -> str:
        text = self._clause(*match.groups())
        self._room -= len(text)
        if self._room < 0:
            raise TooLong
        return text

    def _clause(self, precision: str | None, verb: str) -> str:
        if verb == "%":
            return "%"
        if precision == "." and verb:
            raise _Wrong(_NO_PRECISION)
        write = _find_clause(precision, verb)
        if self._next == len(self._args):
            raise _Wrong(f"index {self._next} out of range")
        self._next += 1
        return write(self._args[self._next - 1], _decimals(precision))


def _find_clause(precision: str | None, verb: str) -> Callable[[Value, int], str]:
    if verb in _CLAUSES:
        return _CLAUSES[verb]
    if verb:
        problem = f'unrecognized formatting clause "{verb}"'
    elif precision is None:
        raise _Wrong("unexpected end of string")
    else:
        problem = "error while parsing precision: could not find end of precision specifier"
    raise _Wrong(f"could not parse formatting clause: {problem}")


def _decimals(precision: str | None) -> int:
    if not precision:
        return _DECIMALS
    if len(precision) > _DIGITS or int(precision[1:] or 0) > _MOST_DECIMALS:
        raise TooLong
    return int(precision[1:] or 0)


def _refuse(rule: str, value: Value) -> _Wrong:
    return _Wrong(f"error during formatting: {rule}, was given {type_name(value)}")


def _is_int(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _string(value: Value, decimals: int = 0) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_element, value))}]"
    if isinstance(value, Mapping):
        entries = sorted((_element(key), _element(each)) for key, each in value.items())
        return f"{{{', '.join(f'{key}:{each}' for key, each in entries)}}}"
    if value is None:
        return "null"
    if isinstance(value, TypeValue):
        return value.name
    if not isinstance(value, (str, bytes, int, float, Duration, datetime.datetime)):
        kinds = "bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
        raise _refuse(f"string clause can only be used on strings, {kinds}", value)
    text = to_string(value)
    if isinstance(text, CelError):
        raise _Wrong(text.text)
    return str(text)


def _element(value: Value) -> str:
    """A value inside a list or a map, written as a literal."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bytes):
        return f"b{quote(_string(value))}"
    if isinstance(value, float):
        return f"{value:.6f}" if math.isfinite(value) else quote(_string(value))
    if isinstance(value, Duration):
        return f"duration({quote(_string(value))})"
    if isinstance(value, datetime.datetime):
        return f"timestamp({quote(_string(value))})"
    return _string(value)


def _decimal(value: Value, decimals: int) -> str:
    if not _is_int(value):
        raise _refuse("decimal clause can only be used on integers", value)
    return str(int(value))


def _number(value: Value, clause: str) -> float:
    if isinstance(value, str) and value in _NOT_FINITE:
        return float(value)
    if not isinstance(value, float):
        raise _refuse(f"{clause} clause can only be used on doubles", value)
    return value


def _not_finite(number: float) -> str:
    return "NaN" if math.isnan(number) else "∞" if number > 0 else "-∞"


def _fixed(value: Value, decimals: int) -> str:
    number = _number(value, "fixed-point")
    return f"{number:,.{decimals}f}" if math.isfinite(number) else _not_finite(number)


def _scientific(value: Value, decimals: int) -> str:
    """With six decimals, whatever the clause asks for, as in Kubernetes."""
    number = _number(value, "scientific")
    if not math.isfinite(number):
        return _not_finite(number)
    mantissa, _, exponent = f"{number:.{_DECIMALS}e}".partition("e")
    return f"{mantissa}×10{exponent.translate(_SUPERSCRIPTS)}"


def _hexadecimal(value: Value, decimals: int) -> str:
    if isinstance(value, (str, bytes)):
        return (value.encode() if isinstance(value, str) else value).hex()
    if not _is_int(value):
        rule = "only integers, byte buffers, and strings can be formatted as hex"
        raise _refuse(rule, value)
    return f"{int(value):x}"


def _octal(value: Value, decimals: int) -> str:
    if not _is_int(value):
        raise _refuse("octal clause can only be used on integers", value)
    return f"{int(value):o}"


def _binary(value: Value, decimals: int) -> str:
    if not isinstance(value, int):
        raise _refuse("only integers and bools can be formatted as binary", value)
    return f"{int(value):b}"


_CLAUSES: Final[dict[str, Callable[[Value, int], str]]] = {
    "s": _string,
    "d": _decimal,
    "f": _fixed,
    "e": _scientific,
    "x": _hexadecimal,
    "X": lambda value, decimals: _hexadecimal(value, decimals).upper(),
    "o": _octal,
    "b": _binary,
}
