"""CustomResourceDefinitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from apps.cluster.schema.go_types import internal
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
from apps.cluster.validation.custom_rules import steps_of
from apps.cluster.validation.custom_schemas import validate_schema
from apps.cluster.validation.webhook_clients import validate_client

Body = Mapping[str, Any]

_SCOPES: Final = ("Cluster", "Namespaced")
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = (
    *("byte", "date", "date-time", "double", "float", "int32", "int64", "password"),
)
_COLUMN_TYPE: Final = f"must be one of {','.join(_COLUMN_TYPES)}"
_ONE_STORED: Final = "must have exactly one version marked as storage version"
_COMPARED: Final = ("boolean", "integer", "string")
_NOT_COMPARED: Final = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with "
    "formats are allowed."
)
_SIMPLE: Final = "must be a simple json path starting with ."
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
    elif problems := names.dns_subdomain(group):
        yield from all_invalid("spec.group", group, problems)
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")
    if spec.get("scope") not in _SCOPES:
        cause = not_supported if spec.get("scope") else None
        yield cause("spec.scope", spec["scope"], _SCOPES) if cause else required("spec.scope")
    if spec.get("preserveUnknownFields"):
        yield invalid("spec.preserveUnknownFields", True, _NOT_PRESERVED)
        if any(_has_default(_schema_of(each)) for each in spec.get("versions") or ()):
            detail = "must be false in order to use defaults in the schema"
            yield invalid("spec.preserveUnknownFields", True, detail)
    versions = spec.get("versions") or []
    yield from _versions(versions, is_given=spec.get("versions") is not None)
    yield from _names(given)
    yield from _shared_parts(versions)
    yield from _conversion(spec.get("conversion") or {}, "spec.conversion")


def _has_default(schema: Any) -> bool:
    if isinstance(schema, list):
        return any(map(_has_default, schema))
    if not isinstance(schema, Mapping):
        return False
    inner = (each for name, each in schema.items() if name != "properties")
    fields = schema.get("properties") or {}
    return schema.get("default") is not None or any(map(_has_default, (*inner, *fields.values())))


def _shown(versions: Sequence[Body]) -> list[Body]:
    """The versions as messages show them, without the parts that all of them have."""
    all_shown = internal("apiextensions.CustomResourceDefinitionVersion", versions)
    shared = [
        name
        for name in ("Schema", "AdditionalPrinterColumns", "Subresources", "SelectableFields")
        if all(each[name] == all_shown[0][name] for each in all_shown)
    ]
    return [{**each, **dict.fromkeys(shared)} for each in all_shown]


def _names(given: Body) -> Causes:
    for field in ("plural", "singular", "kind", "listKind"):
        name, at = given.get(field), f"spec.names.{field}"
        if not name:
            yield required(at)
            continue
        mixed = field in ("kind", "listKind")
        for problem in names.service_label(name.lower() if mixed else name):
            said = "may have mixed case, but should otherwise match: " if mixed else ""
            yield invalid(at, name, f"{said}{problem}")
    for field in ("shortNames", "categories"):
        for index, name in enumerate(given.get(field) or ()):
            at = f"spec.names.{field}[{index}]"
            yield from all_invalid(at, name, names.service_label(name))


def validate_new_definition(body: Body) -> Causes:
    """Rules for new definitions alone: updates cannot change what they check."""
    spec, name = body["spec"], body["metadata"].get("name", "")
    if name and name != f"{(spec.get('names') or {}).get('plural', '')}.{spec.get('group', '')}":
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


def _versions(versions: list[Body], *, is_given: bool) -> Causes:
    """The versions, and what of their parts is not the same in all of them."""
    for index, version in enumerate(versions):
        path, name = f"spec.versions[{index}]", version.get("name", "")
        yield from all_invalid(f"{path}.name", name, names.service_label(name))
        if version.get("deprecationWarning") and not version.get("deprecated"):
            detail = "can only be set for deprecated versions"
            yield invalid(f"{path}.deprecationWarning", version["deprecationWarning"], detail)
        schema = _schema_of(version)
        if schema is None:
            yield required(f"{path}.schema.openAPIV3Schema")
        elif not _is_shared(versions, "schema"):
            yield from validate_schema(schema, f"{path}.schema.openAPIV3Schema")
        for part, validate_part in _PARTS.items():
            if not _is_shared(versions, part):
                yield from validate_part(version, path)
    shown = _shown(versions) if is_given else None
    if len({each.get("name") for each in versions}) < len(versions):
        yield invalid("spec.versions", shown, "must contain unique version names")
    if sum(bool(each.get("storage")) for each in versions) != 1:
        yield invalid("spec.versions", shown, _ONE_STORED)
        yield invalid("status.storedVersions", None, "must have at least one stored version")
    if versions and versions[0].get("name"):
        # the field of the first version in the API server's own type
        name = versions[0]["name"]
        yield from all_invalid("spec.version", name, names.service_label(name))


def _shared_parts(versions: list[Body]) -> Causes:
    """What is the same in all versions has a place of its own in the API server."""
    schema = _schema_of(versions[0]) if versions else None
    if schema is not None and _is_shared(versions, "schema"):
        yield from validate_schema(schema, "spec.validation.openAPIV3Schema")
    for part, validate_part in _PARTS.items():
        if versions and _is_shared(versions, part):
            yield from validate_part(versions[0], "spec")


def _is_shared(versions: list[Body], part: str) -> bool:
    return all(each.get(part) == versions[0].get(part) for each in versions)


def _schema_of(version: Body) -> Body | None:
    schema: Body | None = (version.get("schema") or {}).get("openAPIV3Schema")
    return schema


def _columns(version: Body, path: str) -> Causes:
    for number, column in enumerate(version.get("additionalPrinterColumns") or ()):
        at = f"{path}.additionalPrinterColumns[{number}]"
        given = column.get("jsonPath", "")
        if not given:
            yield required(f"{at}.JSONPath")
        elif not given.startswith("."):
            yield invalid(f"{at}.JSONPath", given, _SIMPLE)
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


def _scale(version: Body, path: str) -> Causes:
    """Paths of `scale` lead to fields of the spec and of the status."""
    scale = (version.get("subresources") or {}).get("scale")
    if scale is None:
        return
    for field, roots in (
        ("specReplicasPath", (".spec",)),
        ("statusReplicasPath", (".status",)),
        ("labelSelectorPath", (".spec", ".status")),
    ):
        at, given = f"{path}.subresources.scale.{field}", scale.get(field) or ""
        if not given:
            if len(roots) == 1:
                yield required(at)
        elif not given.startswith("."):
            yield invalid(at, given, _SIMPLE)
        elif not given.startswith(tuple(f"{root}." for root in roots)):
            under = roots[0] if len(roots) == 1 else f"either {' or '.join(roots)}"
            yield invalid(at, given, f"should be a json path under {under}")


def _selectable(version: Body, path: str) -> Causes:
    """Fields by which objects are selected exist, and can be compared."""
    schema = _schema_of(version) or {}
    seen = set()
    for index, field in enumerate(version.get("selectableFields") or ()):
        at, given = f"{path}.selectableFields[{index}].jsonPath", field.get("jsonPath") or ""
        if not given:
            yield required(at)
            continue
        steps = steps_of(given)
        if steps is None and not given.startswith((".", "[")):
            first = given.partition(".")[0]
            yield invalid(at, given, f"is an invalid path: expected [ or . but got: {first}")
            continue
        field_schema: Any = schema
        for step in steps or ("",):
            field_schema = (field_schema.get("properties") or {}).get(step)
            if not isinstance(field_schema, Mapping):
                break
        if not isinstance(field_schema, Mapping) or (steps or [""])[0] == "metadata":
            yield invalid(at, given, "is an invalid path: does not refer to a valid field")
            continue
        if field_schema.get("type") not in _COMPARED:
            yield invalid(at, given, _NOT_COMPARED)
        if given in seen:
            yield duplicate(at, given)
        seen.add(given)


#: Parts of a version that may be the same in all of them.
_PARTS: Final = {
    "additionalPrinterColumns": _columns,
    "subresources": _scale,
    "selectableFields": _selectable,
}


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
