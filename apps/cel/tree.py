"""The syntax tree of an expression, after its macros have been expanded."""

from __future__ import annotations

from dataclasses import dataclass, field

from apps.cel.values import Value


@dataclass(slots=True, eq=False)
class Expr:
    """``offset``: where it is in the text, in characters."""

    id: int
    offset: int


@dataclass(slots=True, eq=False)
class Const(Expr):
    value: Value


@dataclass(slots=True, eq=False)
class Ident(Expr):
    name: str


@dataclass(slots=True, eq=False)
class Select(Expr):
    operand: Expr
    field: str
    test_only: bool = False


@dataclass(slots=True, eq=False)
class Call(Expr):
    function: str
    args: list[Expr]
    target: Expr | None = None


@dataclass(slots=True, eq=False)
class ListExpr(Expr):
    elements: list[Expr]
    optional: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class MapExpr(Expr):
    """``entries``: key, value, optional."""

    entries: list[tuple[Expr, Expr, bool]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class StructExpr(MapExpr):
    """A value of a type with fields: the keys of ``entries`` are their names."""

    type_name: str = ""


@dataclass(slots=True, eq=False)
class Comprehension(Expr):
    """A loop over a list or the keys of a map; with ``iter_var2``, over keys and values."""

    iter_var: str
    iter_var2: str
    iter_range: Expr
    accu_var: str
    accu_init: Expr
    loop_condition: Expr
    loop_step: Expr
    result: Expr
