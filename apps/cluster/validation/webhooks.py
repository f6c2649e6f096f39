"""Configurations of admission webhooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    duplicate,
    invalid,
    not_supported,
    required,
)
from apps.cluster.validation.match_conditions import validate_conditions
from apps.cluster.validation.policy_programs import conditions_of
from apps.cluster.validation.selectors import validate_label_selector
from apps.cluster.validation.webhook_clients import validate_client

Body = Mapping[str, Any]

_VERSIONS: Final = ("v1", "v1beta1")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
#: (field, its values)
_CHOICES: Final = (
    ("failurePolicy", ("Fail", "Ignore")),
    ("matchPolicy", ("Equivalent", "Exact")),
    ("reinvocationPolicy", ("IfNeeded", "Never")),
    ("sideEffects", ("None", "NoneOnDryRun")),
)
_FEW_SEGMENTS: Final = "should be a domain with at least three segments separated by dots"


def validate_webhooks(configuration: Body) -> Causes:
    """A ValidatingWebhookConfiguration or a MutatingWebhookConfiguration."""
    seen: set[str] = set()
    for index, webhook in enumerate(configuration.get("webhooks") or ()):
        path, name = f"webhooks[{index}]", webhook.get("name", "")
        yield from _webhook(webhook, path)
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)


def _webhook(webhook: Body, path: str) -> Causes:
    name = webhook.get("name", "")
    if not name:
        yield required(f"{path}.name")
    elif details := names.dns_subdomain(name):
        yield from all_invalid(f"{path}.name", name, details)
    elif name.count(".") < 2:
        yield invalid(f"{path}.name", name, _FEW_SEGMENTS)
    for index, rule in enumerate(webhook.get("rules") or ()):
        yield from validate_rule(rule, f"{path}.rules[{index}]")
    for field, supported in _CHOICES:
        value = webhook.get(field)
        if field == "sideEffects" and value is None:
            yield required(f"{path}.{field}", f"must specify one of {', '.join(supported)}")
        elif value is not None and value not in supported:
            yield not_supported(f"{path}.{field}", value, supported)
    seconds = webhook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        detail = "the timeout value must be between 1 and 30 seconds"
        yield invalid(f"{path}.timeoutSeconds", seconds, detail)
    for field in ("namespaceSelector", "objectSelector"):
        yield from validate_label_selector(webhook.get(field), f"{path}.{field}")
    yield from validate_client(webhook.get("clientConfig") or {}, f"{path}.clientConfig")
    yield from validate_review_versions(
        webhook.get("admissionReviewVersions"), f"{path}.admissionReviewVersions"
    )
    conditions = webhook.get("matchConditions") or ()
    yield from validate_conditions(conditions, conditions_of(webhook), f"{path}.matchConditions")


def validate_review_versions(versions: Sequence[str] | None, path: str) -> Causes:
    """The versions of reviews that a webhook understands."""
    if not versions:
        yield required(path, f"must specify one of {', '.join(_VERSIONS)}")
        return
    seen: set[str] = set()
    for index, version in enumerate(versions):
        if version in seen:
            yield invalid(f"{path}[{index}]", version, "duplicate version")
        else:
            yield from all_invalid(f"{path}[{index}]", version, names.service_label(version))
        seen.add(version)
    if not seen & set(_VERSIONS):
        yield invalid(path, versions, f"must include at least one of {', '.join(_VERSIONS)}")


def validate_rule(rule: Body, path: str) -> Causes:
    """Which requests a webhook or a policy is about."""
    operations = rule.get("operations") or ()
    if not operations:
        yield required(f"{path}.operations")
    if len(operations) > 1 and "*" in operations:
        detail = "if '*' is present, must not specify other operations"
        yield invalid(f"{path}.operations", operations, detail)
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            yield not_supported(f"{path}.operations[{index}]", operation, _OPERATIONS)
    for field in ("apiGroups", "apiVersions", "resources"):
        values = rule.get(field) or ()
        if not values:
            yield required(f"{path}.{field}")
        if field != "apiGroups":
            for index, value in enumerate(values):
                if not value:
                    yield required(f"{path}.{field}[{index}]")
        if field != "resources" and len(values) > 1 and "*" in values:
            kind = "groups" if field == "apiGroups" else "versions"
            detail = f"if '*' is present, must not specify other API {kind}"
            yield invalid(f"{path}.{field}", values, detail)
    yield from _resources(rule.get("resources") or (), f"{path}.resources")
    scope = rule.get("scope")
    if scope is not None and scope not in _SCOPES:
        yield not_supported(f"{path}.scope", scope, _SCOPES)


def _resources(resources: Sequence[str], path: str) -> Causes:
    """A resource may not be named twice, by itself and by what stands for many."""
    whole: set[str] = set()
    parts: set[str] = set()
    for index, each in enumerate(resources):
        resource, slash, part = each.partition("/")
        if slash and (wider := {f"{resource}/*", f"*/{part}"} & (whole | parts) - {each}):
            detail = f"if '{min(wider)}' is present, must not specify {each}"
            yield invalid(f"{path}[{index}]", each, detail)
        (whole if part == "*" else parts).add(each)
    if len(resources) > 1 and "*/*" in resources:
        detail = "if '*/*' is present, must not specify other resources"
        yield invalid(path, resources, detail)
    elif "*" in resources and sum("/" not in each for each in resources) > 1:
        detail = "if '*' is present, must not specify other resources without subresources"
        yield invalid(path, resources, detail)
