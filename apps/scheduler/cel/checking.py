"""The type check of selectors: what the compiler refuses before anything is evaluated.

Types that are not known for certain are dyn, which fits everything; such expressions may fail when
they are evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from apps.scheduler.cel import signatures
from apps.scheduler.cel.evaluation import NAMESPACES, TYPE_NAMES
from apps.scheduler.cel.functions import FUNCTIONS
from apps.scheduler.cel.signatures import DYN, QUANTITY, Type
from apps.scheduler.cel.tree import (
    Call,
    Comprehension,
    Const,
    Expr,
    Ident,
    ListExpr,
    MapExpr,
    Select,
)
from apps.scheduler.cel.values import UInt

_ANY: Final = Type("any")
_BOOL: Final = Type("bool")
_STRING: Final = Type("string")
_DEVICE: Final = Type("kubernetes.DRADevice")
_FIELDS: Final = {
    "driver": _STRING,
    "attributes": Type("map", (_STRING, Type("map", (_STRING, _ANY)))),
    "capacity": Type("map", (_STRING, Type("map", (_STRING, QUANTITY)))),
    "allowMultipleAllocations": _BOOL,
}
_SPECIAL: Final = frozenset(
    {"_&&_", "_||_", "_?_:_", "@not_strictly_false", "orValue", "or", "_[_]", "_[?_]", "_?._"}
)


class Checker:
    """Checks one tree; ``problems`` are (offset, text)."""

    def __init__(self) -> None:
        self.problems: list[tuple[int, str]] = []
        self._scope: dict[str, Type] = {"device": _DEVICE}

    def check(self, expr: Expr) -> Type:
        """The type of the expression; dyn if it is not known, or wrong."""
        return _CHECKS[type(expr)](self, expr)

    def _report(self, expr: Expr, text: str) -> Type:
        self.problems.append((expr.offset, text))
        return DYN

    def _const(self, expr: Const) -> Type:
        value = expr.value
        if isinstance(value, UInt):
            return Type("uint")
        names = {bool: "bool", int: "int", float: "double", str: "string", bytes: "bytes"}
        return Type(names.get(type(value), "null_type"))

    def _ident(self, expr: Ident) -> Type:
        if expr.name in self._scope:
            return self._scope[expr.name]
        if expr.name in TYPE_NAMES:
            return Type("type", (Type(expr.name),))
        return self._report(expr, f"undeclared reference to '{expr.name}' (in container '')")

    def _select(self, expr: Select) -> Type:
        operand = self.check(expr.operand)
        found = self._field(expr, operand)
        return _BOOL if expr.test_only else found

    def _field(self, expr: Select, operand: Type) -> Type:
        if operand == _DEVICE:
            if expr.field in _FIELDS:
                return _FIELDS[expr.field]
            return self._report(expr, f"undefined field '{expr.field}'")
        if operand.name == "map":
            return operand.params[1]
        if operand.is_dyn or operand.name == "optional_type":
            return DYN
        return self._report(expr, f"type '{operand}' does not support field selection")

    def _call(self, expr: Call) -> Type:
        function, target = expr.function, expr.target
        if isinstance(target, Ident) and target.name in NAMESPACES:
            function, target = f"{target.name}.{function}", None
        args = [self._argument(function, arg) for arg in expr.args]
        receiver = self.check(target) if target is not None else None
        if function not in FUNCTIONS and function not in _SPECIAL:
            return self._report(expr, f"undeclared reference to '{function}' (in container '')")
        found = signatures.resolve(function, receiver, args)
        if found is None:
            applied = f"({', '.join(map(str, args))})"
            about = applied if receiver is None else f"{receiver}.{applied}"
            return self._report(
                expr, f"found no matching overload for '{function}' applied to '{about}'"
            )
        if function == "matches" and isinstance(expr.args[-1], Const):
            self._check_pattern(expr.args[-1])
        return found

    def _argument(self, function: str, arg: Expr) -> Type:
        """The values of a format may have different types."""
        if function == "format" and isinstance(arg, ListExpr):
            for element in arg.elements:
                self.check(element)
            return Type("list", (DYN,))
        return self.check(arg)

    def _check_pattern(self, expr: Const) -> None:
        if isinstance(expr.value, str) and not isinstance(
            FUNCTIONS["matches"]("", expr.value), bool
        ):
            self._report(expr, "invalid matches argument")

    def _list(self, expr: ListExpr) -> Type:
        common = DYN
        for element in expr.elements:
            common = self._join(element, common, self.check(element))
        return Type("list", (common,))

    def _map(self, expr: MapExpr) -> Type:
        key_type, value_type = DYN, DYN
        for key, value, _ in expr.entries:
            key_type = self._join(key, key_type, self.check(key))
            value_type = self._join(value, value_type, self.check(value))
        return Type("map", (key_type, value_type))

    def _join(self, expr: Expr, common: Type, found: Type) -> Type:
        if found.name == "optional_type" or common.fits(found):
            return found if common.is_dyn else common
        self._report(expr, f"expected type '{common}' but found '{found}'")
        return common

    def _comprehension(self, expr: Comprehension) -> Type:
        over = self.check(expr.iter_range)
        accu = self.check(expr.accu_init)
        outer = self._scope
        self._scope = {**outer, expr.accu_var: accu, **_variables(expr, over)}
        self.check(expr.loop_condition)
        step = self.check(expr.loop_step)
        self._scope = {**outer, expr.accu_var: step if accu.name in ("list", "map") else accu}
        result = self.check(expr.result)
        self._scope = outer
        return result


def _variables(expr: Comprehension, over: Type) -> dict[str, Type]:
    first, second = DYN, DYN
    if over.name == "list":
        first, second = (Type("int") if expr.iter_var2 else over.params[0]), over.params[0]
    elif over.name == "map":
        first, second = over.params
    return {expr.iter_var: first, **({expr.iter_var2: second} if expr.iter_var2 else {})}


_CHECKS: Final[dict[type[Expr], Callable[..., Type]]] = {
    Const: Checker._const,
    Ident: Checker._ident,
    Select: Checker._select,
    Call: Checker._call,
    ListExpr: Checker._list,
    MapExpr: Checker._map,
    Comprehension: Checker._comprehension,
}


def check_selector(tree: Expr, source: str) -> str:
    """Why the compiler refuses the expression; "" if it is a selector."""
    checker = Checker()
    found = checker.check(tree)
    if checker.problems:
        lines = [_line(source, offset, text) for offset, text in sorted(checker.problems)]
        return "compilation failed: " + "\n".join(lines)
    if found.name in ("bool", "any", "dyn"):
        return ""
    name = str(found).replace("any", "google.protobuf.Any")
    return f"must evaluate to bool or the unknown type, not {name}"


def _line(source: str, offset: int, text: str) -> str:
    row = source.count("\n", 0, offset)
    start = source.rfind("\n", 0, offset) + 1
    line = source[start:].partition("\n")[0]
    column = offset - start
    return f"ERROR: <input>:{row + 1}:{column + 1}: {text}\n | {line}\n | {'.' * column}^"
