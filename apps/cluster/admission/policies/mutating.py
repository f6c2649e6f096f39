"""The mutating policies of a cluster, and what they make of an object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from apps.cel.values import StructValue
from apps.cluster.admission.policies.evaluating import (
    EvaluationError,
    MutationRun,
    RequestBudget,
)
from apps.cluster.admission.policies.matching import matches, may_match
from apps.cluster.admission.policies.requests import CREATE, EXEMPT, Review
from apps.cluster.admission.policies.reviewing import (
    BoundPolicy,
    ConfigurationError,
    FindParams,
    bind,
    find_params,
    param_kind,
)
from apps.cluster.admission.reinvoking import Normalize, Reinvocations
from apps.cluster.errors import ApiError, BadRequest, Forbidden
from apps.cluster.json_patch import FailedTest, PatchProblem, apply, read
from apps.cluster.kind import Kind
from apps.cluster.lookups import Lookups
from apps.cluster.ownership import field_paths
from apps.cluster.ownership.shapes import Shape, struct
from apps.cluster.ownership.writes import definition_of_kind
from apps.cluster.schema import ShapeError, decode, definition_of
from apps.cluster.validation.policy_programs import Mutation, programs_of

Body = Mapping[str, Any]

_ATOMIC: Final = (
    "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or "
    "structs: "
)
_UNTYPED: Final = "error applying patch: failed to convert patch object to typed object: "


class _Failed(Exception):
    """A mutation cannot be made."""


class MutatingPolicies:
    """The mutating policies of a cluster that have bindings; false without any."""

    def __init__(self, policies: Sequence[Body], bindings: Sequence[Body]) -> None:
        self._bound = bind(policies, bindings)

    def __bool__(self) -> bool:
        return bool(self._bound)

    def may_concern(self, kind: Kind) -> bool:
        """Whether one may be about the creation of an object of this kind."""
        return any(
            may_match(each.constraints, kind.group, kind.plural, CREATE) for each in self._bound
        )

    def mutate(
        self,
        review: Review,
        lookups: Lookups,
        params: FindParams,
        normalize: Normalize,
        reinvocations: Reinvocations,
    ) -> Review:
        """The request after the policies of one round; raises what denies it."""
        if review.kind.group == EXEMPT or review.object is None:
            return review
        reinvocations.begin(review.object)
        budget = RequestBudget()
        for bound in self._bound:
            for binding, param in _bindings(bound, review, lookups, params):
                key = (bound.name, binding["metadata"]["name"], _name_of(param))
                if not reinvocations.includes(key):
                    continue
                before = review.object
                run = _Run(bound, binding, param, lookups, budget, normalize)
                review = run.mutate(review)
                if review.object != before:
                    reinvocations.note_change()
                if bound.policy["spec"].get("reinvocationPolicy") == "IfNeeded":
                    reinvocations.note_call(key)
        reinvocations.end(review.object)
        return review


NO_MUTATING_POLICIES: Final = MutatingPolicies((), ())


def _name_of(params: Body | None) -> tuple[str, str]:
    metadata = (params or {}).get("metadata") or {}
    return metadata.get("namespace", ""), metadata.get("name", "")


def _bindings(
    bound: BoundPolicy, review: Review, lookups: Lookups, params: FindParams
) -> Iterator[tuple[Body, Body | None]]:
    """The bindings that match a request, with each of their parameters."""
    if not matches(bound.constraints, review, lookups):
        return
    spec = bound.policy["spec"]
    ignores = spec.get("failurePolicy") == "Ignore"
    try:
        kind = param_kind(spec, params)
    except ConfigurationError as error:
        if ignores:
            return
        raise _denial(
            review, f'policy "{bound.name}" denied request: failed to configure policy: {error}'
        ) from error
    for binding in bound.bindings:
        resources = binding["spec"].get("matchResources")
        if resources is not None and not matches(resources, review, lookups):
            continue
        try:
            found_params = find_params(kind, binding["spec"].get("paramRef"), review, params)
        except ConfigurationError as error:
            if ignores:
                continue
            why = f"failed to configure binding: {error}"
            raise _denial(review, _said(bound, binding, why)) from error
        yield from ((binding, each) for each in found_params)


class _Run:
    """The mutations of one policy with one binding and one object of parameters."""

    def __init__(
        self,
        bound: BoundPolicy,
        binding: Body,
        params: Body | None,
        lookups: Lookups,
        budget: RequestBudget,
        normalize: Normalize,
    ) -> None:
        self._bound, self._binding, self._params = bound, binding, params
        self._lookups, self._normalize = lookups, normalize
        self._programs = programs_of(bound.policy["spec"])
        self._run = MutationRun(self._programs, budget)

    def mutate(self, review: Review) -> Review:
        """The request after all mutations; as it was if one fails that may."""
        before = review
        try:
            if not self._run.meets(self._values(review)):
                return review
            for mutation in self._programs.mutations:
                review = replace(review, object=self._normalize(self._patched(mutation, review)))
        except (EvaluationError, _Failed) as error:
            if self._bound.policy["spec"].get("failurePolicy") == "Ignore":
                return before
            message = _said(self._bound, self._binding, str(error))
            raise _denial(review, message, "Invalid") from error
        return review

    def _values(self, review: Review) -> dict[str, Any]:
        in_namespace = review.namespace and not review.of_namespace
        namespace = self._lookups.namespace(review.namespace) if in_namespace else None
        return review.variables(namespace, self._params)

    def _patched(self, mutation: Mutation, review: Review) -> dict[str, Any]:
        value = self._run.value(mutation, self._values(review))
        body = dict(review.object or {})
        if mutation.patch_type == "JSONPatch":
            return _json_patched(body, value)
        _check_types(value, ("Object",))
        return _applied(body, _plain(value), _definition(review))


def _said(bound: BoundPolicy, binding: Body, why: str) -> str:
    name = binding["metadata"]["name"]
    return f"policy '{bound.name}' with binding '{name}' denied request: {why}"


def _denial(review: Review, message: str, reason: str = "Forbidden") -> ApiError:
    details = {
        **({"name": review.shown_name} if review.shown_name else {}),
        **({"group": review.kind.group} if review.kind.group else {}),
        "kind": review.plural,
        "causes": [{"message": message}],
    }
    error = Forbidden(message, details=details)
    error.reason = reason
    return error


def _definition(review: Review) -> str:
    if not review.shape[0]:
        return definition_of_kind(review.kind)
    group, _, version = review.shape[0].rpartition("/")
    return definition_of(group, version, review.shape[1])


def _json_patched(body: dict[str, Any], steps: Any) -> dict[str, Any]:
    try:
        return apply(body, read(_plain(steps)))
    except FailedTest:
        # a test is a condition
        return body
    except PatchProblem as problem:
        raise _Failed(f"JSON Patch: {problem}") from problem
    except (BadRequest, ApiError) as problem:
        raise _Failed(f"JSON Patch: {problem.message}") from problem


def _applied(body: dict[str, Any], applied: Any, definition: str) -> dict[str, Any]:
    atomic = list(_atomic_paths(applied, struct(definition), ""))
    if atomic:
        raise _Failed(_ATOMIC + ", ".join(atomic))
    typed = {**applied, "apiVersion": body["apiVersion"], "kind": body["kind"]}
    try:
        unknown = decode(definition, typed).unknown
    except ShapeError as error:
        raise _Failed(f"{_UNTYPED}.{error.field}: {error.message}") from error
    if unknown:
        raise _Failed(f"{_UNTYPED}.{unknown[0]}: field not declared in schema")
    merged: dict[str, Any] = field_paths.merge(body, typed, definition)
    return merged


def _atomic_paths(value: Any, shape: Shape, path: str) -> Iterator[str]:
    """The lists, maps and structures of which nobody can set a part."""
    if not isinstance(value, dict | list):
        return
    if shape.form == "single":
        yield path
    elif isinstance(value, dict) and shape.form in ("struct", "map"):
        for name, item in value.items():
            yield from _atomic_paths(item, shape.field(name), f"{path}.{name}")
    elif isinstance(value, list) and shape.form == "list":
        for index, item in enumerate(value):
            yield from _atomic_paths(item, shape.item, f"{path}[{index}]")


def _check_types(value: Any, path: tuple[str, ...]) -> None:
    """The type of each part is named after the fields that lead to it."""
    if isinstance(value, list):
        for item in value:
            _check_types(item, path)
    elif isinstance(value, StructValue):
        if value.type_name != ".".join(path):
            raise _Failed(
                f'type mismatch: unexpected type name "{value.type_name}", expected '
                f'"{".".join(path)}", which matches field name path from root Object type'
            )
        for name, item in value.items():
            _check_types(item, (*path, name))
    elif isinstance(value, dict):
        for item in value.values():
            _check_types(item, path)


def _plain(value: Any) -> Any:
    """A value of an expression as JSON."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | bool | float):
        return value
    if isinstance(value, int):
        return int(value)
    return str(value)
