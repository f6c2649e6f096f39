"""The policies of a cluster, and their verdict about a request."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec

from apps.cluster.admission.policies.evaluating import Failure, Findings, RequestBudget, evaluate
from apps.cluster.admission.policies.matching import Convert, as_matched, matches, may_match
from apps.cluster.admission.policies.requests import CREATE, EXEMPT, Review
from apps.cluster.context import add_audit_annotation, add_warning
from apps.cluster.errors import ApiError, Forbidden, Invalid, RequestEntityTooLarge, qualified
from apps.cluster.kind import Kind
from apps.cluster.lookups import Lookups
from apps.cluster.validation.policy_programs import programs_of

Body = Mapping[str, Any]

_FAILURE: Final = "validation.policy.admission.k8s.io/validation_failure"
_LONGEST_ANNOTATION: Final = 10 * 1024
_NO_PARAMS: Final = "no params found for policy binding with `Deny` parameterNotFoundAction"
_NO_NAMESPACE: Final = (
    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
)
_NAMESPACE_OF_CLUSTER: Final = (
    "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
)


class FindParams(Protocol):
    """Reads the objects that parameterize policies."""

    def kind(self, api_version: str, name: str) -> Kind | None:
        """The kind of these objects; None if the cluster does not serve it."""

    def objects(
        self, kind: Kind, namespace: str, name: str, selector: Body | None
    ) -> Sequence[Body]:
        """The object of this name, or those that the selector selects."""


class ConfigurationError(Exception):
    """A policy or a binding cannot be used as it is."""


@dataclass(frozen=True, slots=True)
class BoundPolicy:
    """A policy with its bindings, by name."""

    policy: Body
    bindings: tuple[Body, ...]

    @property
    def name(self) -> str:
        name: str = self.policy["metadata"]["name"]
        return name

    @property
    def constraints(self) -> Body:
        constraints: Body = self.policy["spec"].get("matchConstraints") or {}
        return constraints


def bind(policies: Sequence[Body], bindings: Sequence[Body]) -> tuple[BoundPolicy, ...]:
    """The policies that have bindings."""
    bound: dict[str, list[Body]] = {}
    for binding in bindings:
        bound.setdefault(binding["spec"]["policyName"], []).append(binding)
    return tuple(
        BoundPolicy(policy, tuple(bound[policy["metadata"]["name"]]))
        for policy in policies
        if policy["metadata"]["name"] in bound
    )


class Policies:
    """The policies of a cluster that have bindings; false without any."""

    def __init__(self, policies: Sequence[Body], bindings: Sequence[Body]) -> None:
        self._bound = bind(policies, bindings)

    def __bool__(self) -> bool:
        return bool(self._bound)

    def may_concern(self, kind: Kind) -> bool:
        """Whether one may be about the creation of an object of this kind."""
        return any(
            may_match(each.constraints, kind.group, kind.plural, CREATE) for each in self._bound
        )

    def review(
        self, review: Review, lookups: Lookups, params: FindParams, convert: Convert | None = None
    ) -> None:
        """Raise the error of the first policy that denies the request; note warnings."""
        if review.kind.group == EXEMPT:
            return
        denials: list[_Denial] = []
        budget = RequestBudget()
        for bound in self._bound:
            seen = as_matched(bound.constraints, review, lookups, convert)
            if seen is not None:
                denials += _review(bound, seen, lookups, params, budget)
        if denials:
            raise denials[0].error(review)


NO_POLICIES: Final = Policies((), ())


@dataclass(frozen=True, slots=True)
class _Denial:
    policy: str
    #: "" where the policy itself cannot be used.
    binding: str
    failure: Failure

    def error(self, review: Review) -> ApiError:
        bound = f" with binding '{self.binding}'" if self.binding else ""
        text = f"ValidatingAdmissionPolicy '{self.policy}'{bound} denied request: "
        message = text + self.failure.message
        kind = review.kind
        details = {
            **({"name": review.shown_name} if review.shown_name else {}),
            **({"group": kind.group} if kind.group else {}),
            "kind": review.plural,
            "causes": [{"message": message}],
        }
        resource = qualified(review.plural, kind.group)
        about = f'{resource} "{review.shown_name}" is forbidden: {message}'
        return _ERRORS.get(self.failure.reason, _invalid)(about, details)


def _invalid(message: str, details: dict[str, Any]) -> ApiError:
    error = ApiError(message, details=details)
    error.code, error.reason = Invalid.code, Invalid.reason
    return error


_ERRORS: Final[Mapping[str, Callable[[str, dict[str, Any]], ApiError]]] = {
    "Forbidden": lambda message, details: Forbidden(message, details=details),
    "Invalid": _invalid,
    "RequestEntityTooLarge": lambda message, details: RequestEntityTooLarge(
        message, details=details
    ),
}


def _review(
    bound: BoundPolicy,
    review: Review,
    lookups: Lookups,
    params: FindParams,
    budget: RequestBudget,
) -> Iterator[_Denial]:
    spec = bound.policy["spec"]
    ignores_errors = spec.get("failurePolicy") == "Ignore"
    try:
        kind = param_kind(spec, params)
    except ConfigurationError as error:
        if not ignores_errors:
            yield _Denial(bound.name, "", Failure(0, f"failed to configure policy: {error}"))
        return
    annotations: dict[str, list[str]] = {}
    programs = programs_of(spec)
    for binding in bound.bindings:
        name = binding["metadata"]["name"]
        resources = binding["spec"].get("matchResources")
        if resources is not None and not matches(resources, review, lookups):
            continue
        try:
            matched_params = find_params(kind, binding["spec"].get("paramRef"), review, params)
        except ConfigurationError as error:
            if not ignores_errors:
                failure = Failure(0, f"failed to configure binding: {error}")
                yield _Denial(bound.name, name, failure)
            continue
        in_namespace = review.namespace and not review.of_namespace
        namespace = lookups.namespace(review.namespace) if in_namespace else None
        for each in matched_params:
            values = review.variables(namespace, each)
            findings = evaluate(programs, values, budget, ignores_errors=ignores_errors)
            yield from _act(bound.name, binding, findings)
            for key, value in findings.annotations:
                known = annotations.setdefault(key, [])
                if value not in known:
                    known.append(value[:_LONGEST_ANNOTATION])
    for key, texts in annotations.items():
        add_audit_annotation(f"{bound.name}/{key}", ", ".join(texts))


def _act(policy: str, binding: Body, findings: Findings) -> Iterator[_Denial]:
    name, actions = binding["metadata"]["name"], binding["spec"].get("validationActions") or ()
    for failure in findings.failures:
        if "Deny" in actions:
            yield _Denial(policy, name, failure)
        if "Warn" in actions:
            add_warning(
                f"Validation failed for ValidatingAdmissionPolicy '{policy}' with binding "
                f"'{name}': {failure.message}"
            )
        if "Audit" in actions:
            add_audit_annotation(_FAILURE, _audited(policy, name, failure, actions))
    for failure in findings.denials:
        yield _Denial(policy, name, failure)


def _audited(policy: str, binding: str, failure: Failure, actions: Sequence[str]) -> str:
    entry = {
        "message": failure.message,
        "policy": policy,
        "binding": binding,
        "expressionIndex": failure.index,
        "validationActions": actions,
    }
    return msgspec.json.encode([entry]).decode()


def param_kind(spec: Body, params: FindParams) -> Kind | None:
    """The kind of the parameters of a policy; None without any. ConfigurationError."""
    given = spec.get("paramKind")
    if given is None:
        return None
    kind = params.kind(given["apiVersion"], given["kind"])
    if kind is None:
        named = f"{given['apiVersion']}, Kind={given['kind']}"
        raise ConfigurationError(f"failed to find resource referenced by paramKind: '{named}'")
    return kind


def find_params(
    kind: Kind | None, reference: Body | None, review: Review, params: FindParams
) -> Sequence[Body | None]:
    """The objects with which a policy is evaluated, one after the other; [None] without any.

    Raises ConfigurationError if the reference does not fit the kind, or a parameter must exist.
    """
    if kind is None or reference is None:
        return [None]
    namespace = reference.get("namespace", "")
    if not kind.namespaced:
        if namespace:
            raise ConfigurationError(_NAMESPACE_OF_CLUSTER)
    else:
        namespace = namespace or review.place
        if not namespace:
            raise ConfigurationError(_NO_NAMESPACE)
    selected = params.objects(kind, namespace, reference.get("name", ""), reference.get("selector"))
    if not selected and reference.get("parameterNotFoundAction") == "Deny":
        raise ConfigurationError(_NO_PARAMS)
    return selected
