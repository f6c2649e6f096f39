"""Validating and mutating admission policies, and their bindings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from apps.cluster.validation.custom_values import RESERVED
from apps.cluster.validation.match_conditions import validate_conditions, validate_expression
from apps.cluster.validation.policy_programs import MUTATIONS, Mutation, programs_of
from apps.cluster.validation.selectors import validate_label_selector
from apps.cluster.validation.webhooks import validate_rule

Body = Mapping[str, Any]

_FAILURE_POLICIES: Final = ("Fail", "Ignore")
_MUTATED: Final = ("*", "CONNECT", "CREATE", "UPDATE")
_REINVOCATIONS: Final = ("IfNeeded", "Never")
_MATCH_POLICIES: Final = ("Equivalent", "Exact")
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
_NOT_FOUND_ACTIONS: Final = ("Deny", "Allow")
_MOST_ANNOTATIONS: Final = 20
_LONGEST_ANNOTATION: Final = 5 * 1024
_IDENTIFIER: Final = re.compile("[_a-zA-Z][_a-zA-Z0-9]*")
_NOTHING: Final = "validations or auditAnnotations must contain at least one item"
_BOTH: Final = (
    "must not contain both Deny and Warn (repeating the same validation failure information in "
    "the API response and headers serves no purpose)"
)
_ONE_OF: Final = "name and selector are mutually exclusive"


def validate_policy(policy: Body) -> Causes:
    """A ValidatingAdmissionPolicy; its expressions must compile."""
    spec = policy.get("spec") or {}
    if spec.get("failurePolicy") not in _FAILURE_POLICIES:
        yield not_supported("spec.failurePolicy", spec.get("failurePolicy"), _FAILURE_POLICIES)
    if "paramKind" in spec:
        yield from _param_kind(spec["paramKind"], "spec.paramKind")
    if "matchConstraints" not in spec:
        yield required("spec.matchConstraints")
    else:
        yield from _match_resources(spec["matchConstraints"], "spec.matchConstraints")
        if not spec["matchConstraints"].get("resourceRules"):
            yield required("spec.matchConstraints.resourceRules")
    yield from _conditions(spec)
    yield from _variables(spec)
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        yield required("spec.validations", _NOTHING)
        yield required("spec.auditAnnotations", _NOTHING)
        return
    yield from _validations(spec)
    yield from _annotations(policy, spec)


def validate_mutating_policy(policy: Body) -> Causes:
    """A MutatingAdmissionPolicy; its expressions must compile."""
    spec = policy.get("spec") or {}
    if spec.get("failurePolicy") not in _FAILURE_POLICIES:
        yield not_supported("spec.failurePolicy", spec.get("failurePolicy"), _FAILURE_POLICIES)
    if "paramKind" in spec:
        yield from _param_kind(spec["paramKind"], "spec.paramKind")
    if "matchConstraints" not in spec:
        yield required("spec.matchConstraints")
    else:
        constraints = spec["matchConstraints"]
        yield from _match_resources(constraints, "spec.matchConstraints")
        rules = constraints.get("resourceRules") or ()
        if not rules:
            yield required("spec.matchConstraints.resourceRules")
        for rule in rules:
            if "DELETE" in (rule.get("operations") or ()):
                field = "spec.matchConstraints.resourceRules.operations"
                yield not_supported(field, "DELETE", _MUTATED)
    yield from _conditions(spec)
    yield from _variables(spec, "must be a valid CEL identifier")
    yield from _mutations(spec)
    reinvocation = spec.get("reinvocationPolicy")
    if not reinvocation:
        yield required("spec.reinvocationPolicy")
    elif reinvocation not in _REINVOCATIONS:
        yield not_supported("spec.reinvocationPolicy", reinvocation, _REINVOCATIONS)


def _mutations(spec: Body) -> Causes:
    mutations = spec.get("mutations") or ()
    if not mutations:
        yield required("spec.mutations", "mutations must contain at least one item")
    compiled = programs_of(spec).mutations
    for index, (given, mutation) in enumerate(zip(mutations, compiled, strict=True)):
        path, patch_type = f"spec.mutations[{index}]", given.get("patchType")
        if not patch_type:
            yield required(f"{path}.patchType")
        elif patch_type not in MUTATIONS:
            yield not_supported(f"{path}.patchType", patch_type, MUTATIONS)
        else:
            yield from _mutation(given, mutation, patch_type, path)


def _mutation(given: Body, mutation: Mutation, patch_type: str, path: str) -> Causes:
    field = MUTATIONS[patch_type][0]
    if given.get(field) is None:
        yield required(f"{path}.{field}", f"must be specified when patchType is {patch_type}")
    elif not mutation.expression.text:
        yield required(f"{path}.{field}.expression")
    else:
        yield from validate_expression(mutation.expression, f"{path}.{field}.expression")
    for other, _ in MUTATIONS.values():
        if other != field and given.get(other) is not None:
            detail = f"must not be specified when patchType is {patch_type}"
            yield invalid(f"{path}.{other}", f"{{{other}}}", detail)


def validate_mutating_binding(binding: Body) -> Causes:
    """A MutatingAdmissionPolicyBinding."""
    yield from _binding(binding.get("spec") or {}, "spec.matchResources")


def validate_policy_binding(binding: Body) -> Causes:
    """A ValidatingAdmissionPolicyBinding."""
    spec = binding.get("spec") or {}
    # the API server's own spelling
    yield from _binding(spec, "spec.matchResouces")
    yield from _actions(spec.get("validationActions") or [], "spec.validationActions")


def _binding(spec: Body, resources: str) -> Causes:
    policy = spec.get("policyName", "")
    if not policy:
        yield required("spec.policyName")
    else:
        yield from all_invalid("spec.policyName", policy, names.dns_subdomain(policy))
    if "paramRef" in spec:
        yield from _param_ref(spec["paramRef"], "spec.paramRef")
    if "matchResources" in spec:
        yield from _match_resources(spec["matchResources"], resources)


def _param_kind(kind: Body, path: str) -> Causes:
    version, name = kind.get("apiVersion", ""), kind.get("kind", "")
    if not version:
        yield required(f"{path}.apiVersion")
    elif version.count("/") > 1:
        detail = f"unexpected GroupVersion string: {version}"
        yield invalid(f"{path}.apiVersion", version, detail)
    elif version.endswith("/"):
        yield invalid(f"{path}.apiVersion", version, "version must be specified")
    if not name:
        yield required(f"{path}.kind")


def _match_resources(resources: Body, path: str) -> Causes:
    if resources.get("matchPolicy") not in _MATCH_POLICIES:
        yield not_supported(f"{path}.matchPolicy", resources.get("matchPolicy"), _MATCH_POLICIES)
    for field in ("namespaceSelector", "objectSelector"):
        yield from validate_label_selector(resources.get(field), f"{path}.{field}")
    for field in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(resources.get(field) or ()):
            at = f"{path}.{field}[{index}]"
            seen: set[str] = set()
            for place, name in enumerate(rule.get("resourceNames") or ()):
                if name in seen:
                    yield duplicate(f"{at}.resourceNames[{place}]", name)
                seen.add(name)
            yield from validate_rule(rule, at)


def _conditions(spec: Body) -> Causes:
    conditions = spec.get("matchConditions") or ()
    compiled = programs_of(spec).conditions
    yield from validate_conditions(conditions, compiled, "spec.matchConditions")


def _variables(spec: Body, wrong_name: str = "name is not a valid CEL identifier") -> Causes:
    compiled = programs_of(spec).variables
    for index, given in enumerate(spec.get("variables") or ()):
        path, name = f"spec.variables[{index}]", given.get("name", "")
        if not name.strip():
            yield required(f"{path}.name", "name is not specified")
        elif not _IDENTIFIER.fullmatch(name) or name in RESERVED:
            yield invalid(f"{path}.name", name, wrong_name)
        if not given.get("expression", "").strip():
            yield required(f"{path}.expression", "expression is not specified")
        else:
            yield from validate_expression(compiled[name], f"{path}.expression")


def _validations(spec: Body) -> Causes:
    checks = programs_of(spec).checks
    for index, (given, check) in enumerate(zip(spec.get("validations") or (), checks, strict=True)):
        path, message = f"spec.validations[{index}]", given.get("message", "")
        if not check.expression.text.strip():
            yield required(f"{path}.expression", "expression is not specified")
        else:
            yield from validate_expression(check.expression, f"{path}.expression")
        text = given.get("messageExpression", "")
        if check.message_expression is not None:
            yield from validate_expression(check.message_expression, f"{path}.messageExpression")
        elif text:
            yield invalid(f"{path}.messageExpression", text, "must be non-empty if specified")
        if message and not message.strip():
            yield invalid(f"{path}.message", message, "message must be non-empty if specified")
        elif "\n" in message.strip() or "\r" in message.strip():
            yield invalid(f"{path}.message", message, "message must not contain line breaks")
        if given.get("reason") not in (None, *_REASONS):
            yield not_supported(f"{path}.reason", given["reason"], _REASONS)


def _annotations(policy: Body, spec: Body) -> Causes:
    given = spec.get("auditAnnotations") or ()
    if len(given) > _MOST_ANNOTATIONS:
        detail = f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
        yield invalid("spec.auditAnnotations", given, detail)
    seen: set[str] = set()
    for index, (key, expression) in enumerate(programs_of(spec).annotations):
        path = f"spec.auditAnnotations[{index}]"
        full = f"{policy['metadata'].get('name', '')}/{key}"
        yield from all_invalid(f"{path}.key", full, names.qualified_name(full))
        if not expression.text:
            yield required(f"{path}.valueExpression", "valueExpression is not specified")
        elif len(expression.text) > _LONGEST_ANNOTATION:
            detail = f"must not exceed {_LONGEST_ANNOTATION} bytes in length"
            yield required(f"{path}.valueExpression", detail)
        else:
            yield from validate_expression(expression, f"{path}.valueExpression")
        if key in seen:
            yield duplicate(f"{path}.key", key)
        seen.add(key)


def _param_ref(reference: Body, path: str) -> Causes:
    name, selector = reference.get("name", ""), reference.get("selector")
    if name and selector is not None:
        yield forbidden(f"{path}.name", _ONE_OF)
    if selector is not None:
        yield from validate_label_selector(selector, f"{path}.selector")
        if name:
            yield forbidden(f"{path}.selector", _ONE_OF)
    if not name and selector is None:
        yield required(path, "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction")
    if not action:
        yield required(f"{path}.parameterNotFoundAction")
    elif action not in _NOT_FOUND_ACTIONS:
        yield not_supported(f"{path}.parameterNotFoundAction", action, _NOT_FOUND_ACTIONS)


def _actions(actions: list[str], path: str) -> Causes:
    seen: set[str] = set()
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            yield not_supported(f"{path}[{index}]", action, _ACTIONS)
        if action in seen:
            yield duplicate(f"{path}[{index}]", action)
        seen.add(action)
    if {"Deny", "Warn"} <= seen:
        yield invalid(path, actions, _BOTH)
    if not seen:
        yield required(path, "at least one validation action is required")
