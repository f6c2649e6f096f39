"""CustomResourceDefinitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from apps.cel import regexes
from apps.cel.effort import CostExceeded
from apps.cluster.schema.go_types import internal
from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    forbidden,
    invalid,
    not_supported,
    required,
)
from apps.cluster.validation.custom_costs import count_inside
from apps.cluster.validation.custom_rules import TOO_LONG, Budget, find_faults
from apps.cluster.validation.webhook_clients import validate_client

Body = Mapping[str, Any]

_SCOPES: Final = ("Cluster", "Namespaced")
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = (
    *("byte", "date", "date-time", "double", "float", "int32", "int64", "password"),
)
_COLUMN_TYPE: Final = f"must be one of {','.join(_COLUMN_TYPES)}"
_ONE_STORED: Final = "must have exactly one version marked as storage version"
_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_IMMUTABLE: Final = "field is immutable"
_APPROVED: Final = "api-approved.kubernetes.io"
_PROTECTED: Final = (".k8s.io", ".kubernetes.io")
_APPROVAL: Final = f'protected groups must have approval annotation "{_APPROVED}"'
_ABOUT_APPROVAL: Final = "see https://github.com/kubernetes/enhancements/pull/1111"
_NOT_PRESERVED: Final = (
    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
    "spec.versions[*].schema instead"
)
_STRATEGIES: Final = ("None", "Webhook")
_REVIEWS: Final = ("v1", "v1beta1")


def validate_definition(body: Body) -> Causes:
    """A CustomResourceDefinition with structural schemas."""
    spec = body["spec"]
    group, given = spec.get("group", ""), spec.get("names") or {}
    if not group:
        yield required("spec.group")
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")
    else:
        yield from all_invalid("spec.group", group, names.dns_subdomain(group))
    if spec.get("scope") not in _SCOPES:
        cause = not_supported if spec.get("scope") else None
        yield cause("spec.scope", spec["scope"], _SCOPES) if cause else required("spec.scope")
    if spec.get("preserveUnknownFields"):
        yield invalid("spec.preserveUnknownFields", True, _NOT_PRESERVED)
    versions = spec.get("versions") or []
    yield from _versions(versions)
    for field in ("plural", "singular", "kind", "listKind"):
        if not given.get(field):
            yield required(f"spec.names.{field}")
    yield from _shared_parts(versions)
    yield from _conversion(spec.get("conversion") or {}, "spec.conversion")


def validate_new_definition(body: Body) -> Causes:
    """Rules for new definitions alone: updates cannot change what they check."""
    spec, name = body["spec"], body["metadata"].get("name", "")
    if name != f"{(spec.get('names') or {}).get('plural', '')}.{spec.get('group', '')}":
        yield invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    yield from validate_approval(body)


def _conversion(conversion: Body, path: str) -> Causes:
    """How objects are converted; the paths are those of the API server's internal version."""
    strategy, webhook = conversion.get("strategy"), conversion.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions")
    at_client, at_versions = f"{path}.webhookClientConfig", f"{path}.conversionReviewVersions"
    if strategy not in _STRATEGIES:
        yield not_supported(f"{path}.strategy", strategy, _STRATEGIES)
        return
    if strategy != "Webhook":
        for value, at in ((client, at_client), (versions, at_versions)):
            if value:
                yield forbidden(at, "should not be set when strategy is not set to Webhook")
        return
    if client is None:
        yield required(at_client, "required when strategy is set to Webhook")
    else:
        yield from validate_client(client, at_client)
    if not versions:
        yield required(at_versions)
    elif not set(versions) & set(_REVIEWS):
        detail = f"must include at least one of {', '.join(_REVIEWS)}"
        yield invalid(at_versions, versions, detail)


def validate_approval(body: Body) -> Causes:
    """A group of the Kubernetes community needs an annotation that says who approved the API."""
    if not f".{body['spec'].get('group', '')}".endswith(_PROTECTED):
        return
    given = _approval(body)
    field = f"metadata.annotations[{_APPROVED}]"
    if not given:
        yield required(field, f"{_APPROVAL}, {_ABOUT_APPROVAL}")
    elif not given.startswith("unapproved") and not all(urlsplit(given)[:2]):
        reasons = 'with either a URL or a reason starting with "unapproved"'
        yield invalid(field, given, f"{_APPROVAL} {reasons}, {_ABOUT_APPROVAL}")


def _approval(body: Body) -> str:
    return str((body["metadata"].get("annotations") or {}).get(_APPROVED, ""))


def _versions(versions: list[Body]) -> Causes:
    """The versions, and what of their parts is not the same in all of them."""
    for index, version in enumerate(versions):
        path, name = f"spec.versions[{index}]", version.get("name", "")
        yield from all_invalid(f"{path}.name", name, names.dns_label(name))
        schema = _schema_of(version)
        if schema is None:
            yield required(f"{path}.schema.openAPIV3Schema")
        elif not _is_shared(versions, "schema"):
            yield from _schema(schema, f"{path}.schema.openAPIV3Schema")
        if not _is_shared(versions, "additionalPrinterColumns"):
            yield from _columns(version, path)
    if sum(bool(each.get("storage")) for each in versions) != 1:
        shown = [
            {**each, "Schema": None, "AdditionalPrinterColumns": None}
            for each in internal("apiextensions.CustomResourceDefinitionVersion", versions)
        ]
        yield invalid("spec.versions", shown or None, _ONE_STORED)


def _shared_parts(versions: list[Body]) -> Causes:
    """What is the same in all versions has a place of its own in the API server."""
    schema = _schema_of(versions[0]) if versions else None
    if schema is not None and _is_shared(versions, "schema"):
        yield from _schema(schema, "spec.validation.openAPIV3Schema")
    if versions and _is_shared(versions, "additionalPrinterColumns"):
        yield from _columns(versions[0], "spec")


def _is_shared(versions: list[Body], part: str) -> bool:
    return all(each.get(part) == versions[0].get(part) for each in versions)


def _schema_of(version: Body) -> Body | None:
    schema: Body | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return schema


def _schema(schema: Body, path: str) -> Causes:
    budget = Budget()
    yield from _structural(schema, path, budget, 1, root=True)
    yield from budget.check(path)


def _columns(version: Body, path: str) -> Causes:
    for number, column in enumerate(version.get("additionalPrinterColumns") or ()):
        at = f"{path}.additionalPrinterColumns[{number}]"
        given = column.get("jsonPath", "")
        if not given:
            yield required(f"{at}.JSONPath")
        elif not given.startswith("."):
            yield invalid(f"{at}.JSONPath", given, "must be a simple json path starting with .")
        if not column.get("name"):
            yield required(f"{at}.name")
        form = column.get("format", "")
        if form and form not in _COLUMN_FORMATS:
            detail = f"must be one of {','.join(_COLUMN_FORMATS)}"
            yield invalid(f"{at}.format", form, detail)
        kind = column.get("type", "")
        if not kind:
            yield required(f"{at}.type", _COLUMN_TYPE)
        elif kind not in _COLUMN_TYPES:
            yield invalid(f"{at}.type", kind, _COLUMN_TYPE)


def _structural(
    schema: Body,
    path: str,
    budget: Budget,
    count: int | None,
    *,
    root: bool = False,
    place: str = "object fields",
) -> Causes:
    """A schema specifies the type of every value, unless it says that anything may be there."""
    given = schema.get("type", "")
    is_free = schema.get("x-kubernetes-int-or-string") or schema.get(
        "x-kubernetes-preserve-unknown-fields"
    )
    if root and given != "object":
        yield invalid(f"{path}.type", given, "must be object at the root")
    elif not given and not is_free:
        yield required(f"{path}.type", f"must not be empty for specified {place}")
    elif given and given not in _TYPES:
        yield not_supported(f"{path}.type", given, _TYPES)
    yield from find_faults(schema, path, budget, count, root=root)
    yield from _patterns(schema, path, budget)
    if given == "array" and not isinstance(schema.get("items"), Mapping):
        yield required(f"{path}.items", "must be specified")
    for name, each in (schema.get("properties") or {}).items():
        if not (root and name == "metadata"):
            yield from _structural(each, f"{path}.properties[{name}]", budget, count)
    for part in ("items", "additionalProperties"):
        if isinstance(schema.get(part), Mapping):
            inner = count_inside(schema, count)
            place = "array items" if part == "items" else "object fields"
            yield from _structural(schema[part], f"{path}.{part}", budget, inner, place=place)


def _patterns(schema: Body, path: str, budget: Budget) -> Causes:
    """The pattern of a schema, and those of its combinations, are regular expressions of Go."""
    pattern = schema.get("pattern")
    if pattern and (problem := _problem_of(pattern, budget)):
        reason = f"must be a valid regular expression, but isn't: {problem}"
        yield invalid(f"{path}.pattern", pattern, reason)
    for part in ("allOf", "anyOf", "oneOf"):
        for number, each in enumerate(schema.get(part) or ()):
            yield from _combined_patterns(each, f"{path}.{part}[{number}]", budget)
    if schema.get("not"):
        yield from _combined_patterns(schema["not"], f"{path}.not", budget)


def _combined_patterns(schema: Body, path: str, budget: Budget) -> Causes:
    yield from _patterns(schema, path, budget)
    for name, each in (schema.get("properties") or {}).items():
        yield from _combined_patterns(each, f"{path}.properties[{name}]", budget)
    for part in ("items", "additionalProperties"):
        if isinstance(schema.get(part), Mapping):
            yield from _combined_patterns(schema[part], f"{path}.{part}", budget)


def _problem_of(pattern: str, budget: Budget) -> str:
    if budget.spent:
        return ""
    try:
        return regexes.problem_of(pattern)
    except CostExceeded:
        budget.spent = True
        return TOO_LONG


def validate_stored_versions(body: Body, old: Body) -> Causes:
    """A version remains as long as objects may be stored in it."""
    names = [each.get("name") for each in body["spec"].get("versions") or ()]
    for index, name in enumerate((body.get("status") or {}).get("storedVersions") or ()):
        if name not in names:
            yield invalid(f"status.storedVersions[{index}]", name, _STILL_STORED.format(name))


_STILL_STORED: Final = (
    "missing from spec.versions; {0} was previously a storage version, and must remain in "
    "spec.versions until a storage migration ensures no data remains persisted in {0} and removes "
    "{0} from status.storedVersions"
)


def validate_definition_update(body: Body, old: Body) -> Causes:
    """The names of a definition that is established are fixed."""
    yield from validate_stored_versions(body, old)
    if _approval(body) != _approval(old):
        yield from validate_approval(body)
    for field in ("scope", "group"):
        if body["spec"].get(field) != old["spec"].get(field):
            yield invalid(f"spec.{field}", body["spec"].get(field), _IMMUTABLE)
    for field in ("kind", "plural"):
        value = (body["spec"].get("names") or {}).get(field)
        if value != old["spec"]["names"].get(field):
            yield invalid(f"spec.names.{field}", value, _IMMUTABLE)
