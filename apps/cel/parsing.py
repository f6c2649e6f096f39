"""From text to syntax tree, by the library's parser."""

from __future__ import annotations

import re
from collections.abc import Set
from functools import cache
from typing import Any

from cel_expr_python import cel  # type: ignore[import-untyped]
from cel_expr_python.ext import ext_optional  # type: ignore[import-untyped]

from apps.cel import macros
from apps.cel.effort import spend
from apps.cel.messages import decode_parsed
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
from apps.cel.values import UInt, Value

_STATUS = "INVALID_ARGUMENT: "
_STATUS_END = " [INVALID_ARGUMENT]"
#: the library's own limit, which cannot be changed; that of Kubernetes is 250
_DEEPEST = 32
_TOO_DEEP = re.compile(r"recursion (limit|depth)")
#: the library keeps all other threads waiting while it parses; the limit of Kubernetes is 100,000
_LONGEST = 20_000
#: What a character costs of the effort; the check and the estimate of the cost are part of it.
_CHARACTER = 60
_HAS_ERROR = ("has() argument must be a field selection", "invalid argument to has() macro")


class SyntaxProblem(ValueError):
    """The text is no expression; the message is that of the compiler."""


@cache
def _environment() -> Any:
    return cel.NewEnv(variables={}, extensions=[ext_optional.ExtOptional()])


def parse_expression(text: str, without: Set[str] = frozenset()) -> Expr:
    """The tree of ``text``; SyntaxProblem, CostExceeded. ``without``: macros that stay calls."""
    if len(text) > _LONGEST:
        raise SyntaxProblem(
            f"expression code point size exceeds limit: size: {len(text)}, limit {_LONGEST}"
        )
    spend(_CHARACTER * len(text))
    if not text.strip():
        raise SyntaxProblem(_nothing(text))
    try:
        serialized = _environment().compile(text, disable_check=True).serialize()
    except RuntimeError as refused:
        raise SyntaxProblem(_message(str(refused))) from None
    return _Reader(decode_parsed(serialized), without).expr()


def _nothing(text: str) -> str:
    expected = (
        "'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, "
        "STRING, BYTES, IDENTIFIER"
    )
    where = f"1:{len(text)}" if text else "1:0"
    return (
        f"ERROR: <input>:{where}: Syntax error: mismatched input '<EOF>' expecting {{{expected}}}"
    )


def _message(refusal: str) -> str:
    if _TOO_DEEP.search(refusal):
        return f"expression recursion limit exceeded: {_DEEPEST}"
    text = refusal.removeprefix(_STATUS).removesuffix(_STATUS_END)
    return text.replace(*_HAS_ERROR).rstrip("\n")


class _Reader:
    def __init__(self, parsed: Any, without: Set[str]) -> None:
        self._parsed, self._without = parsed, without
        self._offsets = {each.key: each.value for each in parsed.source_info.positions}
        self._last_id = max(self._offsets, default=0)

    def expr(self) -> Expr:
        return self._read(self._parsed.expr)

    def new_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _read(self, message: Any) -> Expr:
        where = message.id, self._offsets.get(message.id, 0)
        for name, read in _READERS.items():
            if message.HasField(name):
                return read(self, getattr(message, name), *where)
        return Const(*where, None)

    def _const(self, message: Any, id_: int, offset: int) -> Expr:
        return Const(id_, offset, _constant(message))

    def _ident(self, message: Any, id_: int, offset: int) -> Expr:
        return Ident(id_, offset, message.name)

    def _select(self, message: Any, id_: int, offset: int) -> Expr:
        return Select(id_, offset, self._read(message.operand), message.field, message.test_only)

    def _call(self, message: Any, id_: int, offset: int) -> Expr:
        target = self._read(message.target) if message.HasField("target") else None
        args = [self._read(arg) for arg in message.args]
        call = Call(id_, offset, message.function, args, target)
        return macros.expand(call, self.new_id, self._without)

    def _list(self, message: Any, id_: int, offset: int) -> Expr:
        elements = [self._read(each) for each in message.elements]
        return ListExpr(id_, offset, elements, frozenset(message.optional_indices))

    def _struct(self, message: Any, id_: int, offset: int) -> Expr:
        if message.message_name:
            fields: list[tuple[Expr, Expr, bool]] = [
                (
                    Const(each.id, self._offsets.get(each.id, 0), each.field_key),
                    self._read(each.value),
                    each.optional_entry,
                )
                for each in message.entries
            ]
            # errors point to the brace behind the name
            at = offset + len(message.message_name)
            return StructExpr(id_, at, fields, message.message_name)
        entries = [
            (self._read(each.map_key), self._read(each.value), each.optional_entry)
            for each in message.entries
        ]
        return MapExpr(id_, offset, entries)

    def _comprehension(self, message: Any, id_: int, offset: int) -> Expr:
        return Comprehension(
            id_,
            offset,
            message.iter_var,
            message.iter_var2,
            self._read(message.iter_range),
            message.accu_var,
            self._read(message.accu_init),
            self._read(message.loop_condition),
            self._read(message.loop_step),
            self._read(message.result),
        )


_READERS = {
    "const_expr": _Reader._const,
    "ident_expr": _Reader._ident,
    "select_expr": _Reader._select,
    "call_expr": _Reader._call,
    "list_expr": _Reader._list,
    "struct_expr": _Reader._struct,
    "comprehension_expr": _Reader._comprehension,
}


def _constant(message: Any) -> Value:
    for name in ("bool", "int64", "double", "string", "bytes"):
        if message.HasField(f"{name}_value"):
            return getattr(message, f"{name}_value")
    return UInt(message.uint64_value) if message.HasField("uint64_value") else None
