"""Configurations of admission webhooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.cluster.validation.causes import Causes, duplicate, invalid, not_supported, required
from apps.cluster.validation.selectors import validate_label_selector

Body = Mapping[str, Any]

_VERSIONS: Final = ("v1", "v1beta1")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
#: (field, its values)
_CHOICES: Final = (
    ("failurePolicy", ("Fail", "Ignore")),
    ("matchPolicy", ("Equivalent", "Exact")),
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
    client = webhook.get("clientConfig") or {}
    if (client.get("url") is None) == (client.get("service") is None):
        yield required(f"{path}.clientConfig", "exactly one of url or service is required")
    yield from _versions(webhook.get("admissionReviewVersions"), f"{path}.admissionReviewVersions")


def _versions(versions: Sequence[str] | None, path: str) -> Causes:
    if not versions:
        yield required(path, f"must specify one of {', '.join(_VERSIONS)}")
    elif not set(versions) & set(_VERSIONS):
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
        if field != "resources" and len(values) > 1 and "*" in values:
            kind = "groups" if field == "apiGroups" else "versions"
            detail = f"if '*' is present, must not specify other API {kind}"
            yield invalid(f"{path}.{field}", values, detail)
    scope = rule.get("scope")
    if scope is not None and scope not in _SCOPES:
        yield not_supported(f"{path}.scope", scope, _SCOPES)
