"""The most that an expression can cost, whatever the device: what admission limits.

The sizes of a device's parts are limited by the API; those of other values follow from the
expression. A size that is not known counts as the largest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from apps.cel import macros
from apps.cel.call_estimates import Operand, estimate_call
from apps.cel.checking import Checked, qualified_name
from apps.cel.declarations import DECLARATIONS, Overload
from apps.cel.sizes import MOST, ONE, UNKNOWN, ZERO, Entries, Range, exactly
from apps.cel.tracking import LIST_COST, MAP_COST, STRUCT_COST
from apps.cel.tree import (
    Call,
    Comprehension,
    Const,
    Expr,
    Ident,
    ListExpr,
    MapExpr,
    Select,
    StructExpr,
)
from apps.cel.types import DYN, Type

Path = tuple[str, ...]

KEYS, VALUES, ITEMS, _INDICES = "@keys", "@values", "@items", "@indices"
_SCALARS: Final = frozenset(
    {
        "bool",
        "double",
        "int",
        "uint",
        "google.protobuf.Duration",
        "google.protobuf.Timestamp",
    }
)
_ATTRIBUTES: Final = 32
_DOMAIN_LENGTH, _NAME_LENGTH, _VALUE_LENGTH, _DRIVER_LENGTH = 63, 32, 64, 63


#: The path of a part of a variable -> its size; None if it is not known.
Sizes = Callable[[Path], Range | None]


def estimate_cost(tree: Expr, checked: Checked, sizes: Sizes | None = None) -> int:
    """The most that an evaluation of the checked tree costs; 2**64 - 1 without a limit.

    `sizes` are those of the variables; by default, those of a device.
    """
    return _Estimation(checked, sizes or _device_size).cost(tree).most


class _Variable(NamedTuple):
    path: Path
    size: Range | None
    entries: Entries | None


class _Estimation:
    def __init__(self, checked: Checked, sizes: Sizes) -> None:
        self._checked = checked
        self._declared_size = sizes
        self._paths: dict[int, Path] = {}
        self._sizes: dict[int, Range] = {}
        self._entries: dict[int, Entries] = {}
        self._variables: dict[str, _Variable] = {}

    def cost(self, expr: Expr) -> Range:
        return _COSTS[type(expr)](self, expr)

    def _const(self, expr: Const) -> Range:
        return ZERO

    def _ident(self, expr: Ident) -> Range:
        variable = self._variables.get(expr.name)
        self._paths[expr.id] = variable.path if variable is not None else (expr.name,)
        return ONE

    def _select(self, expr: Select) -> Range:
        cost = self.cost(expr.operand)
        if expr.test_only:
            return cost
        self._paths[expr.id] = (*self._path(expr.operand), expr.field)
        name = self._type(expr.operand).name
        has_fields = name == "map" or name in self._checked.structs
        return cost.plus(ONE) if has_fields else cost

    def _call(self, expr: Call) -> Range:
        if expr.function == "dyn":
            cost = self.cost(expr.args[0]).plus(ONE)
            self._copy_sizes(expr, expr.args[0])
            return cost
        costs = [self.cost(arg) for arg in expr.args]
        operands = [self._operand(arg) for arg in expr.args]
        function, receiver = self._function(expr)
        total = ZERO
        if receiver is not None:
            total = self.cost(receiver)
            operands.insert(0, self._operand(receiver))
        total = total.plus(self._argument_cost(expr, function, costs))
        if function in ("_&&_", "_||_", "_?_:_"):
            self._set_size(expr, self._conditional_size(expr) if function == "_?_:_" else ONE)
            return total
        return total.plus(self._overloads_cost(expr, function, operands))

    def _function(self, expr: Call) -> tuple[str, Expr | None]:
        if expr.target is not None:
            name = f"{qualified_name(expr.target)}.{expr.function}"
            if name in DECLARATIONS:
                return name, None
        return expr.function, expr.target

    def _argument_cost(self, expr: Call, function: str, costs: list[Range]) -> Range:
        if function == "_?_:_":
            return costs[0].plus(costs[1].union(costs[2]))
        total = ZERO
        for cost in costs:
            total = total.plus(cost)
        return Range(costs[0].least, total.most) if function in ("_&&_", "_||_") else total

    def _conditional_size(self, expr: Call) -> Range:
        entries = self._entry_sizes(expr.args[1])
        both = entries.union(self._entry_sizes(expr.args[2])) if entries is not None else None
        if both is not None:
            self._entries[expr.id] = both
        return self._size_or_unknown(expr.args[1]).union(self._size_or_unknown(expr.args[2]))

    def _overloads_cost(self, expr: Call, function: str, operands: list[Operand]) -> Range:
        cost, size = Range(MOST, 0), None
        for overload in self._checked.overloads[expr.id]:
            estimate = estimate_call(function, overload, operands)
            cost = cost.union(estimate.cost)
            if estimate.size is not None:
                size = estimate.size if size is None else size.union(estimate.size)
            if function == "_[_]":
                size = self._index(expr, overload)
            if function == "_+_":
                self._add_entries(expr, overload)
            size = size if size is not None else self._size(expr)
        if size is not None:
            self._set_size(expr, size)
        return cost

    def _index(self, expr: Call, overload: Overload) -> Range | None:
        """The size of what is at an index or a key."""
        container = overload.params[0].name
        if container not in ("list", "map"):
            return None
        step = ITEMS if container == "list" else VALUES
        self._paths[expr.id] = (*self._path(expr.args[0]), step)
        entries = self._entry_sizes(expr.args[0])
        return entries.values if entries is not None else None

    def _add_entries(self, expr: Call, overload: Overload) -> None:
        if overload.params[0].name not in ("string", "bytes", "list"):
            return
        entries = self._entry_sizes(expr.args[0])
        both = entries.union(self._entry_sizes(expr.args[1])) if entries is not None else None
        if both is not None:
            self._entries[expr.id] = both

    def _list(self, expr: ListExpr) -> Range:
        cost = exactly(LIST_COST)
        for element in expr.elements:
            cost = cost.plus(self.cost(element))
        self._entries[expr.id] = Entries(True, ONE, self._joined(expr.elements))
        return cost

    def _struct(self, expr: StructExpr) -> Range:
        cost = exactly(STRUCT_COST)
        for _, value, _ in expr.entries:
            cost = cost.plus(self.cost(value))
        return cost

    def _map(self, expr: MapExpr) -> Range:
        cost = exactly(MAP_COST)
        for key, value, _ in expr.entries:
            cost = cost.plus(self.cost(key)).plus(self.cost(value))
        keys = self._joined([key for key, _, _ in expr.entries])
        values = self._joined([value for _, value, _ in expr.entries])
        self._entries[expr.id] = Entries(False, keys, values)
        return cost

    def _joined(self, elements: list[Expr]) -> Range:
        joined = Range(MOST, 0) if elements else ZERO
        for element in elements:
            joined = joined.union(self._size_or_unknown(element))
        return joined

    def _comprehension(self, expr: Comprehension) -> Range:
        cost = self.cost(expr.iter_range).plus(self.cost(expr.accu_init))
        outer = self._variables
        accu = _Variable(
            self._path(expr.accu_init),
            self._size(expr.accu_init),
            self._entry_sizes(expr.accu_init),
        )
        self._variables = {**outer, expr.accu_var: accu}
        if _is_binding(expr):
            cost = cost.plus(self.cost(expr.result))
            self._copy_sizes(expr, expr.result)
            self._variables = outer
            return cost
        inner = self._variables
        self._variables = {**inner, **self._loop_variables(expr)}
        each = self.cost(expr.loop_condition).plus(self.cost(expr.loop_step))
        self._variables = inner
        cost = cost.plus(self.cost(expr.result))
        self._variables = outer
        count = self._size_or_unknown(expr.iter_range)
        self._set_result_size(expr, count)
        return cost.plus(count.times(each))

    def _set_result_size(self, expr: Comprehension, count: Range) -> None:
        if isinstance(expr.accu_init, Const):
            self._set_size(expr, self._size_or_unknown(expr.accu_init))
        elif isinstance(expr.accu_init, (ListExpr, MapExpr)):
            self._set_size(expr, count)
            entries = self._entry_sizes(expr.loop_step)
            if entries is not None:
                self._entries[expr.id] = entries

    def _loop_variables(self, expr: Comprehension) -> dict[str, _Variable]:
        entries = self._entry_sizes(expr.iter_range)
        is_list = self._type(expr.iter_range).name == "list"
        if entries is not None:
            is_list = entries.is_list
        path = self._path(expr.iter_range)
        key = _Variable((*path, _INDICES if is_list else KEYS), entries and entries.keys, None)
        value = _Variable((*path, ITEMS if is_list else VALUES), entries and entries.values, None)
        if expr.iter_var2:
            return {expr.iter_var: key, expr.iter_var2: value}
        return {expr.iter_var: value if is_list else key}

    # sizes

    def _operand(self, expr: Expr) -> Operand:
        path = self._path(expr)
        if path and path[0] == macros.ACCUMULATOR:
            path = ()
        elements = self._declared_size((*path, ITEMS)) if path else None
        return Operand(expr, self._type(expr), self._size_or_unknown(expr), elements or UNKNOWN)

    def _type(self, expr: Expr) -> Type:
        return self._checked.types.get(expr.id, DYN)

    def _path(self, expr: Expr) -> Path:
        if isinstance(expr, Ident) and expr.name in self._variables:
            return self._variables[expr.name].path
        return self._paths.get(expr.id, ())

    def _set_size(self, expr: Expr, size: Range) -> None:
        self._sizes[expr.id] = size

    def _copy_sizes(self, expr: Expr, source: Expr) -> None:
        size, entries = self._size(source), self._entry_sizes(source)
        if size is not None:
            self._sizes[expr.id] = size
        if entries is not None:
            self._entries[expr.id] = entries

    def _size_or_unknown(self, expr: Expr) -> Range:
        size = self._size(expr)
        return UNKNOWN if size is None else size

    def _size(self, expr: Expr) -> Range | None:
        if expr.id in self._sizes:
            return self._sizes[expr.id]
        literal = _literal_size(expr)
        if literal is not None:
            return exactly(literal)
        declared = self._declared_size(self._path(expr))
        if declared is not None:
            self._sizes[expr.id] = declared
            return declared
        if _is_scalar(self._type(expr)):
            return ONE
        if isinstance(expr, Ident) and expr.name in self._variables:
            return self._variables[expr.name].size
        return None

    def _entry_sizes(self, expr: Expr) -> Entries | None:
        if expr.id in self._entries:
            return self._entries[expr.id]
        if isinstance(expr, Ident) and expr.name in self._variables:
            return self._variables[expr.name].entries
        return None


_COSTS: Final[dict[type[Expr], Callable[..., Range]]] = {
    Const: _Estimation._const,
    Ident: _Estimation._ident,
    Select: _Estimation._select,
    Call: _Estimation._call,
    ListExpr: _Estimation._list,
    MapExpr: _Estimation._map,
    StructExpr: _Estimation._struct,
    Comprehension: _Estimation._comprehension,
}


def _is_binding(expr: Comprehension) -> bool:
    is_empty = isinstance(expr.iter_range, ListExpr) and not expr.iter_range.elements
    condition = expr.loop_condition
    never = isinstance(condition, Const) and condition.value is False
    return is_empty and never and expr.accu_var != macros.ACCUMULATOR


def _literal_size(expr: Expr) -> int | None:
    if isinstance(expr, Const):
        return len(expr.value) if isinstance(expr.value, (str, bytes)) else 1
    if isinstance(expr, ListExpr):
        return len(expr.elements)
    return len(expr.entries) if isinstance(expr, MapExpr) else None


def _is_scalar(type_: Type) -> bool:
    if type_.name == "optional_type":
        return _is_scalar(type_.params[0])
    return type_.name in _SCALARS


def _device_size(path: Path) -> Range | None:
    """The largest size of a part of the device, by its path."""
    if not path or path[0] != "device":
        return None
    if path == ("device",):
        return ZERO
    if path[1:] == ("driver",):
        return Range(0, _DRIVER_LENGTH)
    if path[1] not in ("attributes", "capacity"):
        return None
    return _table_size(path[2:], is_attribute=path[1] == "attributes")


def _table_size(steps: Path, *, is_attribute: bool) -> Range | None:
    if not steps:
        return Range(0, _ATTRIBUTES)
    if steps[0] == KEYS:
        return Range(0, _DOMAIN_LENGTH) if len(steps) == 1 else None
    if steps[0] not in (VALUES, ITEMS):
        return None
    if len(steps) == 1:
        return Range(0, _ATTRIBUTES)
    if len(steps) > 2:
        return None
    if steps[1] == KEYS:
        return Range(0, _NAME_LENGTH)
    if is_attribute:
        return Range(0, _VALUE_LENGTH)
    return Range(0, 0) if steps[1] in (VALUES, ITEMS) else None
