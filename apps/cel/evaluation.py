"""Evaluation of a tree: errors are values, which && and || may absorb, and every step has a cost.

The steps and their costs are those of Kubernetes' interpreter: a variable with its fields and
indices is one *attribute*, which costs one for itself and one for each field or index that was
reached; constant lists and maps, and conversions of constants, are computed when the program is
built, for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from apps.cel.conversions import CONVERSIONS, format_double
from apps.cel.effort import spend
from apps.cel.functions import call
from apps.cel.macros import ACCUMULATOR
from apps.cel.operators import find_key
from apps.cel.tracking import LIST_COST, MAP_COST, STRUCT_COST, CostTracker, call_cost
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
from apps.cel.values import (
    NO_OVERLOAD,
    CelError,
    OptionalValue,
    StructValue,
    TypeValue,
    Value,
    type_name,
)

Variables = Mapping[str, Any]
_NO_OVERLOAD: Final = CelError(NO_OVERLOAD)
#: The types whose values are not iterable, by the names that errors have.
_GO_TYPES: Final = {
    "int": "types.Int",
    "uint": "types.Uint",
    "double": "types.Double",
    "bool": "types.Bool",
    "string": "types.String",
    "bytes": "types.Bytes",
    "null_type": "types.Null",
    "google.protobuf.Duration": "types.Duration",
    "google.protobuf.Timestamp": "types.Timestamp",
    "optional_type": "*types.Optional",
}
_NONE: Final = OptionalValue()
_INDEXES: Final = ("_[_]", "_[?_]", "_?._")
#: constant texts that are compared with another one while two elements of lists are
_TEXTS: Final = 32
NAMESPACES: Final = frozenset(
    {"optional", "lists", "sets", "strings", "format", "ip", "cel", "jsonpatch"},
)
TYPE_NAMES: Final = {
    **{name: name for name in ("int", "uint", "double", "bool", "string", "bytes", "list", "map")},
    "null_type": "null_type",
    "type": "type",
}


def fold(expr: Expr) -> Expr:
    """The tree with its constant parts computed, qualified names joined."""
    if isinstance(expr, Call):
        return _fold_call(expr)
    if isinstance(expr, Select):
        return Select(expr.id, expr.offset, fold(expr.operand), expr.field, expr.test_only)
    if isinstance(expr, ListExpr):
        elements = [fold(each) for each in expr.elements]
        if not expr.optional and all(isinstance(each, Const) for each in elements):
            return Const(expr.id, expr.offset, [_constant(each) for each in elements])
        return ListExpr(expr.id, expr.offset, elements, expr.optional)
    if isinstance(expr, StructExpr):
        entries = [(key, fold(value), optional) for key, value, optional in expr.entries]
        return StructExpr(expr.id, expr.offset, entries, expr.type_name)
    if isinstance(expr, MapExpr):
        return _fold_map(expr)
    if isinstance(expr, Comprehension):
        parts = (expr.accu_init, expr.loop_condition, expr.loop_step, expr.result)
        init, condition, step, result = map(fold, parts)
        return Comprehension(
            expr.id,
            expr.offset,
            expr.iter_var,
            expr.iter_var2,
            fold(expr.iter_range),
            expr.accu_var,
            init,
            condition,
            step,
            result,
        )
    return expr


def _constant(expr: Expr) -> Value:
    return expr.value if isinstance(expr, Const) else None


def _fold_map(expr: MapExpr) -> Expr:
    entries = [(fold(key), fold(value), optional) for key, value, optional in expr.entries]
    if all(
        isinstance(key, Const) and isinstance(value, Const) and not optional
        for key, value, optional in entries
    ):
        return Const(
            expr.id, expr.offset, {_constant(key): _constant(value) for key, value, _ in entries}
        )
    return MapExpr(expr.id, expr.offset, entries)


def _fold_call(expr: Call) -> Expr:
    function, target = expr.function, expr.target
    if isinstance(target, Ident) and target.name in NAMESPACES:
        function, target = f"{target.name}.{function}", None
    args = [fold(arg) for arg in expr.args]
    if target is None and function in CONVERSIONS and isinstance(args[0], Const):
        return Const(expr.id, expr.offset, CONVERSIONS[function](args[0].value))
    folded = fold(target) if target is not None else None
    return Call(expr.id, expr.offset, function, args, folded)


def find_error(expr: Expr) -> CelError | None:
    """The error of a constant part, with which no program can be built."""
    if isinstance(expr, Const) and isinstance(expr.value, CelError):
        return expr.value
    operands = [*expr.args, expr.target] if isinstance(expr, Call) else []
    errors = (find_error(each) for each in operands if each is not None)
    return next((each for each in errors if each is not None), None)


class Evaluation:
    """One evaluation with its variables; CostExceeded."""

    def __init__(self, variables: Variables, tracker: CostTracker) -> None:
        self._variables = dict(variables)
        self._tracker = tracker

    def evaluate(self, expr: Expr) -> Value:
        if isinstance(expr, Const):
            return expr.value
        if _is_attribute(expr):
            value = self._resolve(expr)
            if isinstance(expr, Ident) and expr.name not in self._variables:
                return value
            self._tracker.add(0 if _is_presence_test(expr) else 1)
            return value
        return _EVALUATORS[type(expr)](self, expr)

    def _call(self, expr: Call) -> Value:
        special = _SPECIAL.get(expr.function)
        if special is not None:
            return special(self, expr)
        operands = [expr.target, *expr.args] if expr.target is not None else expr.args
        container = operands[-1] if expr.function == "@in" else None
        if isinstance(container, Const) and _is_constant_list(container):
            return self._is_member(operands[0], container.value)
        args = []
        for position, operand in enumerate(operands):
            args.append(self.evaluate(operand))
            if isinstance(args[-1], CelError) and len(operands) > 2 and position < len(operands):
                return args[-1]
        failed = next((arg for arg in args if isinstance(arg, CelError)), None)
        if failed is None:
            collect = _COLLECTING.get(expr.function)
            if collect is None or not _is_accumulator(operands[0]):
                result = call(expr.function, args)
            else:
                result = collect(*args)
        else:
            result = failed
        self._tracker.add(call_cost(expr.function, args, result))
        return result

    def _is_member(self, operand: Expr, container: Value) -> Value:
        element = self.evaluate(operand)
        if isinstance(element, CelError):
            return element
        if isinstance(element, str):
            spend(len(container) // _TEXTS)
            return element in container
        spend(len(container))
        return call("@in", [element, container])

    def _and(self, expr: Call) -> Value:
        return self._connect(expr, decided=False)

    def _or(self, expr: Call) -> Value:
        return self._connect(expr, decided=True)

    def _connect(self, expr: Call, *, decided: bool) -> Value:
        """&& and ||: one side that decides makes the other irrelevant, also its error."""
        failed = None
        for operand in expr.args:
            value = self.evaluate(operand)
            if value is decided:
                return decided
            if not isinstance(value, bool):
                problem = value if isinstance(value, CelError) else _NO_OVERLOAD
                failed = problem if failed is None else failed
        return (not decided) if failed is None else failed

    def _not_strictly_false(self, expr: Call) -> Value:
        value = self.evaluate(expr.args[0])
        self._tracker.add(1)
        return value is not False

    def _or_value(self, expr: Call) -> Value:
        assert expr.target is not None
        optional = self.evaluate(expr.target)
        if not isinstance(optional, OptionalValue):
            return optional
        return optional.value if optional.present else self.evaluate(expr.args[0])

    def _or_optional(self, expr: Call) -> Value:
        assert expr.target is not None
        optional = self.evaluate(expr.target)
        if isinstance(optional, OptionalValue) and not optional.present:
            return self.evaluate(expr.args[0])
        return optional

    def _list(self, expr: ListExpr) -> Value:
        values = []
        for position, element in enumerate(expr.elements):
            value = self.evaluate(element)
            if isinstance(value, CelError):
                return value
            if position not in expr.optional:
                values.append(value)
            elif isinstance(value, OptionalValue) and value.present:
                values.append(value.value)
        self._tracker.add(LIST_COST)
        return values

    def _struct(self, expr: StructExpr) -> Value:
        entries = self._entries(expr)
        if isinstance(entries, CelError):
            return entries
        self._tracker.add(STRUCT_COST)
        return StructValue(expr.type_name, entries)

    def _map(self, expr: MapExpr) -> Value:
        entries = self._entries(expr)
        if not isinstance(entries, CelError):
            self._tracker.add(MAP_COST)
        return entries

    def _entries(self, expr: MapExpr) -> dict[Value, Value] | CelError:
        entries: dict[Value, Value] = {}
        for key_expr, value_expr, optional in expr.entries:
            key, value = self.evaluate(key_expr), self.evaluate(value_expr)
            for each in (key, value):
                if isinstance(each, CelError):
                    return each
            if not optional:
                entries[key] = value
            elif isinstance(value, OptionalValue) and value.present:
                entries[key] = value.value
        return entries

    def _comprehension(self, expr: Comprehension) -> Value:
        outer = self._variables
        elements = self.evaluate(expr.iter_range)
        if isinstance(elements, CelError):
            return elements
        if not isinstance(elements, (list, Mapping)):
            return _not_iterable(expr, elements)
        accu = (
            _Lazy(self, expr.accu_init, outer)
            if _is_bind(expr)
            else _own_copy(self.evaluate(expr.accu_init))
        )
        self._variables = {**outer, expr.accu_var: accu}
        for scope in _iterations(expr, elements):
            self._variables.update(scope)
            if self.evaluate(expr.loop_condition) is not True:
                break
            self._variables[expr.accu_var] = self.evaluate(expr.loop_step)
        accu = self._variables[expr.accu_var]
        self._variables = {**outer, expr.accu_var: accu}
        result = self.evaluate(expr.result)
        self._variables = outer
        return result

    # attributes

    def _resolve(self, expr: Expr) -> Value:
        """The value of an attribute, with the cost of its fields and indices only."""
        value, optional = self._walk(expr)
        if isinstance(value, CelError) or not optional:
            return value
        return value if value is _NONE else OptionalValue(value, True)

    def _walk(self, expr: Expr) -> tuple[Value, bool]:
        """The value and whether an optional field or index was passed on the way."""
        if isinstance(expr, Ident):
            return self._variable(expr.name)
        if isinstance(expr, Call) and expr.function == "_?_:_":
            return self._conditional(expr), False
        if not isinstance(expr, (Select, Call)):
            return _NO_OVERLOAD, False
        operand, key_expr, is_optional = _qualifier(expr)
        value, optional = self._walk(operand) if _is_attribute(operand) else self._opened(operand)
        if isinstance(value, CelError) or value is _NONE:
            return value, optional
        key = self._key(key_expr)
        if isinstance(key, CelError):
            return key, False
        if isinstance(expr, Select) and expr.test_only:
            self._tracker.add(1)
            return find(value, key) is not None, False
        return self._qualify(value, key, optional or is_optional)

    def _variable(self, name: str) -> tuple[Value, bool]:
        if name not in self._variables:
            return TypeValue(TYPE_NAMES.get(name, name)), False
        value = self._variables[name]
        return _opened(value.get() if isinstance(value, _Lazy) else value, by_attribute=False)

    def _opened(self, operand: Expr) -> tuple[Value, bool]:
        return _opened(self.evaluate(operand), by_attribute=True)

    def _key(self, expr: Expr) -> Value:
        return self._resolve(expr) if _is_attribute(expr) else self.evaluate(expr)

    def _qualify(self, value: Value, key: Value, optional: bool) -> tuple[Value, bool]:
        selected = find(value, key)
        if isinstance(value, list) and _problem_of_index(key):
            return CelError(_problem_of_index(key)), optional
        if selected is None and optional and isinstance(value, (Mapping, list)):
            return _NONE, True
        self._tracker.add(1)
        if selected is not None:
            return selected[0], optional
        return _missing(value, key), optional

    def _conditional(self, expr: Call) -> Value:
        condition = self.evaluate(expr.args[0])
        if not isinstance(condition, bool):
            return condition if isinstance(condition, CelError) else _NO_OVERLOAD
        branch = expr.args[1] if condition else expr.args[2]
        return self._resolve(branch) if _is_attribute(branch) else self.evaluate(branch)

    def _evaluate_conditional(self, expr: Call) -> Value:
        return self._conditional(expr)


class _Lazy:
    """A variable of cel.bind: computed when it is first read."""

    def __init__(self, evaluation: Evaluation, expr: Expr, scope: dict[str, Any]) -> None:
        self._evaluation, self._expr, self._scope = evaluation, expr, scope
        self._value: list[Value] = []

    def get(self) -> Value:
        if not self._value:
            current = self._evaluation._variables
            self._evaluation._variables = self._scope
            self._value.append(self._evaluation.evaluate(self._expr))
            self._evaluation._variables = current
        return self._value[0]


def find(value: Value, key: Value) -> tuple[Value] | None:
    """The value of a field, a key or an index, in a tuple; None without it."""
    if isinstance(value, Mapping):
        item = find_key(value, key)
        if item is None and hasattr(type(value), "__missing__"):
            return (value[key],)
        return item
    if isinstance(value, list) and isinstance(key, (int, float)) and not isinstance(key, bool):
        index = int(key)
        return (value[index],) if index == key and 0 <= index < len(value) else None
    return None


def _problem_of_index(key: Value) -> str:
    """What is wrong with the type of an index of a list; "" if nothing is."""
    if isinstance(key, float) and not key.is_integer():
        return f"unsupported index value {format_double(key)} in list"
    if isinstance(key, (int, float)) and not isinstance(key, bool):
        return ""
    return f"unsupported index type '{type_name(key)}' in list"


def _not_iterable(expr: Comprehension, value: Value) -> CelError:
    name = _GO_TYPES.get(type_name(value))
    if name is None:
        return _NO_OVERLOAD
    if expr.iter_var2:
        return CelError(f"unsupported comprehension range type: {name}")
    return CelError(f"got '{name}', expected iterable type")


def _missing(value: Value, key: Value) -> CelError:
    if isinstance(value, list) and isinstance(key, int):
        return CelError(f"index out of bounds: {key}")
    return CelError(f"no such key: {key}")


def _opened(value: Value, *, by_attribute: bool) -> tuple[Value, bool]:
    """Fields of an optional value are those of what it contains, and optional."""
    if by_attribute and isinstance(value, OptionalValue):
        return (value.value, True) if value.present else (_NONE, True)
    return value, False


def _is_attribute(expr: Expr) -> bool:
    return isinstance(expr, (Ident, Select)) or (
        isinstance(expr, Call) and expr.function in _INDEXES
    )


def _is_presence_test(expr: Expr) -> bool:
    return isinstance(expr, Select) and expr.test_only


def _qualifier(expr: Select | Call) -> tuple[Expr, Expr, bool]:
    """(operand, key, whether optional) of a field or an index."""
    if isinstance(expr, Select):
        return expr.operand, Const(expr.id, expr.offset, expr.field), False
    return expr.args[0], expr.args[1], expr.function != "_[_]"


def _is_accumulator(expr: Expr) -> bool:
    """Whether it is what a loop collects; expressions of users cannot name it."""
    return isinstance(expr, Ident) and expr.name == ACCUMULATOR


def _own_copy(start: Value) -> Value:
    """What a loop may add its elements to: a constant belongs to all evaluations."""
    if type(start) is list or type(start) is dict:
        return start.copy()
    return start


def _append(collected: Value, added: Value) -> Value:
    """`collected + added`, without a copy of what a loop has collected so far."""
    if type(collected) is not list or type(added) is not list:
        return call("_+_", [collected, added])
    spend(len(added))
    collected.extend(added)
    return collected


def _insert(collected: Value, *added: Value) -> Value:
    """As `_append`, for the loops that collect a map."""
    new = call("cel.@mapInsert", [{}, *added])
    if type(collected) is not dict or not isinstance(new, Mapping):
        return call("cel.@mapInsert", [collected, *added])
    if any(key in collected for key in new):
        return call("cel.@mapInsert", [collected, *added])
    spend(len(new))
    collected.update(new)
    return collected


def _is_constant_list(expr: Const) -> bool:
    scalars = (bool, int, float, str, TypeValue, type(None))
    return isinstance(expr.value, list) and all(isinstance(each, scalars) for each in expr.value)


def _is_bind(expr: Comprehension) -> bool:
    return isinstance(expr.loop_condition, Const) and expr.loop_condition.value is False


def _iterations(expr: Comprehension, elements: Any) -> Any:
    if not expr.iter_var2:
        return ({expr.iter_var: element} for element in elements)
    pairs = elements.items() if isinstance(elements, Mapping) else enumerate(elements)
    return ({expr.iter_var: first, expr.iter_var2: second} for first, second in pairs)


_SPECIAL: Final[dict[str, Callable[[Evaluation, Call], Value]]] = {
    "_&&_": Evaluation._and,
    "_||_": Evaluation._or,
    "_?_:_": Evaluation._evaluate_conditional,
    "@not_strictly_false": Evaluation._not_strictly_false,
    "orValue": Evaluation._or_value,
    "or": Evaluation._or_optional,
}
_COLLECTING: Final[dict[str, Callable[..., Value]]] = {
    "_+_": _append,
    "cel.@mapInsert": _insert,
}
_EVALUATORS: Final[dict[type[Expr], Callable[..., Value]]] = {
    Call: Evaluation._call,
    ListExpr: Evaluation._list,
    MapExpr: Evaluation._map,
    StructExpr: Evaluation._struct,
    Comprehension: Evaluation._comprehension,
}
