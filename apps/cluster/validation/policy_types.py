"""The type check of a policy's expressions against the schemas of the kinds that it is about.

An admission policy may use any field when it is written. What its expressions would find wrong in
objects of a kind is a warning in its status, with the position that the compiler names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apps.cel.checking import Environment
from apps.cel.effort import CostExceeded, Effort
from apps.cel.programs import type_of
from apps.cel.selector import CompileProblem
from apps.cel.types import DYN, STRING, Type
from apps.cluster.schema.definitions import DEFINITIONS, Schema, reference
from apps.cluster.validation.custom_values import FORMATS, SCALARS, escape
from apps.cluster.validation.policy_programs import environment_of, field_type

Body = Mapping[str, Any]

_PREFIX: Final = "compilation failed: "


@dataclass(frozen=True, slots=True)
class TypedKind:
    """A kind in one version, and its OpenAPI definition."""

    group: str
    version: str
    name: str
    definition: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Kind={self.name}"


class ObjectTypes(Mapping[str, Mapping[str, Type]]):
    """The fields of objects and of their parts, by the names of their types.

    They are read when an expression reaches them: some definitions contain themselves.
    """

    def __init__(self) -> None:
        self._schemas: dict[str, Schema] = {}
        self._fields: dict[str, Mapping[str, Type]] = {}

    def root(self, kind: TypedKind) -> Type:
        """The type of the objects of a kind."""
        return self._type(DEFINITIONS[kind.definition], kind.name) or DYN

    def __getitem__(self, name: str) -> Mapping[str, Type]:
        if name not in self._fields:
            properties = self._schemas[name].get("properties") or {}
            types = {
                escape(field): self._type(schema, f"{name}.{field}")
                for field, schema in properties.items()
            }
            self._fields[name] = {field: each for field, each in types.items() if each is not None}
        return self._fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._schemas)

    def __len__(self) -> int:
        return len(self._schemas)

    def _type(self, schema: Schema, name: str) -> Type | None:
        """The type of a value; None for one that expressions cannot reach, such as a quantity."""
        target = reference(schema) or next(map(reference, schema.get("allOf") or ()), "")
        if target:
            schema = DEFINITIONS[target]
        is_either = schema.get("x-kubernetes-int-or-string")
        if is_either or schema.get("format") == "int-or-string":
            return DYN
        match schema.get("type"):
            case "array":
                inner = self._type(schema.get("items") or {}, f"{name}.@idx")
                return None if inner is None else Type("list", (inner,))
            case "object" if isinstance(schema.get("additionalProperties"), Mapping):
                inner = self._type(schema["additionalProperties"], f"{name}.@elem")
                return None if inner is None else Type("map", (STRING, inner))
            case "object":
                self._schemas[name] = schema
                return Type(name)
            case "string":
                known = FORMATS.get(schema.get("format", ""))
                return STRING if known is None else known[0]
            case other:
                return SCALARS.get(str(other))


def type_warnings(
    spec: Body, kinds: Sequence[TypedKind], params: TypedKind | None
) -> list[dict[str, str]]:
    """The `expressionWarnings` of a ValidatingAdmissionPolicy about objects of these kinds.

    `params`: the kind of its parameters, if the cluster has it.
    """
    warnings: list[dict[str, str]] = []
    try:
        with Effort().shared():
            environments = [(kind, _environment(spec, kind, params)) for kind in kinds]
            for field, text in _expressions(spec):
                problems = [
                    f"{kind}: {problem}\n"
                    for kind, environment in environments
                    if (problem := _problem(text, environment))
                ]
                if problems:
                    warnings.append({"fieldRef": field, "warning": "\n".join(problems)})
    except CostExceeded:
        return []
    return warnings


def _expressions(spec: Body) -> Iterator[tuple[str, str]]:
    for index, each in enumerate(spec.get("validations") or ()):
        for name in ("expression", "messageExpression"):
            if each.get(name):
                yield f"spec.validations[{index}].{name}", each[name]


def _environment(spec: Body, kind: TypedKind, params: TypedKind | None) -> Environment:
    """What the expressions of a policy may refer to, about objects of one kind."""
    types = ObjectTypes()
    names = dict.fromkeys(("object", "oldObject"), types.root(kind))
    if "paramKind" in spec:
        names["params"] = DYN if params is None else types.root(params)
    variables: dict[str, Type] = {}
    environment = environment_of(variables if spec.get("variables") else None, names, types)
    for given in spec.get("variables") or ():
        try:
            result = type_of(given.get("expression", ""), environment)
        except CompileProblem:
            result = DYN
        variables[given.get("name", "")] = field_type(result)
    return environment


def _problem(text: str, environment: Environment) -> str:
    try:
        type_of(text, environment)
    except CompileProblem as wrong:
        return str(wrong).removeprefix(_PREFIX)
    return ""
