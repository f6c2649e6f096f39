"""The paths of a resource in OpenAPI v3: its operations, their parameters, bodies and responses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from apps.api.kubernetes.resources import Resource
from apps.cluster.kind import Subresource
from apps.cluster.schema import definition_of
from apps.cluster.schema.definitions import Schema

Body = dict[str, Any]

GVK: Final = "x-kubernetes-group-version-kind"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
#: The definition of the body of a PATCH, which may be anything.
PATCH: Final = f"{_META}.Patch"
PATCH_DEFINITION: Final = {"description": "The body of a PATCH.", "type": "object"}
_PATCHES: Final = ("json-patch", "merge-patch", "strategic-merge-patch")
_STREAMED: Final = ("application/json", "application/vnd.kubernetes.protobuf")
_SENT: Final = (*_STREAMED, "application/yaml")
#: Verb of the API -> (method, first word of the operation's id, x-kubernetes-action).
_VERBS: Final = {
    "list": ("get", "list", "list"),
    "get": ("get", "read", "get"),
    "create": ("post", "create", "post"),
    "update": ("put", "replace", "put"),
    "patch": ("patch", "patch", "patch"),
    "delete": ("delete", "delete", "delete"),
    "deletecollection": ("delete", "delete", "deletecollection"),
}
_ON_COLLECTION: Final = ("list", "create", "deletecollection")
_ON_OBJECT: Final = ("get", "update", "patch", "delete")
#: Subresources that are a connection to a node.
_CONNECTIONS: Final = frozenset({"attach", "exec", "portforward", "proxy"})
#: Query parameter -> (type, description).
_SELECTION: Final = {
    "continue": ("string", "The token of a page: the list goes on after it."),
    "fieldSelector": ("string", "Only objects whose fields match."),
    "labelSelector": ("string", "Only objects whose labels match."),
    "limit": ("integer", "How many objects a page has at most."),
    "resourceVersion": ("string", "The version of the list, or where a watch starts."),
    "resourceVersionMatch": ("string", "How resourceVersion is meant: Exact or NotOlderThan."),
    "sendInitialEvents": ("boolean", "A watch first sends the objects that exist."),
    "shardSelector": ("string", "Accepted and ignored."),
    "timeoutSeconds": ("integer", "When the request ends, also a watch."),
}
_WATCH: Final = {
    "allowWatchBookmarks": ("boolean", "The watch may send bookmarks."),
    "watch": ("boolean", "Send the changes of the objects as they happen."),
}
_DRY_RUN: Final = {"dryRun": ("string", "All: check the request and store nothing.")}
_WRITE: Final = {
    **_DRY_RUN,
    "fieldManager": ("string", "The name under which the changed fields are owned."),
    "fieldValidation": ("string", "Ignore, Warn or Strict: what happens to unknown fields."),
}
_FORCE: Final = {"force": ("boolean", "An apply takes fields that others own.")}
_DELETE: Final = {
    **_DRY_RUN,
    "gracePeriodSeconds": ("integer", "How long the object has until it is deleted."),
    "ignoreStoreReadErrorWithClusterBreakingPotential": ("boolean", "Accepted and ignored."),
    "orphanDependents": ("boolean", "Deprecated: propagationPolicy."),
    "propagationPolicy": ("string", "Orphan, Background or Foreground."),
}
_LOG: Final = {
    "container": ("string", "The container; required if the pod has several."),
    "follow": ("boolean", "Send new lines as they are written."),
    "limitBytes": ("integer", "How many bytes are sent at most."),
    "previous": ("boolean", "The lines of the container before its restart."),
    "sinceSeconds": ("integer", "Only lines of the last seconds."),
    "tailLines": ("integer", "Only the last lines."),
    "timestamps": ("boolean", "Each line starts with its time."),
}
_PRETTY: Final = {"pretty": ("string", "true: indented JSON.")}
_PLACES: Final = {
    "name": "The name of the object.",
    "namespace": "The namespace of the object.",
}


def list_name(resource: Resource) -> str:
    """The name of the definition of its lists."""
    prefix, _, _ = resource.definition.rpartition(".")
    return f"{prefix}.{resource.list_kind}" if prefix else resource.list_kind


def list_definition(resource: Resource) -> Schema:
    """The definition of its lists."""
    text = {"type": "string"}
    gvk = {"group": resource.group, "version": resource.version, "kind": resource.list_kind}
    items = {"type": "array", "items": {"default": {}, "allOf": [_ref(resource.definition)]}}
    return {
        "description": f"{resource.list_kind} is a list of {resource.kind.name}.",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": text,
            "items": items,
            "kind": {**text, "enum": [resource.list_kind]},
            "metadata": {"default": {}, "allOf": [_ref(f"{_META}.ListMeta")]},
        },
        GVK: [gvk],
    }


def paths(root: str, resource: Resource) -> Body:
    """Path -> its operations and the parameters that all of them have."""
    base = f"{root}/namespaces/{{namespace}}" if resource.namespaced else root
    collection = f"{base}/{resource.plural}"
    found = {
        collection: _operations(resource, _ON_COLLECTION),
        f"{collection}/{{name}}": _operations(resource, _ON_OBJECT),
    }
    if resource.namespaced and "list" in resource.verbs:
        found[f"{root}/{resource.plural}"] = {"get": _operation(resource, "list", everywhere=True)}
    for sub in resource.subresources:
        found[f"{collection}/{{name}}/{sub.name}"] = {
            _VERBS[verb][0]: _operation_below(resource, sub, verb) for verb in sub.verbs
        }
    return {
        path: {**operations, "parameters": [*_path_parameters(path), *_query(_PRETTY)]}
        for path, operations in found.items()
        if operations
    }


def bindings_path(root: str) -> Body:
    """The path of bindings, which exist only as requests."""
    gvk = {"group": "", "version": "v1", "kind": "Binding"}
    path = f"{root}/namespaces/{{namespace}}/bindings"
    operation = {
        "tags": ["core_v1"],
        "description": "create a Binding",
        "operationId": "createCoreV1NamespacedBinding",
        "x-kubernetes-action": "post",
        GVK: gvk,
    }
    schema = _ref(definition_of("", "v1", "Binding"))
    completed = _complete(operation, "create", schema, {}, is_custom=False)
    return {path: {"post": completed, "parameters": [*_path_parameters(path), *_query(_PRETTY)]}}


def referenced(resource: Resource) -> Iterator[str]:
    """The definitions, besides its lists, that its operations refer to."""
    yield resource.definition
    yield from (f"{_META}.{name}" for name in ("DeleteOptions", "ListMeta", "Status"))
    for sub in resource.subresources:
        name = _definition_below(resource, sub)
        if name:
            yield name


def _operations(resource: Resource, verbs: Iterable[str]) -> Body:
    return {_VERBS[verb][0]: _operation(resource, verb) for verb in verbs if verb in resource.verbs}


def _operation(resource: Resource, verb: str, *, everywhere: bool = False) -> Body:
    kind = resource.kind.name
    scope = "Namespaced" if resource.namespaced and not everywhere else ""
    many = "Collection" if verb == "deletecollection" else ""
    subject = f"{many}{scope}{kind}{'ForAllNamespaces' if everywhere else ''}"
    gvk = {"group": resource.group, "version": resource.version, "kind": kind}
    operation = _begin(resource, verb, subject, gvk)
    schema, parameters = _ref(resource.definition), dict[str, tuple[str, str]]()
    match verb:
        case "list":
            schema, parameters = _ref(list_name(resource)), {**_SELECTION, **_WATCH}
        case "deletecollection":
            schema, parameters = _ref(f"{_META}.Status"), {**_SELECTION, **_DELETE}
        case "delete":
            parameters = _DELETE
            if not resource.kind.returns_deleted:
                schema = _ref(f"{_META}.Status")
    if verb in ("delete", "deletecollection"):
        operation["requestBody"] = _body({"*/*": _ref(f"{_META}.DeleteOptions")}, required=False)
    return _complete(operation, verb, schema, parameters, is_custom=resource.custom is not None)


def _operation_below(resource: Resource, sub: Subresource, verb: str) -> Body:
    gvk = {
        "group": sub.group or resource.group,
        "version": sub.version or resource.version,
        "kind": sub.kind,
    }
    scope = "Namespaced" if resource.namespaced else ""
    subject = f"{scope}{resource.kind.name}{sub.name.capitalize()}"
    operation = _begin(resource, verb, subject, gvk)
    if sub.name in _CONNECTIONS:
        operation["x-kubernetes-action"] = "connect"
    if sub.name == "log":
        operation["parameters"] = _query(_LOG)
    if sub.name in _CONNECTIONS or sub.name == "log":
        content = {"text/plain": {"schema": {"type": "string"}}}
        operation["responses"] = {"200": {"description": "OK", "content": content}, **_REFUSED}
        return operation
    schema = _ref(_definition_below(resource, sub) or resource.definition)
    return _complete(operation, verb, schema, {}, is_custom=resource.custom is not None)


def _definition_below(resource: Resource, sub: Subresource) -> str:
    """The definition of a subresource's objects; empty for a connection."""
    if sub.name in _CONNECTIONS:
        return ""
    if sub.kind == resource.kind.name:
        return resource.definition
    return definition_of(sub.group or resource.group, sub.version or resource.version, sub.kind)


def _begin(resource: Resource, verb: str, subject: str, gvk: Body) -> Body:
    _, first, action = _VERBS[verb]
    group = (resource.group.removesuffix(".k8s.io") or "core").replace("-", ".").split(".")
    called = "".join(part[:1].upper() + part[1:] for part in group)
    version = resource.version[:1].upper() + resource.version[1:]
    identifier = f"{first}{called}{version}{subject}"
    if verb == "deletecollection":
        identifier = f"{first}{called}{version}Collection{subject.removeprefix('Collection')}"
    return {
        "tags": [f"{called[:1].lower()}{called[1:]}_{resource.version}"],
        "description": f"{first} {resource.kind.name}",
        "operationId": identifier,
        "x-kubernetes-action": action,
        GVK: gvk,
    }


_REFUSED: Final = {"401": {"description": "Unauthorized"}}


def _complete(
    operation: Body,
    verb: str,
    schema: Schema,
    parameters: dict[str, tuple[str, str]],
    *,
    is_custom: bool,
) -> Body:
    """The operation with its parameters, its body and its responses."""
    if verb in ("create", "update"):
        parameters = _WRITE
        operation["requestBody"] = _body({"*/*": schema}, required=True)
    elif verb == "patch":
        parameters = {**_WRITE, **_FORCE}
        forms = [form for form in _PATCHES if not (is_custom and form.startswith("strategic"))]
        types = ("application/apply-patch+yaml", *(f"application/{form}+json" for form in forms))
        operation["requestBody"] = _body(dict.fromkeys(types, _ref(PATCH)), required=True)
    if parameters:
        operation["parameters"] = _query(parameters)
    codes = {"create": ("200", "201", "202"), "update": ("200", "201"), "patch": ("200", "201")}
    said = {"200": "OK", "201": "Created", "202": "Accepted"}
    content = {media_type: {"schema": schema} for media_type in _SENT}
    if verb == "list":
        content |= {f"{media_type};stream=watch": {"schema": schema} for media_type in _STREAMED}
    expected = codes.get(verb, ("200", "202") if verb == "delete" else ("200",))
    operation["responses"] = {
        **{code: {"description": said[code], "content": content} for code in expected},
        **_REFUSED,
    }
    return operation


def _body(schemas: dict[str, Any], *, required: bool) -> Body:
    content = {media_type: {"schema": schema} for media_type, schema in schemas.items()}
    return {"content": content, **({"required": True} if required else {})}


def _ref(name: str) -> Body:
    return {"$ref": f"#/components/schemas/{name}"}


def _query(parameters: dict[str, tuple[str, str]]) -> list[Body]:
    return [
        {
            "name": name,
            "in": "query",
            "description": description,
            "schema": {"type": kind, "uniqueItems": True},
        }
        for name, (kind, description) in sorted(parameters.items())
    ]


def _path_parameters(path: str) -> list[Body]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": description,
            "schema": {"type": "string", "uniqueItems": True},
        }
        for name, description in _PLACES.items()
        if f"{{{name}}}" in path
    ]
