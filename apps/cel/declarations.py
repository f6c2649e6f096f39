"""The functions of Kubernetes' environment and the types of their overloads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from apps.cel.types import Type

_ALIASES: Final = {
    "duration": "google.protobuf.Duration",
    "timestamp": "google.protobuf.Timestamp",
    "Quantity": "kubernetes.Quantity",
    "Semver": "kubernetes.Semver",
    "URL": "kubernetes.URL",
    "Format": "kubernetes.NamedFormat",
    "IP": "net.IP",
    "CIDR": "net.CIDR",
    "optional": "optional_type",
    **{
        name: f"kubernetes.authorization.{name}"
        for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
    },
}
_ORDERED: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_SUMMABLE: Final = ("int", "uint", "double", "duration")
_NUMBERS: Final = ("int", "uint", "double")


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature. ``params`` of a member start with the type of its receiver."""

    params: tuple[Type, ...]
    result: Type
    is_member: bool


def _each(names: tuple[str, ...], pattern: str) -> str:
    return " | ".join(pattern.replace("T", name) for name in names)


_COMPARED: Final = " | ".join(
    [f"{name}, {name} -> bool" for name in ("bool", "string", "bytes", "timestamp", "duration")]
    + [f"{left}, {right} -> bool" for left in _NUMBERS for right in _NUMBERS]
)
_ARITHMETIC: Final = _each(_NUMBERS, "T, T -> T")
_TIME_PARTS: Final = "timestamp -> int | timestamp, string -> int"
_SET: Final = "list(A), list(A) -> bool"

#: functions that are called by their name
_GLOBAL: Final = {
    "_?_:_": "bool, A, A -> A",
    "_&&_": "bool, bool -> bool",
    "_||_": "bool, bool -> bool",
    "!_": "bool -> bool",
    "@not_strictly_false": "bool -> bool",
    "_==_": "A, A -> bool",
    "_!=_": "A, A -> bool",
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _COMPARED),
    "_+_": f"{_ARITHMETIC} | bytes, bytes -> bytes | string, string -> string | "
    "list(A), list(A) -> list(A) | duration, duration -> duration | "
    "duration, timestamp -> timestamp | timestamp, duration -> timestamp",
    "_-_": f"{_ARITHMETIC} | duration, duration -> duration | "
    "timestamp, duration -> timestamp | timestamp, timestamp -> duration",
    "_*_": _ARITHMETIC,
    "_/_": _ARITHMETIC,
    "_%_": "int, int -> int | uint, uint -> uint",
    "-_": "double -> double | int -> int",
    "@in": "A, list(A) -> bool | A, map(A, B) -> bool",
    "_[_]": "list(A), int -> A | map(A, B), A -> B | "
    "optional(list(A)), int -> optional(A) | optional(map(A, B)), A -> optional(B)",
    "_[?_]": "list(A), int -> optional(A) | optional(list(A)), int -> optional(A) | "
    "map(A, B), A -> optional(B) | optional(map(A, B)), A -> optional(B)",
    "size": "string -> int | bytes -> int | list(A) -> int | map(A, B) -> int",
    "type": "A -> type(A)",
    "bool": "bool -> bool | string -> bool",
    "bytes": "bytes -> bytes | string -> bytes",
    "double": _each(("double", "int", "string", "uint"), "T -> double"),
    "duration": _each(("duration", "int", "string"), "T -> duration"),
    "dyn": "A -> dyn",
    "int": _each(("int", "double", "duration", "string", "timestamp", "uint"), "T -> int"),
    "string": " | ".join(
        f"{name} -> string"
        for name in ("string", "bool", "bytes", "double", "duration", "int", "timestamp", "uint")
        + ("IP", "CIDR")
    ),
    "timestamp": "timestamp -> timestamp | int -> timestamp | string -> timestamp",
    "uint": _each(("uint", "double", "int", "string"), "T -> uint"),
    "matches": "string, string -> bool",
    "strings.quote": "string -> string",
    "url": "string -> URL",
    "ip": "string -> IP",
    "cidr": "string -> CIDR",
    **dict.fromkeys(("isURL", "isIP", "isCIDR", "isQuantity", "ip.isCanonical"), "string -> bool"),
    "quantity": "string -> Quantity",
    "sign": "Quantity -> int",
    "semver": "string -> Semver | string, bool -> Semver",
    "isSemver": "string -> bool | string, bool -> bool",
    "format.named": "string -> optional(Format)",
    **dict.fromkeys(("sets.contains", "sets.equivalent", "sets.intersects"), _SET),
    "lists.range": "int -> list(int)",
    "cel.@mapInsert": "map(A, B), map(A, B) -> map(A, B) | map(A, B), A, B -> map(A, B)",
    "jsonpatch.escapeKey": "string -> string",
    "optional.of": "A -> optional(A)",
    "optional.ofNonZeroValue": "A -> optional(A)",
    "optional.none": "-> optional(A)",
    "optional.unwrap": "list(optional(A)) -> list(A)",
}
#: functions that are called on a receiver
_MEMBERS: Final = {
    "size": "string -> int | bytes -> int | list(A) -> int | map(A, B) -> int",
    **dict.fromkeys(("matches", "contains", "endsWith", "startsWith"), "string, string -> bool"),
    **dict.fromkeys(
        (
            "getFullYear",
            "getMonth",
            "getDayOfYear",
            "getDate",
            "getDayOfMonth",
            "getDayOfWeek",
        ),
        _TIME_PARTS,
    ),
    **dict.fromkeys(
        ("getHours", "getMinutes", "getSeconds", "getMilliseconds"),
        f"{_TIME_PARTS} | duration -> int",
    ),
    "charAt": "string, int -> string",
    **dict.fromkeys(
        ("indexOf", "lastIndexOf"),
        "string, string -> int | string, string, int -> int | list(A), A -> int",
    ),
    "join": "list(string) -> string | list(string), string -> string",
    **dict.fromkeys(("lowerAscii", "upperAscii", "trim"), "string -> string"),
    "replace": "string, string, string -> string | string, string, string, int -> string",
    "split": "string, string -> list(string) | string, string, int -> list(string)",
    "substring": "string, int -> string | string, int, int -> string",
    "format": "string, list(dyn) -> string",
    "find": "string, string -> string",
    "findAll": "string, string -> list(string) | string, string, int -> list(string)",
    "isSorted": _each(_ORDERED, "list(T) -> bool"),
    "sum": _each(_SUMMABLE, "list(T) -> T"),
    **dict.fromkeys(("min", "max"), _each(_ORDERED, "list(T) -> T")),
    "includes": "dyn, dyn -> bool",
    "slice": "list(A), int, int -> list(A)",
    "flatten": "list(list(A)) -> list(A) | list(dyn), int -> list(dyn)",
    "sort": _each(_ORDERED, "list(T) -> list(T)"),
    "@sortByAssociatedKeys": _each(_ORDERED, "list(A), list(T) -> list(A)"),
    "reverse": "list(A) -> list(A)",
    "distinct": "list(A) -> list(A)",
    **dict.fromkeys(("getScheme", "getHost", "getHostname"), "URL -> string"),
    **dict.fromkeys(("getPort", "getEscapedPath"), "URL -> string"),
    "getQuery": "URL -> map(string, list(string))",
    "family": "IP -> int",
    **dict.fromkeys(
        (
            "isUnspecified",
            "isLoopback",
            "isLinkLocalMulticast",
            "isLinkLocalUnicast",
            "isGlobalUnicast",
        ),
        "IP -> bool",
    ),
    "containsIP": "CIDR, string -> bool | CIDR, IP -> bool",
    "containsCIDR": "CIDR, string -> bool | CIDR, CIDR -> bool",
    "ip": "CIDR -> IP",
    "masked": "CIDR -> CIDR",
    "prefixLength": "CIDR -> int",
    **dict.fromkeys(("isInteger",), "Quantity -> bool"),
    "asInteger": "Quantity -> int",
    "asApproximateFloat": "Quantity -> double",
    **dict.fromkeys(("add", "sub"), "Quantity, Quantity -> Quantity | Quantity, int -> Quantity"),
    "compareTo": "Quantity, Quantity -> int | Semver, Semver -> int",
    **dict.fromkeys(
        ("isGreaterThan", "isLessThan"),
        "Quantity, Quantity -> bool | Semver, Semver -> bool",
    ),
    **dict.fromkeys(("major", "minor", "patch"), "Semver -> int"),
    "validate": "Format, string -> optional(list(string))",
    "hasValue": "optional(A) -> bool",
    "value": "optional(A) -> A",
    "or": "optional(A), optional(A) -> optional(A)",
    "orValue": "optional(A), A -> A",
    "unwrapOpt": "list(optional(A)) -> list(A)",
    **dict.fromkeys(("first", "last"), "list(A) -> optional(A)"),
    "path": "Authorizer, string -> PathCheck",
    "group": "Authorizer, string -> GroupCheck",
    "serviceAccount": "Authorizer, string, string -> Authorizer",
    "resource": "GroupCheck, string -> ResourceCheck",
    **dict.fromkeys(
        ("subresource", "namespace", "name", "fieldSelector", "labelSelector"),
        "ResourceCheck, string -> ResourceCheck",
    ),
    "check": "PathCheck, string -> Decision | ResourceCheck, string -> Decision",
    **dict.fromkeys(("errored", "allowed"), "Decision -> bool"),
    **dict.fromkeys(("error", "reason"), "Decision -> string"),
}
_FORMATS: Final = (
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
)


class _Signature:
    """Reads one signature such as ``map(A, B), A -> B``."""

    def __init__(self, text: str) -> None:
        self._tokens = re.findall(r"\w+|->|[(),]", text)

    def read(self, *, is_member: bool) -> Overload:
        params: list[Type] = []
        while self._tokens[0] != "->":
            params.append(self._type())
            if self._tokens[0] == ",":
                self._tokens.pop(0)
        self._tokens.pop(0)
        return Overload(tuple(params), self._type(), is_member)

    def _type(self) -> Type:
        name = self._tokens.pop(0)
        params: list[Type] = []
        if self._tokens and self._tokens[0] == "(":
            while self._tokens.pop(0) != ")":
                params.append(self._type())
        return Type(_ALIASES.get(name, name), tuple(params), is_variable=len(name) == 1)


def _overloads(table: Mapping[str, str], *, is_member: bool) -> Iterator[tuple[str, Overload]]:
    for name, text in table.items():
        for signature in text.split(" | "):
            yield name, _Signature(signature).read(is_member=is_member)


def _build() -> dict[str, tuple[Overload, ...]]:
    declared: dict[str, list[Overload]] = {}
    formats = {f"format.{name}": "-> Format" for name in _FORMATS}
    for name, overload in _overloads({**_GLOBAL, **formats}, is_member=False):
        declared.setdefault(name, []).append(overload)
    for name, overload in _overloads(_MEMBERS, is_member=True):
        declared.setdefault(name, []).append(overload)
    return {name: tuple(overloads) for name, overloads in declared.items()}


DECLARATIONS: Final = _build()
