"""The macros of Kubernetes' environment that the library's parser leaves as calls."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Final

from apps.cel.tree import Call, Comprehension, Const, Expr, Ident, ListExpr, MapExpr

NewId = Callable[[], int]

ACCUMULATOR: Final = "@result"
NO_ITERATION: Final = "#unused"
_SORTED: Final = "@__sortBy_input__"


def expand(call: Call, new_id: NewId, without: Set[str]) -> Expr:
    """The comprehension that a macro stands for; other calls as they are."""
    if isinstance(call.target, Ident) and f"{call.target.name}.{call.function}" in without:
        return call
    return _Expansion(call, new_id).expand()


class _Expansion:
    def __init__(self, call: Call, new_id: NewId) -> None:
        self._call, self._new_id = call, new_id

    def expand(self) -> Expr:
        call = self._call
        if isinstance(call.target, Ident) and call.target.name == "cel":
            return self._bind() if call.function == "bind" and len(call.args) == 3 else call
        if call.target is None:
            return call
        expansion = _EXPANSIONS.get((call.function, len(call.args)))
        return expansion(self, call.target, call.args) if expansion is not None else call

    def _bind(self) -> Expr:
        variable, value, body = self._call.args
        if not isinstance(variable, Ident):
            return self._call
        return self._loop(
            NO_ITERATION,
            "",
            self._list([]),
            variable.name,
            value,
            self._const(False),
            self._ident(variable.name),
            body,
        )

    def _all(self, target: Expr, args: list[Expr]) -> Expr:
        accu = self._ident(ACCUMULATOR)
        return self._quantifier(
            target,
            args,
            True,
            self._op("@not_strictly_false", accu),
            self._op("_&&_", self._ident(ACCUMULATOR), args[2]),
        )

    def _exists(self, target: Expr, args: list[Expr]) -> Expr:
        negated = self._op("!_", self._ident(ACCUMULATOR))
        return self._quantifier(
            target,
            args,
            False,
            self._op("@not_strictly_false", negated),
            self._op("_||_", self._ident(ACCUMULATOR), args[2]),
        )

    def _exists_one(self, target: Expr, args: list[Expr]) -> Expr:
        counted = self._op("_+_", self._ident(ACCUMULATOR), self._const(1))
        step = self._op("_?_:_", args[2], counted, self._ident(ACCUMULATOR))
        result = self._op("_==_", self._ident(ACCUMULATOR), self._const(1))
        return self._over(target, args, self._const(0), self._const(True), step, result)

    def _transform_list(self, target: Expr, args: list[Expr]) -> Expr:
        element = self._list([args[-1]])
        return self._collect(target, args, self._list([]), "_+_", element)

    def _transform_map(self, target: Expr, args: list[Expr]) -> Expr:
        insert = self._op("cel.@mapInsert", self._ident(ACCUMULATOR), args[0], args[-1])
        return self._collected(target, args, self._map(), insert)

    def _transform_map_entry(self, target: Expr, args: list[Expr]) -> Expr:
        insert = self._op("cel.@mapInsert", self._ident(ACCUMULATOR), args[-1])
        return self._collected(target, args, self._map(), insert)

    def _sort_by(self, target: Expr, args: list[Expr]) -> Expr:
        variable, key = args
        if not isinstance(variable, Ident):
            return self._call
        element = self._list([key])
        step = self._op("_+_", self._ident(ACCUMULATOR), element)
        keys = self._loop(
            variable.name,
            "",
            self._ident(_SORTED),
            ACCUMULATOR,
            self._list([]),
            self._const(True),
            step,
            self._ident(ACCUMULATOR),
        )
        by_keys = Call(*self._where(), "@sortByAssociatedKeys", [keys], self._ident(_SORTED))
        return self._loop(
            NO_ITERATION,
            "",
            self._list([]),
            _SORTED,
            target,
            self._const(False),
            self._ident(_SORTED),
            by_keys,
        )

    def _quantifier(
        self, target: Expr, args: list[Expr], start: bool, condition: Expr, step: Expr
    ) -> Expr:
        return self._over(
            target, args, self._const(start), condition, step, self._ident(ACCUMULATOR)
        )

    def _collect(
        self, target: Expr, args: list[Expr], init: Expr, function: str, element: Expr
    ) -> Expr:
        step = self._op(function, self._ident(ACCUMULATOR), element)
        return self._collected(target, args, init, step)

    def _collected(self, target: Expr, args: list[Expr], init: Expr, step: Expr) -> Expr:
        if len(args) == 4:
            step = self._op("_?_:_", args[2], step, self._ident(ACCUMULATOR))
        return self._over(target, args, init, self._const(True), step, self._ident(ACCUMULATOR))

    def _over(
        self, target: Expr, args: list[Expr], init: Expr, condition: Expr, step: Expr, result: Expr
    ) -> Expr:
        first, second = args[:2]
        if not isinstance(first, Ident) or not isinstance(second, Ident):
            return self._call
        return self._loop(
            first.name, second.name, target, ACCUMULATOR, init, condition, step, result
        )

    def _loop(
        self,
        iter_var: str,
        iter_var2: str,
        iter_range: Expr,
        accu_var: str,
        accu_init: Expr,
        loop_condition: Expr,
        loop_step: Expr,
        result: Expr,
    ) -> Expr:
        return Comprehension(
            self._new_id(),
            self._call.offset,
            iter_var,
            iter_var2,
            iter_range,
            accu_var,
            accu_init,
            loop_condition,
            loop_step,
            result,
        )

    def _where(self) -> tuple[int, int]:
        return self._new_id(), self._call.offset

    def _const(self, value: bool | int) -> Expr:
        return Const(*self._where(), value)

    def _ident(self, name: str) -> Expr:
        return Ident(*self._where(), name)

    def _list(self, elements: list[Expr]) -> Expr:
        return ListExpr(*self._where(), elements)

    def _map(self) -> Expr:
        return MapExpr(*self._where())

    def _op(self, function: str, *args: Expr) -> Expr:
        return Call(*self._where(), function, list(args))


_EXPANSIONS: Final = {
    ("all", 3): _Expansion._all,
    ("exists", 3): _Expansion._exists,
    ("existsOne", 3): _Expansion._exists_one,
    ("exists_one", 3): _Expansion._exists_one,
    ("transformList", 3): _Expansion._transform_list,
    ("transformList", 4): _Expansion._transform_list,
    ("transformMap", 3): _Expansion._transform_map,
    ("transformMap", 4): _Expansion._transform_map,
    ("transformMapEntry", 3): _Expansion._transform_map_entry,
    ("transformMapEntry", 4): _Expansion._transform_map_entry,
    ("sortBy", 2): _Expansion._sort_by,
}
