"""What an evaluation costs, in the units in which Kubernetes limits it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from apps.cel.effort import CostExceeded, spend
from apps.cel.values import Cidr, Value, size_of

LIST_COST: Final = 10
MAP_COST: Final = 30
STRUCT_COST: Final = 40
#: what a character costs that is read, and one of a regular expression
STRING_FACTOR: Final = 0.1
REGEX_FACTOR: Final = 0.25
#: what it costs to ask what a user may do
AUTHORIZATION_COST: Final = 350_000

Cost = Callable[[Sequence[Value], Value], int]


class CostTracker:
    __slots__ = ("cost", "limit")

    def __init__(self, limit: int) -> None:
        self.cost = 0
        self.limit = limit

    def add(self, cost: int) -> None:
        self.cost += cost
        if self.cost > self.limit:
            raise CostExceeded


def call_cost(function: str, args: Sequence[Value], result: Value) -> int:
    """The cost of one call, without that of its arguments."""
    cost = _COSTS.get(function)
    return cost(args, result) if cost is not None and args else 1


def reading(size: float) -> int:
    return math.ceil(size * STRING_FACTOR)


def _reads_first(args: Sequence[Value], result: Value) -> int:
    return reading(size_of(args[0]))


def _rewrites(args: Sequence[Value], result: Value) -> int:
    return math.ceil(size_of(args[0]) * 2 * STRING_FACTOR)


def _joins(args: Sequence[Value], result: Value) -> int:
    return math.ceil(size_of(result) * 2 * STRING_FACTOR)


def _compares(args: Sequence[Value], result: Value) -> int:
    return reading(min(size_of(args[0]), size_of(args[1])))


def _orders(args: Sequence[Value], result: Value) -> int:
    both_text = all(isinstance(arg, (str, bytes)) for arg in args)
    return _compares(args, result) if both_text else 1


def _adds(args: Sequence[Value], result: Value) -> int:
    both_text = all(isinstance(arg, (str, bytes)) for arg in args)
    return reading(size_of(args[0]) + size_of(args[1])) if both_text else 1


def _searches(args: Sequence[Value], result: Value) -> int:
    text = reading(1 + size_of(args[0]))
    return text * math.ceil(size_of(args[1]) * REGEX_FACTOR)


def _contains(args: Sequence[Value], result: Value) -> int:
    return reading(size_of(args[0])) * reading(size_of(args[1]))


def _is_in(args: Sequence[Value], result: Value) -> int:
    return size_of(args[1]) if isinstance(args[1], list) else 1


def _traverses(args: Sequence[Value], result: Value) -> int:
    return traversal(args[0])


def traversal(value: Value) -> int:
    """The cost of visiting everything in a value."""
    if isinstance(value, (str, bytes)):
        return int(len(value.encode() if isinstance(value, str) else value) * STRING_FACTOR)
    if isinstance(value, list):
        spend(len(value))
        return sum(map(traversal, value))
    if isinstance(value, Mapping):
        spend(len(value))
        return sum(traversal(key) + traversal(item) for key, item in value.items())
    return 1


def _validates(args: Sequence[Value], result: Value) -> int:
    regex = math.ceil(getattr(args[0], "regex_size", 0) * REGEX_FACTOR)
    return reading(1 + size_of(args[1])) * regex


def _ip(args: Sequence[Value], result: Value) -> int:
    return 1 if isinstance(args[0], Cidr) else reading(size_of(args[0]))


def _contains_ip(args: Sequence[Value], result: Value) -> int:
    cost = reading(2 * size_of(args[0]))
    return cost + (reading(size_of(args[1])) if isinstance(args[1], str) else 0)


def _contains_cidr(args: Sequence[Value], result: Value) -> int:
    return _contains_ip(args, result) + reading(size_of(args[0])) + 1


def _new_list(args: Sequence[Value], result: Value) -> int:
    return LIST_COST + 1 + size_of(result)


def _flattens(args: Sequence[Value], result: Value) -> int:
    depth = args[1] if len(args) == 2 and isinstance(args[1], int) else 1
    return LIST_COST + 1 + size_of(args[0]) * max(depth, 1)


def _self_compares(args: Sequence[Value], result: Value) -> int:
    values = args[-1]
    size = size_of(values)
    text = isinstance(values, list) and bool(values) and isinstance(values[0], (str, bytes))
    return LIST_COST + 1 + int(size * size * (2 + STRING_FACTOR * text))


def _authorizes(args: Sequence[Value], result: Value) -> int:
    return AUTHORIZATION_COST


def _set_product(args: Sequence[Value], result: Value) -> int:
    return 1 + size_of(args[0]) * size_of(args[1])


def _set_equivalence(args: Sequence[Value], result: Value) -> int:
    return 1 + 2 * size_of(args[0]) * size_of(args[1])


_COSTS: Final[dict[str, Cost]] = {
    **dict.fromkeys(("_==_", "_!=_"), _compares),
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _orders),
    "_+_": _adds,
    "@in": _is_in,
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _traverses),
    **dict.fromkeys(
        (
            "url",
            "lowerAscii",
            "upperAscii",
            "substring",
            "trim",
            "cidr",
            "isIP",
            "isCIDR",
            "startsWith",
            "endsWith",
            "quantity",
            "isQuantity",
            "semver",
            "isSemver",
            "strings.quote",
            "format",
        ),
        _reads_first,
    ),
    **dict.fromkeys(("replace", "split", "ip.isCanonical"), _rewrites),
    "join": _joins,
    **dict.fromkeys(("find", "findAll", "matches"), _searches),
    "contains": _contains,
    "validate": _validates,
    "ip": _ip,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    **dict.fromkeys(("lists.range", "slice"), _new_list),
    **dict.fromkeys(("distinct", "sort", "@sortByAssociatedKeys"), _self_compares),
    "flatten": _flattens,
    **dict.fromkeys(("sets.contains", "sets.intersects"), _set_product),
    "sets.equivalent": _set_equivalence,
    "check": _authorizes,
}
