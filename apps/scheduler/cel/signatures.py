"""The types of functions, as far as selectors are checked before they are evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Type:
    name: str
    params: tuple[Type, ...] = ()

    @property
    def is_dyn(self) -> bool:
        return self.name in ("dyn", "any")

    def fits(self, other: Type) -> bool:
        """Whether values of one may be values of the other."""
        if self.is_dyn or other.is_dyn:
            return True
        if self.name != other.name:
            return False
        return all(a.fits(b) for a, b in zip(self.params, other.params, strict=False))

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.params))})" if self.params else self.name


DYN: Final = Type("dyn")
QUANTITY: Final = Type("kubernetes.Quantity")
_SEMVER: Final = Type("kubernetes.Semver")
_BOOL, _INT, _STRING = Type("bool"), Type("int"), Type("string")
_TIMES: Final = ("google.protobuf.Duration", "google.protobuf.Timestamp")
_NUMBERS: Final = ("int", "uint", "double")
_ORDERED: Final = (*_NUMBERS, "bool", "string", "bytes", *_TIMES)
_ADDED: Final = (*_NUMBERS, "string", "bytes", "list", *_TIMES)

#: members of Kubernetes' own types: name -> (receiver, arguments, result) of each overload
_MEMBERS: Final = {
    **dict.fromkeys(
        ("isGreaterThan", "isLessThan"),
        ((QUANTITY, (QUANTITY,), _BOOL), (_SEMVER, (_SEMVER,), _BOOL)),
    ),
    "compareTo": ((QUANTITY, (QUANTITY,), _INT), (_SEMVER, (_SEMVER,), _INT)),
    **dict.fromkeys(
        ("add", "sub"),
        ((QUANTITY, (QUANTITY,), QUANTITY), (QUANTITY, (_INT,), QUANTITY)),
    ),
    "asInteger": ((QUANTITY, (), _INT),),
    "isInteger": ((QUANTITY, (), _BOOL),),
    "asApproximateFloat": ((QUANTITY, (), Type("double")),),
    **dict.fromkeys(("major", "minor", "patch"), ((_SEMVER, (), _INT),)),
    **dict.fromkeys(
        ("startsWith", "endsWith", "contains", "matches"), ((_STRING, (_STRING,), _BOOL),)
    ),
    **dict.fromkeys(("lowerAscii", "upperAscii", "trim"), ((_STRING, (), _STRING),)),
    "reverse": ((Type("list", (DYN,)), (), Type("list", (DYN,))),),
}
#: results of other functions
_RESULTS: Final = {
    **dict.fromkeys(("size", "sign", "int"), _INT),
    "uint": Type("uint"),
    "double": Type("double"),
    "string": _STRING,
    "quantity": QUANTITY,
    "semver": _SEMVER,
    **dict.fromkeys(("isQuantity", "isSemver", "isURL", "isIP", "isCIDR", "bool"), _BOOL),
    **dict.fromkeys(("@in", "@not_strictly_false", "hasValue", "_&&_", "_||_"), _BOOL),
}
#: functions that are no members
_GLOBAL_ONLY: Final = frozenset({"sign", "quantity", "semver", "isQuantity", "isSemver"})


def resolve(function: str, receiver: Type | None, args: Sequence[Type]) -> Type | None:
    """The type of a call; dyn if it is not known, None if no overload fits."""
    if function in _MEMBERS:
        if receiver is None:
            return DYN if function == "matches" else None
        return _member(function, receiver, args)
    if function in _GLOBAL_ONLY and receiver is not None:
        return None
    if len(args) == 2 and receiver is None:
        operator = _operator(function, *args)
        if operator != DYN:
            return operator
    return _special(function, args)


def _member(function: str, receiver: Type, args: Sequence[Type]) -> Type | None:
    fitting = [
        result
        for wanted, parameters, result in _MEMBERS[function]
        if wanted.fits(receiver)
        and len(parameters) == len(args)
        and all(a.fits(b) for a, b in zip(parameters, args, strict=True))
    ]
    if not fitting:
        return None
    return fitting[0] if all(result == fitting[0] for result in fitting) else DYN


def _operator(function: str, left: Type, right: Type) -> Type | None:
    """The type of a binary operator; dyn if it is no operator or not known."""
    if function in ("_==_", "_!=_"):
        return _BOOL if left.fits(right) else None
    if function in ("_<_", "_<=_", "_>_", "_>=_"):
        return _BOOL if _fit_operands(left, right, _ORDERED, mixed=True) else None
    if function == "_+_":
        return _common(left, right) if _fit_operands(left, right, _ADDED) else None
    if function in ("_-_", "_*_", "_/_", "_%_"):
        allowed = (*_NUMBERS, *_TIMES) if function == "_-_" else _NUMBERS
        return _common(left, right) if _fit_operands(left, right, allowed) else None
    return DYN


def _fit_operands(left: Type, right: Type, allowed: Sequence[str], *, mixed: bool = False) -> bool:
    if any(not each.is_dyn and each.name not in allowed for each in (left, right)):
        return False
    if mixed and left.name in _NUMBERS and right.name in _NUMBERS:
        return True
    if left.name in _TIMES and right.name in _TIMES:
        return True
    return left.fits(right)


def _common(left: Type, right: Type) -> Type:
    return right if left.is_dyn else left


def _special(function: str, args: Sequence[Type]) -> Type | None:
    if function == "_?_:_":
        if not _BOOL.fits(args[0]) or not args[1].fits(args[2]):
            return None
        return _common(args[1], args[2])
    if function in ("_&&_", "_||_", "!_"):
        return _BOOL if all(_BOOL.fits(arg) for arg in args) else None
    if function == "_[_]" and args[0].name == "map":
        return args[0].params[1]
    if function == "optional.of":
        return Type("optional_type", (args[0],))
    return _RESULTS.get(function, DYN)
