"""The CEL expressions of admission policies, compiled: what they may refer to, and their programs.

`object`, `oldObject` and `params` have no static type; `request`, `namespaceObject`, `authorizer`
and `variables` have. An expression that does not compile is kept with what is wrong with it, so
that a policy can be validated, and one that is stored already fails when it is evaluated.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import msgspec

from apps.caching import cache_within
from apps.cel.authorization import AUTHORIZER, RESOURCE_CHECK
from apps.cel.checking import ONLY_OF_DEVICES, ONLY_OF_MUTATIONS, Environment, FindField
from apps.cel.effort import CostExceeded, Effort
from apps.cel.programs import Program, compile_program
from apps.cel.selector import CompileProblem
from apps.cel.types import BOOL, DYN, INT, STRING, Type

Spec = Mapping[str, Any]

#: Characters of all policies whose programs are kept: those that are only validated, too.
_CHARACTERS: Final = 4 * 1024 * 1024
REQUEST: Final = Type("kubernetes.AdmissionRequest")
NAMESPACE: Final = Type("kubernetes.Namespace")
VARIABLES: Final = Type("kubernetes.variables")
_NULL: Final = Type("null_type")
_TIMESTAMP: Final = Type("google.protobuf.Timestamp")
_TEXTS: Final = Type("list", (STRING,))
_TEXT_MAP: Final = Type("map", (STRING, STRING))
_GROUP_KIND: Final = Type("kubernetes.GroupVersionKind")
_GROUP_RESOURCE: Final = Type("kubernetes.GroupVersionResource")
_USER: Final = Type("kubernetes.UserInfo")
_METADATA: Final = Type("kubernetes.NamespaceMetadata")
_SPEC: Final = Type("kubernetes.NamespaceSpec")
_STATUS: Final = Type("kubernetes.NamespaceStatus")
_CONDITION: Final = Type("kubernetes.NamespaceCondition")


def _texts(*names: str) -> dict[str, Type]:
    return dict.fromkeys(names, STRING)


_STRUCTS: Final[Mapping[str, Mapping[str, Type]]] = {
    _GROUP_KIND.name: _texts("group", "version", "kind"),
    _GROUP_RESOURCE.name: _texts("group", "version", "resource"),
    _USER.name: {
        **_texts("username", "uid"),
        "groups": _TEXTS,
        "extra": Type("map", (STRING, _TEXTS)),
    },
    REQUEST.name: {
        **_texts("subResource", "requestSubResource", "name", "namespace", "operation"),
        **dict.fromkeys(("kind", "requestKind"), _GROUP_KIND),
        **dict.fromkeys(("resource", "requestResource"), _GROUP_RESOURCE),
        "userInfo": _USER,
        "dryRun": BOOL,
        "options": DYN,
    },
    NAMESPACE.name: {"metadata": _METADATA, "spec": _SPEC, "status": _STATUS},
    _METADATA.name: {
        **_texts("name", "generateName", "namespace", "UID", "resourceVersion"),
        **dict.fromkeys(("labels", "annotations"), _TEXT_MAP),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), _TIMESTAMP),
        **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), INT),
        "finalizers": _TEXTS,
    },
    _SPEC.name: {"finalizers": _TEXTS},
    _STATUS.name: {"phase": STRING, "conditions": Type("list", (_CONDITION,))},
    _CONDITION.name: {
        **_texts("type", "status", "reason", "message"),
        "lastTransitionTime": _TIMESTAMP,
    },
    AUTHORIZER.name: {"requestResource": RESOURCE_CHECK},
}
#: Types that a variable of a policy keeps; one of another type has none.
_KEPT: Final = frozenset(
    {"bool", "bytes", "double", "google.protobuf.Duration", "int", "null_type", "string"}
    | {"google.protobuf.Timestamp", "uint"}
)


@dataclass(frozen=True, slots=True)
class Expression:
    """One expression: its program, or what is wrong with it."""

    text: str
    program: Program | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One entry of `validations`."""

    expression: Expression
    message: str
    reason: str
    #: None without one.
    message_expression: Expression | None


@dataclass(frozen=True, slots=True)
class Mutation:
    """One entry of `mutations`."""

    patch_type: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class PolicyPrograms:
    """The expressions of one policy, in its order."""

    #: name -> expression
    variables: Mapping[str, Expression]
    conditions: tuple[Expression, ...]
    checks: tuple[Check, ...]
    #: (key, expression)
    annotations: tuple[tuple[str, Expression], ...]
    mutations: tuple[Mutation, ...] = ()


#: Without variables.
NO_PROGRAMS: Final = PolicyPrograms({}, (), (), ())


def conditions_of(owner: Spec) -> tuple[Expression, ...]:
    """The compiled `matchConditions` of a webhook."""
    return programs_of({"matchConditions": owner.get("matchConditions")}).conditions


def programs_of(spec: Spec) -> PolicyPrograms:
    """The compiled expressions in the spec of a policy."""
    fields = (
        *("paramKind", "variables", "matchConditions", "validations", "auditAnnotations"),
        "mutations",
    )
    relevant = {name: spec[name] for name in fields if spec.get(name)}
    return _compiled(msgspec.json.encode(relevant, order="sorted").decode())


@cache_within(_CHARACTERS)
def _compiled(text: str) -> PolicyPrograms:
    with Effort().shared():
        return _compile_all(msgspec.json.decode(text))


def _compile_all(spec: Spec) -> PolicyPrograms:
    has_params = "paramKind" in spec
    #: of the variables so far: an expression sees those before it
    types: dict[str, Type] = {}
    compose = types if spec.get("variables") else None
    variables: dict[str, Expression] = {}
    mutates = "mutations" in spec
    full = _environment(compose, has_params=has_params, mutates=mutates)
    for given in spec.get("variables") or ():
        expression = _compile(given.get("expression", ""), full, ())
        variables[given.get("name", "")] = expression
        result = expression.program.result if expression.program is not None else DYN
        types[given.get("name", "")] = field_type(result)
    without = _environment(compose, has_params=has_params, has_authorizer=False)
    alone = _environment(None, has_params=has_params)
    return PolicyPrograms(
        variables,
        tuple(
            _compile(given.get("expression", "").strip(), alone, (BOOL,))
            for given in spec.get("matchConditions") or ()
        ),
        tuple(_check(given, full, without) for given in spec.get("validations") or ()),
        tuple(
            (
                given.get("key", ""),
                _compile(given.get("valueExpression", "").strip(), full, (STRING, _NULL)),
            )
            for given in spec.get("auditAnnotations") or ()
        ),
        tuple(_mutation(given, full) for given in spec.get("mutations") or ()),
    )


def _mutation(given: Mapping[str, Any], full: Environment) -> Mutation:
    patch_type = given.get("patchType", "")
    field, wanted = MUTATIONS.get(patch_type, ("", DYN))
    text = ((given.get(field) or {}).get("expression") or "").strip()
    return Mutation(patch_type, _compile(text, full, (wanted,)))


#: patchType -> (the field with its expression, the type of that)
MUTATIONS: Final[Mapping[str, tuple[str, Type]]] = {
    "ApplyConfiguration": ("applyConfiguration", Type("Object")),
    "JSONPatch": ("jsonPatch", Type("list", (Type("JSONPatch"),))),
}
_PATCH_FIELDS: Final = {**_texts("op", "path", "from"), "value": DYN}


def _constructs(name: str) -> FindField | None:
    """The types of objects and of their parts, which are not checked, and of steps of a patch."""
    if name == "JSONPatch":
        return _PATCH_FIELDS.get
    if name.partition(".")[0] == "Object":
        return lambda field: DYN
    return None


def _check(given: Mapping[str, Any], full: Environment, without: Environment) -> Check:
    text = given.get("messageExpression", "")
    message = _compile(text, without, (STRING,)) if text.strip() else None
    expression = _compile(given.get("expression", ""), full, (BOOL,))
    return Check(expression, given.get("message", ""), given.get("reason") or "Invalid", message)


def _environment(
    variables: Mapping[str, Type] | None,
    *,
    has_params: bool,
    has_authorizer: bool = True,
    mutates: bool = False,
) -> Environment:
    """`variables`: the types of those that expressions see; None if the policy has none."""
    names = {"object": DYN, "oldObject": DYN}
    if has_params:
        names["params"] = DYN
    return environment_of(variables, names, has_authorizer=has_authorizer, mutates=mutates)


def environment_of(
    variables: Mapping[str, Type] | None,
    objects: Mapping[str, Type],
    types: Mapping[str, Mapping[str, Type]] = MappingProxyType({}),
    *,
    has_authorizer: bool = True,
    mutates: bool = False,
) -> Environment:
    """What expressions of a policy may refer to: `objects` of these `types`, and what all see.

    `variables`: the types of those that expressions see; None if the policy has none.
    """
    names = {**objects, "request": REQUEST, "namespaceObject": NAMESPACE}
    if has_authorizer:
        names["authorizer"] = AUTHORIZER
    own = _STRUCTS
    if variables is not None:
        own = {**_STRUCTS, VARIABLES.name: variables}
        names["variables"] = VARIABLES
    structs = ChainMap(dict(own), types) if types else own  # type: ignore[arg-type]
    if mutates:
        return Environment(names, structs, ONLY_OF_DEVICES, _constructs)
    return Environment(names, structs, ONLY_OF_DEVICES | ONLY_OF_MUTATIONS)


def field_type(result: Type) -> Type:
    """The type that a variable of a policy has by an expression of this type."""
    if result.name in ("list", "map"):
        return Type(result.name, tuple(map(field_type, result.params)))
    return result if result.name in _KEPT else DYN


def _compile(text: str, environment: Environment, wanted: Iterable[Type]) -> Expression:
    """`wanted`: the types of which the result must be one; any without them."""
    try:
        program = compile_program(text, environment, lambda path: None)
    except CompileProblem as wrong:
        return Expression(text, None, str(wrong))
    except CostExceeded:
        return Expression(text, None, "the expressions of this policy take too long to compile")
    names = [each.full_name for each in wanted]
    result = program.result.full_name
    if not names or result in names:
        return Expression(text, program)
    if len(names) == 1:
        return Expression(text, None, f"must evaluate to {names[0]} but got {result}")
    listed = " ".join(names)
    return Expression(text, None, f"must evaluate to one of [{listed}] but got {result}")
