"""The type check of expressions: what the compiler refuses before anything is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

from apps.cel.declarations import DECLARATIONS, Overload
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
from apps.cel.types import (
    ANY,
    BOOL,
    DEVICE,
    DYN,
    ERROR,
    INT,
    STRING,
    Bindings,
    Type,
    most_general,
    optional_of,
    unwrap_optional,
)
from apps.cel.values import UInt


def _table_of(values: Type) -> Type:
    """The type of a table of such values by domain and name."""
    return Type("map", (STRING, Type("map", (STRING, values))))


_DEVICE_FIELDS: Final = {
    "driver": STRING,
    "attributes": _table_of(ANY),
    "capacity": _table_of(Type("kubernetes.Quantity")),
    "allowMultipleAllocations": BOOL,
}
#: types with fields that no expression may read
_STRUCTS: Final = frozenset(
    {"kubernetes.Quantity", "kubernetes.Semver", "kubernetes.URL", "kubernetes.NamedFormat"}
)
_TYPE_NAMES: Final = frozenset(
    {"int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type"}
)
_CONSTANTS: Final = {bool: "bool", int: "int", float: "double", str: "string", bytes: "bytes"}


#: What only the selectors of devices know.
ONLY_OF_DEVICES: Final = frozenset({"cel.bind"})
#: What only mutating policies know.
ONLY_OF_MUTATIONS: Final = frozenset({"jsonpatch.escapeKey"})

#: The type of a field of a type; None if it has none of this name.
FindField = Callable[[str], Type | None]
Constructs = Callable[[str], FindField | None]


def _constructs_nothing(name: str) -> None:
    """No type can be constructed."""


@dataclass(frozen=True, slots=True, eq=False)
class Environment:
    """What an expression may refer to; each is equal to itself only."""

    #: name -> type
    variables: Mapping[str, Type]
    #: name of a type with fields -> field -> type
    structs: Mapping[str, Mapping[str, Type]]
    #: functions that are not declared, and macros that are not expanded
    without: Set[str] = ONLY_OF_MUTATIONS
    #: name of a type whose values may be constructed -> field -> type; None for other names
    constructs: Constructs = _constructs_nothing


#: Of selectors of devices whose attributes have one value each.
SINGLE_VALUES: Final = Environment({"device": DEVICE}, {DEVICE.name: _DEVICE_FIELDS})
#: The same for selectors that are written: the API server knows ``includes`` only with the gate
#: DRAListTypeAttributes, kube-scheduler in any case.
WRITTEN_SINGLE_VALUES: Final = Environment(
    {"device": DEVICE}, {DEVICE.name: _DEVICE_FIELDS}, frozenset({"includes"}) | ONLY_OF_MUTATIONS
)
#: Of selectors of devices whose attributes may be lists.
LISTS: Final = Environment(
    {"device": DEVICE},
    {DEVICE.name: {**_DEVICE_FIELDS, "attributes": _table_of(DYN)}},
)


@dataclass(frozen=True, slots=True)
class Checked:
    """``problems``: (offset, text). ``types`` and ``overloads``: by the id of the expression.

    ``structs``: the names of the types with fields.
    """

    problems: Sequence[tuple[int, str]]
    types: dict[int, Type]
    overloads: dict[int, tuple[Overload, ...]]
    structs: Set[str]


def check_types(tree: Expr, environment: Environment) -> Checked:
    """The types of all expressions of a tree, and what is wrong with them."""
    checker = _Checker(environment)
    checker.check(tree)
    types = {
        id_: checker.bindings.substitute(type_, final=True) for id_, type_ in checker.types.items()
    }
    return Checked(checker.problems, types, checker.overloads, environment.structs.keys())


def qualified_name(expr: Expr) -> str | None:
    """``a.b.c`` if the expression consists of names only."""
    if isinstance(expr, Ident):
        return expr.name
    if isinstance(expr, Select) and not expr.test_only:
        operand = qualified_name(expr.operand)
        return f"{operand}.{expr.field}" if operand is not None else None
    return None


class _Checker:
    def __init__(self, environment: Environment) -> None:
        self.problems: list[tuple[int, str]] = []
        self.types: dict[int, Type] = {}
        self.overloads: dict[int, tuple[Overload, ...]] = {}
        self.bindings = Bindings()
        self._scope = dict(environment.variables)
        self._structs = environment.structs
        self._without = environment.without
        self._constructs = environment.constructs

    def check(self, expr: Expr) -> Type:
        """The type of the expression; the type of errors if it is invalid."""
        type_ = _CHECKS[type(expr)](self, expr)
        self.types[expr.id] = type_
        return type_

    def _report(self, expr: Expr, text: str) -> Type:
        self.problems.append((expr.offset, text))
        return ERROR

    def _report_mismatch(self, expr: Expr, wanted: Type, actual: Type) -> Type:
        return self._report(expr, f"expected type '{wanted}' but found '{actual}'")

    def _const(self, expr: Const) -> Type:
        if isinstance(expr.value, UInt):
            return Type("uint")
        return Type(_CONSTANTS.get(type(expr.value), "null_type"))

    def _ident(self, expr: Ident) -> Type:
        if expr.name in self._scope:
            return self._scope[expr.name]
        if expr.name in _TYPE_NAMES:
            return Type("type", (Type(expr.name),))
        return self._report(expr, f"undeclared reference to '{expr.name}' (in container '')")

    def _select(self, expr: Select) -> Type:
        type_ = self._field(expr, expr.operand, expr.field)
        return BOOL if expr.test_only else type_

    def _field(self, expr: Expr, operand: Expr, field: str, *, optional: bool = False) -> Type:
        inner, was_optional = unwrap_optional(self.bindings.substitute(self.check(operand)))
        type_ = self.bindings.substitute(self._field_of(expr, inner, field))
        return optional_of(type_) if optional or was_optional else type_

    def _field_of(self, expr: Expr, operand: Type, field: str) -> Type:
        fields = self._structs.get(operand.name)
        if fields is not None:
            return fields.get(field) or self._report(expr, f"undefined field '{field}'")
        if operand.name in _STRUCTS:
            return self._report(expr, f"unexpected failed resolution of '{operand}'")
        if operand.name == "map":
            return operand.params[1]
        if operand.is_variable:
            self.bindings.assign(DYN, operand)
            return DYN
        if operand.is_wild:
            return DYN
        return self._report(expr, f"type '{operand}' does not support field selection")

    def _call(self, expr: Call) -> Type:
        if expr.function == "_?._":
            return self._optional_field(expr)
        for arg in expr.args:
            self.check(arg)
        if expr.target is None:
            return self._resolve(expr, expr.function, None)
        qualified = f"{qualified_name(expr.target)}.{expr.function}"
        if qualified in DECLARATIONS and qualified not in self._without:
            return self._resolve(expr, qualified, None)
        self.check(expr.target)
        return self._resolve(expr, expr.function, expr.target)

    def _optional_field(self, expr: Call) -> Type:
        operand, field = expr.args
        assert isinstance(field, Const)
        result = self._field(expr, operand, str(field.value), optional=True)
        self.overloads[expr.id] = (Overload((DYN, STRING), result, is_member=False),)
        return result

    def _resolve(self, expr: Call, function: str, target: Expr | None) -> Type:
        declared = DECLARATIONS.get(function)
        if declared is None or function in self._without:
            return self._report(expr, f"undeclared reference to '{function}' (in container '')")
        if function in ("_&&_", "_||_"):
            return self._logical(expr, declared)
        operands = expr.args if target is None else [target, *expr.args]
        given = tuple(self.types[operand.id] for operand in operands)
        resolved = None
        fitting: list[Overload] = []
        for overload in declared:
            if overload.is_member != (target is not None):
                continue
            fresh = self._instantiate(overload)
            if self.bindings.assign_all(given, fresh.params):
                fitting.append(overload)
                result = self.bindings.substitute(fresh.result)
                resolved = result if resolved in (None, result) else DYN
        if resolved is None:
            return self._report_call(expr, function, given, is_member=target is not None)
        self.overloads[expr.id] = tuple(fitting)
        return resolved

    def _logical(self, expr: Call, declared: tuple[Overload, ...]) -> Type:
        wrong = [arg for arg in expr.args if not self.bindings.assign(self.types[arg.id], BOOL)]
        for arg in wrong:
            self._report_mismatch(arg, BOOL, self.types[arg.id])
        self.overloads[expr.id] = declared
        return ERROR if wrong else BOOL

    def _report_call(
        self, expr: Call, function: str, given: tuple[Type, ...], *, is_member: bool
    ) -> Type:
        types = [str(self.bindings.substitute(each, final=True)) for each in given]
        receiver = f"{types.pop(0)}." if is_member else ""
        applied = f"{receiver}({', '.join(types)})"
        return self._report(
            expr, f"found no matching overload for '{function}' applied to '{applied}'"
        )

    def _instantiate(self, overload: Overload) -> Overload:
        """The overload with variables of its own."""
        fresh: dict[Type, Type] = {}

        def renew(type_: Type) -> Type:
            if type_.is_variable:
                if type_ not in fresh:
                    fresh[type_] = self.bindings.new_variable()
                return fresh[type_]
            return Type(type_.name, tuple(map(renew, type_.params))) if type_.params else type_

        params = tuple(map(renew, overload.params))
        return Overload(params, renew(overload.result), overload.is_member)

    def _list(self, expr: ListExpr) -> Type:
        common: Type | None = None
        for position, element in enumerate(expr.elements):
            type_ = self._element(element, optional=position in expr.optional)
            common = self._join(common, type_)
        return Type("list", (common or self.bindings.new_variable(),))

    def _map(self, expr: MapExpr) -> Type:
        keys: Type | None = None
        values: Type | None = None
        for key, value, optional in expr.entries:
            keys = self._join(keys, self.check(key))
            values = self._join(values, self._element(value, optional=optional))
        new = self.bindings.new_variable
        return Type("map", (keys or new(), values or new()))

    def _struct(self, expr: StructExpr) -> Type:
        find = self._constructs(expr.type_name)
        if find is None:
            name = expr.type_name
            return self._report(expr, f"undeclared reference to '{name}' (in container '')")
        for key, value, optional in expr.entries:
            assert isinstance(key, Const)
            self.check(key)
            wanted, actual = find(str(key.value)), self._element(value, optional=optional)
            if wanted is None or not self.bindings.assign(actual, wanted):
                shown = wanted or ""
                why = f"expected type of field '{key.value}' is '{shown}' but provided type is "
                self._report(key, f"{why}'{self.bindings.substitute(actual, final=True)}'")
        return Type(expr.type_name)

    def _element(self, expr: Expr, *, optional: bool) -> Type:
        type_ = self.check(expr)
        if not optional:
            return type_
        inner, is_optional = unwrap_optional(type_)
        if not is_optional and not type_.is_dyn:
            self._report_mismatch(expr, optional_of(type_), type_)
        return inner

    def _join(self, common: Type | None, type_: Type) -> Type:
        if common is None:
            return type_
        return most_general(common, type_) if self.bindings.assign(common, type_) else DYN

    def _comprehension(self, expr: Comprehension) -> Type:
        over = self.bindings.substitute(self.check(expr.iter_range))
        accu = self.check(expr.accu_init)
        outer = self._scope
        inner = {**outer, expr.accu_var: accu}
        self._scope = {**inner, **self._variables(expr, over)}
        self._check_as(expr.loop_condition, BOOL)
        self._check_as(expr.loop_step, accu)
        self._scope = inner
        result = self.check(expr.result)
        self._scope = outer
        return self.bindings.substitute(result)

    def _check_as(self, expr: Expr, wanted: Type) -> None:
        actual = self.check(expr)
        if not self.bindings.assign(wanted, actual):
            self._report_mismatch(expr, wanted, actual)

    def _variables(self, expr: Comprehension, over: Type) -> dict[str, Type]:
        first, second = self._range_types(expr, over)
        if not expr.iter_var2:
            return {expr.iter_var: first}
        return {expr.iter_var: INT if over.name == "list" else first, expr.iter_var2: second}

    def _range_types(self, expr: Comprehension, over: Type) -> tuple[Type, Type]:
        """The types of a key and of a value; both those of elements for a list."""
        if over.name == "list":
            return over.params[0], over.params[0]
        if over.name == "map":
            return over.params[0], over.params[1]
        if over.name in ("dyn", "!error!") or over.is_variable:
            self.bindings.assign(DYN, over)
            return DYN, DYN
        text = f"expression of type '{over}' cannot be range of a comprehension"
        wrong = self._report(expr.iter_range, f"{text} (must be list, map, or dynamic)")
        return wrong, wrong


_CHECKS: Final[dict[type[Expr], Callable[..., Type]]] = {
    Const: _Checker._const,
    Ident: _Checker._ident,
    Select: _Checker._select,
    Call: _Checker._call,
    ListExpr: _Checker._list,
    MapExpr: _Checker._map,
    StructExpr: _Checker._struct,
    Comprehension: _Checker._comprehension,
}
