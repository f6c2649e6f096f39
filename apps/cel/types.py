"""The types of expressions, and whether one may stand where another is wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Type:
    """A type by its name. ``is_variable``: it is not known yet; see :class:`Bindings`."""

    name: str
    params: tuple[Type, ...] = ()
    is_variable: bool = False

    @property
    def is_dyn(self) -> bool:
        return self.name in ("dyn", "any")

    @property
    def is_wild(self) -> bool:
        """Whether the type fits every other one: it is not known, or was refused already."""
        return self.name in ("dyn", "any", "!error!")

    def __str__(self) -> str:
        """The name as messages of the compiler have it."""
        name = _SHORT.get(self.name, self.name)
        return f"{name}({', '.join(map(str, self.params))})" if self.params else name

    @property
    def full_name(self) -> str:
        """The name as the type has it by itself."""
        name = "google.protobuf.Any" if self.name == "any" else self.name
        params = ", ".join(param.full_name for param in self.params)
        return f"{name}({params})" if params else name


_SHORT: Final = {
    "null_type": "null",
    "google.protobuf.Duration": "duration",
    "google.protobuf.Timestamp": "timestamp",
}
DYN: Final = Type("dyn")
ANY: Final = Type("any")
ERROR: Final = Type("!error!")
BOOL: Final = Type("bool")
INT: Final = Type("int")
STRING: Final = Type("string")
DEVICE: Final = Type("kubernetes.DRADevice")
#: types of which a value may be null, besides opaque ones
_NULLABLE: Final = frozenset(
    {
        "null_type",
        "google.protobuf.Duration",
        "google.protobuf.Timestamp",
        "kubernetes.DRADevice",
        "kubernetes.Quantity",
        "kubernetes.Semver",
        "kubernetes.URL",
        "kubernetes.NamedFormat",
        "optional_type",
        "net.IP",
        "net.CIDR",
        "kubernetes.AdmissionRequest",
        "kubernetes.GroupVersionKind",
        "kubernetes.GroupVersionResource",
        "kubernetes.Namespace",
        "kubernetes.NamespaceCondition",
        "kubernetes.NamespaceMetadata",
        "kubernetes.NamespaceSpec",
        "kubernetes.NamespaceStatus",
        "kubernetes.UserInfo",
        "kubernetes.variables",
    }
)


def optional_of(wrapped: Type) -> Type:
    return Type("optional_type", (wrapped,))


def unwrap_optional(type_: Type) -> tuple[Type, bool]:
    """The type inside an optional type, and whether it was one."""
    if type_.name == "optional_type":
        return type_.params[0], True
    return type_, False


def _is_nullable(type_: Type) -> bool:
    """Whether a value may be null; types of Kubernetes objects begin with the name of the kind."""
    return type_.name in _NULLABLE or type_.name[:1].isupper()


class Bindings:
    """What the variables among the types stand for."""

    def __init__(self) -> None:
        self._bound: dict[Type, Type] = {}
        self._last = 0

    def new_variable(self) -> Type:
        self._last += 1
        return Type(f"_var{self._last}", is_variable=True)

    def assign(self, given: Type, wanted: Type) -> bool:
        """Whether ``given`` fits ``wanted``; variables are bound if it does."""
        return self.assign_all((given,), (wanted,))

    def assign_all(self, given: tuple[Type, ...], wanted: tuple[Type, ...]) -> bool:
        before = dict(self._bound)
        if self._fit_all(given, wanted):
            return True
        self._bound = before
        return False

    def substitute(self, type_: Type, *, final: bool = False) -> Type:
        """The type without bound variables. ``final``: unbound ones become dyn."""
        bound = self._bound.get(type_)
        if bound is not None:
            return self.substitute(bound, final=final)
        if type_.is_variable:
            return DYN if final else type_
        if not type_.params:
            return type_
        params = tuple(self.substitute(param, final=final) for param in type_.params)
        return Type(type_.name, params)

    def _fit_all(self, given: tuple[Type, ...], wanted: tuple[Type, ...]) -> bool:
        return len(given) == len(wanted) and all(map(self._fit, given, wanted))

    def _fit(self, given: Type, wanted: Type) -> bool:
        if wanted.is_variable:
            fits, was_bound = self._bind(wanted, given)
            if fits or was_bound:
                return fits
        if given.is_variable:
            return self._bind(given, wanted)[0]
        if given.is_wild or wanted.is_wild:
            return True
        if given.name == "null_type" or wanted.name == "null_type":
            return _is_nullable(given) and _is_nullable(wanted)
        if given.name == "type":
            return wanted.name == "type"
        return given.name == wanted.name and self._fit_all(given.params, wanted.params)

    def _bind(self, variable: Type, type_: Type) -> tuple[bool, bool]:
        """(whether the variable may stand for the type, whether it stood for one before)"""
        if variable == type_:
            return True, True
        bound = self._bound.get(variable)
        if bound is None:
            if self._occurs(variable, type_):
                return False, False
            self._bound[variable] = type_
            return True, False
        if bound == type_:
            return True, True
        if not self._fit(type_, bound):
            return False, True
        general = most_general(type_, bound)
        if not self._occurs(variable, general):
            self._bound[variable] = general
        return True, True

    def _occurs(self, variable: Type, within: Type) -> bool:
        if variable == within:
            return True
        if within.is_variable:
            bound = self._bound.get(within)
            return bound is not None and self._occurs(variable, bound)
        return any(self._occurs(variable, param) for param in within.params)


def most_general(first: Type, second: Type) -> Type:
    """The more general of two types that fit each other."""
    return first if _is_general(first, second) else second


def _is_general(first: Type, second: Type) -> bool:
    if first.is_dyn or first.is_variable:
        return True
    if second.is_dyn or second.is_variable or first.name != second.name:
        return False
    if first.name == "type":
        return True
    return len(first.params) == len(second.params) and all(
        map(_is_general, first.params, second.params)
    )
