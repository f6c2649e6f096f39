"""What calls of functions cost at most, and the sizes of their results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from apps.cel.declarations import Overload
from apps.cel.sizes import MOST, ONE, ZERO, Range, exactly
from apps.cel.tracking import LIST_COST, REGEX_FACTOR, STRING_FACTOR
from apps.cel.tree import Const, Expr
from apps.cel.types import Type

#: the longest regular expression behind a named format
_FORMAT_REGEX: Final = 128
#: the most values that all lists among a device's attributes have together
_LIST_VALUES: Final = 48
_TEXTS: Final = ("string", "bytes")
_ADDRESS: Final = Range(4, 16)


class Operand(NamedTuple):
    """An argument or the receiver. ``elements``: the sizes of a list's elements."""

    expr: Expr
    type: Type
    size: Range
    elements: Range


class Estimate(NamedTuple):
    """The cost of a call without its arguments. ``size``: of its result, if it is known."""

    cost: Range
    size: Range | None = None


Operands = Sequence[Operand]
Estimator = Callable[[Overload, Operands], Estimate | None]


def estimate_call(function: str, overload: Overload, operands: Operands) -> Estimate:
    """The estimate of one overload; ``operands`` start with the receiver of a member."""
    estimator = _ESTIMATORS.get(function)
    estimate = estimator(overload, operands) if estimator is not None else None
    return estimate or Estimate(ONE)


def _read(overload: Overload, operands: Operands) -> Estimate:
    return Estimate(operands[0].size.scaled(STRING_FACTOR))


def _read_twice(overload: Overload, operands: Operands) -> Estimate:
    return Estimate(operands[0].size.scaled(2 * STRING_FACTOR))


def _rewrite(overload: Overload, operands: Operands) -> Estimate:
    return Estimate(operands[0].size.scaled(STRING_FACTOR), operands[0].size)


def _visit(overload: Overload, operands: Operands) -> Estimate:
    """The cost of a call that visits each element, and reads those that are texts."""
    receiver = operands[0]
    if not receiver.type.params:
        return Estimate(receiver.size.scaled(STRING_FACTOR))
    cost = ONE
    if receiver.type.params[0].name in _TEXTS:
        cost = cost.plus(receiver.elements.scaled(STRING_FACTOR))
    return Estimate(receiver.size.times(cost))


def _replace(overload: Overload, operands: Operands) -> Estimate:
    text, old, new = (operand.size for operand in operands[:3])
    most = _replaced(text.most, old.least, is_no_longer=new.most <= old.least)
    least = _replaced(text.least, old.most, is_no_longer=old.most <= new.least)
    count, kept = Range(least[0], most[0]), Range(least[1], most[1])
    return Estimate(text.scaled(2 * STRING_FACTOR), count.times(new).plus(kept))


def _replaced(text: int, old: int, *, is_no_longer: bool) -> tuple[int, int]:
    """(how many replacements, how many characters remain)"""
    if not old:
        return min(text + 1, MOST), text
    if is_no_longer:
        return 0, text
    return math.ceil(text / old), 0


def _split(overload: Overload, operands: Operands) -> Estimate:
    text = operands[0].size
    most = text.most
    if len(operands) > 2:
        limit = operands[2].expr
        if isinstance(limit, Const) and isinstance(limit.value, int):
            most = limit.value % (MOST + 1)
    return Estimate(text.scaled(2 * STRING_FACTOR), Range(0, most))


def _join(overload: Overload, operands: Operands) -> Estimate:
    texts = operands[0]
    size = texts.size.times(texts.elements) if texts.type.params else ZERO
    if len(operands) > 1:
        between = Range(max(texts.size.least - 1, 0), max(texts.size.most - 1, 0))
        size = size.plus(operands[1].size.times(between))
    return Estimate(size.scaled(STRING_FACTOR), size)


def _search(overload: Overload, operands: Operands) -> Estimate:
    return Estimate(_regex_cost(overload, operands).cost, Range(0, operands[0].size.most))


def _regex_cost(overload: Overload, operands: Operands) -> Estimate:
    text = operands[0].size.plus(ONE).scaled(STRING_FACTOR)
    return Estimate(text.times(operands[1].size.scaled(REGEX_FACTOR)))


def _matches(overload: Overload, operands: Operands) -> Estimate | None:
    return _regex_cost(overload, operands) if overload.is_member else None


def _ip(overload: Overload, operands: Operands) -> Estimate:
    return Estimate(ONE) if overload.is_member else _read(overload, operands)


def _contains_ip(overload: Overload, operands: Operands) -> Estimate:
    cost = _ADDRESS.plus(_ADDRESS).scaled(STRING_FACTOR)
    if overload.params[1].name == "string":
        cost = cost.plus(operands[1].size.scaled(STRING_FACTOR))
    return Estimate(cost)


def _contains_cidr(overload: Overload, operands: Operands) -> Estimate:
    more = _ADDRESS.scaled(STRING_FACTOR).plus(ONE)
    return Estimate(_contains_ip(overload, operands).cost.plus(more))


def _validate(overload: Overload, operands: Operands) -> Estimate:
    read = operands[1].size.scaled(STRING_FACTOR)
    return Estimate(read.scaled(_FORMAT_REGEX * REGEX_FACTOR))


def _equal(overload: Overload, operands: Operands) -> Estimate:
    left, right = operands
    if left.type == right.type:
        constant = _EQUALITIES.get(left.type.name)
        if constant is not None:
            return Estimate(constant)
    return _compare_texts(overload, operands)


#: what it costs to compare values of Kubernetes' own types
_EQUALITIES: Final = {
    **dict.fromkeys(("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"), ONE),
    "kubernetes.NamedFormat": Range(1, 64).scaled(STRING_FACTOR),
}


def _compare_texts(overload: Overload, operands: Operands) -> Estimate:
    most = min(operands[0].size.most, operands[1].size.most)
    return Estimate(Range(min(most, 1), most).scaled(STRING_FACTOR))


def _order(overload: Overload, operands: Operands) -> Estimate | None:
    return _compare_texts(overload, operands) if overload.params[0].name in _TEXTS else None


def _add(overload: Overload, operands: Operands) -> Estimate | None:
    size = operands[0].size.plus(operands[1].size)
    if overload.params[0].name == "list":
        return Estimate(ONE, size)
    if overload.params[0].name in _TEXTS:
        return Estimate(size.scaled(STRING_FACTOR), size)
    return None


def _is_in(overload: Overload, operands: Operands) -> Estimate | None:
    return Estimate(operands[1].size) if overload.params[1].name == "list" else None


def _read_argument(overload: Overload, operands: Operands) -> Estimate:
    return Estimate(operands[1].size.scaled(STRING_FACTOR))


def _contains(overload: Overload, operands: Operands) -> Estimate:
    text, part = (operand.size.scaled(STRING_FACTOR) for operand in operands)
    return Estimate(text.times(part))


def _to_string(overload: Overload, operands: Operands) -> Estimate | None:
    if overload.params[0].name != "bytes":
        return None
    size = operands[0].size
    return Estimate(size.scaled(STRING_FACTOR), Range(size.least // 4, size.most))


def _to_bytes(overload: Overload, operands: Operands) -> Estimate | None:
    if overload.params[0].name != "string":
        return None
    size = operands[0].size
    return Estimate(size.scaled(STRING_FACTOR), Range(size.least, size.most * 4 % (MOST + 1)))


def _quote(overload: Overload, operands: Operands) -> Estimate:
    size = operands[0].size
    most = (size.most * 2 + 2) % (MOST + 1)
    return Estimate(size.scaled(STRING_FACTOR), Range(size.least + 2, most))


# lists


def _new_list(size: Range, factor: float = 1.0) -> Estimate:
    return Estimate(size.scaled(factor).plus(exactly(1 + LIST_COST)), size)


def _number(operand: Operand, default: int) -> int:
    if isinstance(operand.expr, Const) and type(operand.expr.value) is int:
        return operand.expr.value if operand.expr.value >= 0 else 0
    return default


def _range(overload: Overload, operands: Operands) -> Estimate:
    return _new_list(exactly(_number(operands[0], MOST)))


def _slice(overload: Overload, operands: Operands) -> Estimate:
    end = _number(operands[2], operands[0].size.most)
    return _new_list(exactly((end - _number(operands[1], 0)) % (MOST + 1)))


def _flatten(overload: Overload, operands: Operands) -> Estimate:
    depth = _number(operands[1], MOST) if len(operands) > 1 else 1
    return _new_list(operands[0].size, float(depth))


def _reverse(overload: Overload, operands: Operands) -> Estimate:
    return _new_list(operands[0].size)


def _distinct(overload: Overload, operands: Operands) -> Estimate:
    return _new_list(operands[0].size.times(operands[0].size), 2.0)


def _sort(overload: Overload, operands: Operands) -> Estimate:
    """The cost of sorting by the elements, or by the keys if there are any."""
    size = operands[-1].size
    is_text = overload.params[-1].params[0].name in _TEXTS
    return _new_list(size.times(size), 2.0 + STRING_FACTOR * is_text)


def _set_product(factor: float) -> Estimator:
    def estimate(overload: Overload, operands: Operands) -> Estimate:
        return Estimate(operands[0].size.times(operands[1].size).scaled(factor).plus(ONE))

    return estimate


_ESTIMATORS: Final[dict[str, Estimator]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _visit),
    **dict.fromkeys(
        (
            "cidr",
            "isIP",
            "isCIDR",
            "quantity",
            "isQuantity",
            "semver",
            "isSemver",
            "format",
        ),
        _read,
    ),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim", "url"), _rewrite),
    "ip.isCanonical": _read_twice,
    "replace": _replace,
    "split": _split,
    "join": _join,
    **dict.fromkeys(("find", "findAll"), _search),
    "matches": _matches,
    "ip": _ip,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate,
    "includes": lambda overload, operands: Estimate(Range(1, _LIST_VALUES)),
    "_==_": _equal,
    "_!=_": _compare_texts,
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _order),
    "_+_": _add,
    "@in": _is_in,
    **dict.fromkeys(("startsWith", "endsWith"), _read_argument),
    "contains": _contains,
    "string": _to_string,
    "bytes": _to_bytes,
    "strings.quote": _quote,
    "lists.range": _range,
    "slice": _slice,
    "flatten": _flatten,
    "reverse": _reverse,
    "distinct": _distinct,
    **dict.fromkeys(("sort", "@sortByAssociatedKeys"), _sort),
    **dict.fromkeys(("sets.contains", "sets.intersects"), _set_product(1.0)),
    "sets.equivalent": _set_product(2.0),
}
