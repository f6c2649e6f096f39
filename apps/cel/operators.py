"""The operators of expressions."""

from __future__ import annotations

import datetime
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from apps.cel.effort import spend, spend_comparison
from apps.cel.values import (
    INT_MAX,
    INT_MIN,
    NO_OVERLOAD,
    UINT_MAX,
    CelError,
    Cidr,
    Duration,
    Format,
    Ip,
    KeyedList,
    OptionalValue,
    Quantity,
    Semver,
    SetList,
    TypeValue,
    UInt,
    Url,
    Value,
)

_OPAQUE: Final = (Quantity, Semver, Url, Ip, Cidr, Format)
_NUMBERS: Final = (int, float)
_TEXTS: Final = (str, bytes, bool)


def equal(left: Value, right: Value) -> bool | CelError:
    """Values of different types are unequal, but those of Kubernetes refuse the comparison."""
    if left is None or right is None:
        return left is right
    if isinstance(left, _OPAQUE):
        if type(left) is not type(right):
            return CelError(NO_OVERLOAD)
        return left == right
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool) and left == right
    if isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS):
        return left == right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and _equal_lists(left, right)
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return _equal_maps(left, right)
    if isinstance(left, OptionalValue) and isinstance(right, OptionalValue):
        return left.present == right.present and (
            not left.present or equal(left.value, right.value) is True
        )
    return type(left) is type(right) and bool(left == right)


def _equal_lists(left: list[Value], right: list[Value]) -> bool:
    """Whether lists of the same length have equal elements."""
    spend_comparison(len(left))
    if isinstance(left, (SetList, KeyedList)):
        return all(_find_equal(left, element) for element in right)
    return all(equal(a, b) is True for a, b in zip(left, right, strict=True))


def _find_equal(known: list[Value], element: Value) -> bool:
    spend(len(known))
    return any(equal(each, element) is True for each in known)


def _join_lists(left: list[Value], right: list[Value]) -> list[Value]:
    """A set gets the new elements; an element of a list with keys takes the place of its like."""
    if isinstance(left, SetList):
        return SetList([*left, *(each for each in right if not _find_equal(left, each))])
    if isinstance(left, KeyedList):
        keys = [left.key_of(each) for each in left]
        joined = list(left)
        for element in right:
            spend(len(keys))
            key = left.key_of(element)
            if key in keys:
                joined[keys.index(key)] = element
            else:
                keys.append(key)
                joined.append(element)
        return KeyedList(joined, left.keys)
    return left + right


def _equal_maps(left: Mapping[Value, Value], right: Mapping[Value, Value]) -> bool:
    spend_comparison(len(left))
    return len(left) == len(right) and all(
        key in right and equal(value, right[key]) is True for key, value in left.items()
    )


def not_equal(left: Value, right: Value) -> bool | CelError:
    same = equal(left, right)
    return same if isinstance(same, CelError) else not same


def _comparison(symbol: str, compare: Callable[[Any, Any], bool]) -> Callable[..., Value]:
    def ordered(left: Value, right: Value) -> bool | CelError:
        if _are_comparable(left, right):
            if left != left or right != right:
                return CelError("NaN values cannot be ordered")
            return compare(left, right)
        return CelError(NO_OVERLOAD if _has_order(left) else f"{NO_OVERLOAD}: {symbol}")

    return ordered


def _are_comparable(left: Value, right: Value) -> bool:
    if isinstance(left, _TEXTS) or isinstance(right, _TEXTS):
        return type(left) is type(right)
    if isinstance(left, _NUMBERS) and isinstance(right, _NUMBERS):
        return True
    return type(left) is type(right) and isinstance(left, (Duration, datetime.datetime))


def _has_order(value: Value) -> bool:
    return isinstance(value, (*_TEXTS, *_NUMBERS, Duration, datetime.datetime))


def checked(result: int, like: Value) -> Value:
    """An integer result, or the error of an overflow."""
    if isinstance(like, UInt):
        return UInt(result) if 0 <= result <= UINT_MAX else CelError("unsigned integer overflow")
    return result if INT_MIN <= result <= INT_MAX else CelError("integer overflow")


def _arithmetic(symbol: str, compute: Callable[[Any, Any], Any]) -> Callable[..., Value]:
    def computed(left: Value, right: Value) -> Value:
        if isinstance(left, bool) or not isinstance(left, _NUMBERS):
            is_receiver = isinstance(left, (str, Duration, datetime.datetime))
            return CelError(NO_OVERLOAD if is_receiver else f"{NO_OVERLOAD}: {symbol}")
        if type(left) is not type(right):
            return CelError(NO_OVERLOAD)
        result = compute(left, right)
        return checked(result, left) if isinstance(result, int) else result

    return computed


def add(left: Value, right: Value) -> Value:
    if isinstance(left, list) and isinstance(right, list):
        return _join_lists(left, right)
    if isinstance(left, (str, bytes, list)):
        return operator.add(left, right) if type(left) is type(right) else CelError(NO_OVERLOAD)
    if isinstance(left, (Duration, datetime.datetime)) or isinstance(right, datetime.datetime):
        return _add_times(left, right)
    return _ADD(left, right)


def _add_times(left: Value, right: Value) -> Value:
    if isinstance(right, datetime.datetime):
        left, right = right, left
    if not isinstance(right, Duration):
        return CelError(NO_OVERLOAD)
    if isinstance(left, Duration):
        return _duration(left.nanos + right.nanos)
    try:
        return left + datetime.timedelta(microseconds=right.nanos / 1000)
    except OverflowError:
        return CelError("timestamp overflow")


def _duration(nanos: int) -> Value:
    return Duration(nanos) if INT_MIN <= nanos <= INT_MAX else CelError("integer overflow")


def subtract(left: Value, right: Value) -> Value:
    if isinstance(left, Duration) and isinstance(right, Duration):
        return _duration(left.nanos - right.nanos)
    if isinstance(left, datetime.datetime):
        if isinstance(right, datetime.datetime):
            return _duration((left - right) // datetime.timedelta(microseconds=1) * 1000)
        return _add_times(left, Duration(-right.nanos) if isinstance(right, Duration) else right)
    return _SUBTRACT(left, right)


def divide(left: Value, right: Value) -> Value:
    if isinstance(left, float) and isinstance(right, float):
        return _divide_floats(left, right)
    if isinstance(right, int) and right == 0 and type(left) is type(right):
        return CelError("division by zero")
    return _DIVIDE(left, right)


def _divide_floats(left: float, right: float) -> float:
    if right:
        return left / right
    return float("nan") if not left else math.copysign(math.inf, left) * math.copysign(1, right)


def modulo(left: Value, right: Value) -> Value:
    if isinstance(right, int) and right == 0 and type(left) is type(right):
        return CelError("modulus by zero")
    quotient = divide(left, right) if type(left) is type(right) else None
    if isinstance(quotient, CelError) and isinstance(left, int) and not isinstance(left, bool):
        return quotient
    return _MODULO(left, right)


def _truncate(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def negate(operand: Value) -> Value:
    if isinstance(operand, (bool, UInt)) or not isinstance(operand, (*_NUMBERS, Duration)):
        return CelError(NO_OVERLOAD)
    if isinstance(operand, Duration):
        return Duration(-operand.nanos)
    return checked(-operand, operand) if isinstance(operand, int) else -operand


def logical_not(operand: Value) -> Value:
    return not operand if isinstance(operand, bool) else CelError(NO_OVERLOAD)


def is_in(element: Value, container: Value) -> Value:
    if isinstance(container, list):
        return any(equal(element, each) is True for each in container)
    if isinstance(container, Mapping):
        return find_key(container, element) is not None
    return CelError(NO_OVERLOAD)


def find_key(container: Mapping[Value, Value], key: Value) -> tuple[Value] | None:
    """The value under the key, in a tuple; None without the key."""
    if isinstance(key, (TypeValue, list, dict)) or key is None:
        return None
    if _hashes_alike(key) and key in container:
        return (container[key],)
    return None


def _hashes_alike(key: Value) -> bool:
    return isinstance(key, (str, bool, int)) or (isinstance(key, float) and key.is_integer())


_ADD: Final = _arithmetic("_+_", lambda a, b: a + b)
_SUBTRACT: Final = _arithmetic("_-_", lambda a, b: a - b)
_DIVIDE: Final = _arithmetic("_/_", _truncate)
_MODULO: Final = _arithmetic("_%_", lambda a, b: a - b * _truncate(a, b))

OPERATORS: Final[dict[str, Callable[..., Value]]] = {
    "_==_": equal,
    "_!=_": not_equal,
    "_<_": _comparison("_<_", lambda a, b: a < b),
    "_<=_": _comparison("_<=_", lambda a, b: a <= b),
    "_>_": _comparison("_>_", lambda a, b: a > b),
    "_>=_": _comparison("_>=_", lambda a, b: a >= b),
    "_+_": add,
    "_-_": subtract,
    "_*_": _arithmetic("_*_", lambda a, b: a * b),
    "_/_": divide,
    "_%_": modulo,
    "-_": negate,
    "!_": logical_not,
    "@in": is_in,
}
