"""The paths of a resource in OpenAPI v3: its operations, their parameters, bodies and responses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from apps.api.kubernetes.resources import Resource
from apps.cluster.kind import Subresource
from apps.cluster.schema import definition_of
from apps.cluster.schema.definitions import Schema

Body = dict[str, Any]

GVK: Final = "x-kubernetes-group-version-kind"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
#: The definition of the body of a PATCH, which may be anything.
PATCH: Final = f"{_META}.Patch"
#: The definitions of an event of a watch, and of the list of resources.
WATCH_EVENT: Final = f"{_META}.WatchEvent"
RESOURCE_LIST: Final = f"{_META}.APIResourceList"
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
#: Parameter -> its type and description in the release; a verb may have others.
_PARAMETERS: Final[dict[str, Any]] = msgspec.json.decode(
    Path(__file__).with_name("parameters.json").read_bytes()
)
_SELECTION: Final = (
    *("continue", "fieldSelector", "labelSelector", "limit", "resourceVersion"),
    *("resourceVersionMatch", "sendInitialEvents", "shardSelector", "timeoutSeconds"),
)
_WATCH: Final = ("allowWatchBookmarks", "watch")
_WRITE: Final = ("dryRun", "fieldManager", "fieldValidation")
_DELETE: Final = (
    *("dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential"),
    *("orphanDependents", "propagationPolicy"),
)
_LOG: Final = (
    *("container", "follow", "insecureSkipTLSVerifyBackend", "limitBytes", "previous"),
    *("sinceSeconds", "stream", "tailLines", "timestamps"),
)
#: Verb -> the first words of its description.
_DESCRIPTIONS: Final = {
    "list": "list or watch objects of kind",
    "get": "read the specified",
    "create": "create",
    "update": "replace the specified",
    "patch": "partially update the specified",
    "delete": "delete",
    "deletecollection": "delete collection of",
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
    documented = {
        collection: _operations(resource, _ON_COLLECTION),
        f"{collection}/{{name}}": _operations(resource, _ON_OBJECT),
    }
    if resource.namespaced and "list" in resource.verbs:
        documented[f"{root}/{resource.plural}"] = {
            "get": _operation(resource, "list", everywhere=True)
        }
    for sub in resource.subresources:
        documented[f"{collection}/{{name}}/{sub.name}"] = {
            _VERBS[verb][0]: _operation_below(resource, sub, verb) for verb in sub.verbs
        }
    if resource.custom is None and "watch" in resource.verbs:
        documented |= _watch_paths(root, resource)
    named = {f"{collection}/{{name}}/{sub.name}": sub.kind for sub in resource.subresources}
    return {
        path: _shared(path, each, named.get(path, resource.kind.name))
        for path, each in documented.items()
        if each
    }


def _watch_paths(root: str, resource: Resource) -> dict[str, Body]:
    """The paths of watches that are older than the parameter `watch`."""
    kind, plural = resource.kind.name, resource.plural
    deprecated = "deprecated: use the 'watch' parameter with a list operation instead"
    many = f"watch individual changes to a list of {kind}. {deprecated}."
    one = (
        f"watch changes to an object of kind {kind}. {deprecated}, filtered to a single item "
        "with the 'fieldSelector' parameter."
    )
    base = f"{root}/watch/namespaces/{{namespace}}" if resource.namespaced else f"{root}/watch"
    scope = "Namespaced" if resource.namespaced else ""
    wanted = [(f"{base}/{plural}", f"{scope}{kind}List", "watchlist", many)]
    if "get" in resource.verbs:
        wanted.append((f"{base}/{plural}/{{name}}", f"{scope}{kind}", "watch", one))
    if resource.namespaced:
        everywhere = f"{kind}ListForAllNamespaces"
        wanted.append((f"{root}/watch/{plural}", everywhere, "watchlist", many))
    gvk = {"group": resource.group, "version": resource.version, "kind": kind}
    documented: dict[str, Body] = {}
    for path, subject, action, description in wanted:
        begun = _begin(resource, "list", subject, gvk)
        identifier = begun["operationId"].replace("list", "watch", 1)
        said = {"operationId": identifier, "description": description}
        operation = {**begun, **said, "x-kubernetes-action": action}
        selection = (*_SELECTION, *_WATCH)
        documented[path] = {
            "get": _complete(operation, "list", _ref(WATCH_EVENT), selection, is_custom=False)
        }
    return documented


def resources_path(root: str, group: str, version: str) -> Body:
    """The path of the list of resources of a group and version."""
    tag, called = _tag(group, version)
    content = {media_type: {"schema": _ref(RESOURCE_LIST)} for media_type in _SENT}
    operation = {
        "tags": [tag],
        "description": "get available resources",
        "operationId": f"get{called}APIResources",
        "responses": {"200": {"description": "OK", "content": content}, **_REFUSED},
    }
    return {f"{root}/": {"get": operation}}


def _shared(path: str, operations: Body, kind: str) -> Body:
    """The operations of a path, without the parameters that all of them have, and these."""
    every = [operation.get("parameters", []) for operation in operations.values()]
    common = [each for each in every[0] if all(each in others for others in every)]
    shared: Body = {}
    for method, operation in operations.items():
        own = [each for each in operation.get("parameters", []) if each not in common]
        shared[method] = {name: each for name, each in operation.items() if name != "parameters"}
        if own:
            shared[method]["parameters"] = own
    parameters = [*common, *_path_parameters(path, kind), *_query(("pretty",))]
    return {**shared, "parameters": sorted(parameters, key=lambda each: str(each["name"]))}


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
    completed = _complete(operation, "create", schema, (), is_custom=False)
    return {path: _shared(path, {"post": completed}, "Binding")}


def referenced(resource: Resource) -> Iterator[str]:
    """The definitions, besides its lists, that its operations refer to."""
    yield resource.definition
    if "list" in resource.verbs:
        yield f"{_META}.ListMeta"
    if "delete" in resource.verbs:
        yield from (f"{_META}.{name}" for name in ("DeleteOptions", "Patch", "Status"))
    if resource.custom is None:
        yield RESOURCE_LIST
        if "watch" in resource.verbs:
            yield WATCH_EVENT
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
    schema, parameters = _ref(resource.definition), tuple[str, ...]()
    match verb:
        case "list":
            schema, parameters = _ref(list_name(resource)), (*_SELECTION, *_WATCH)
        case "deletecollection":
            schema, parameters = _ref(f"{_META}.Status"), (*_SELECTION, *_DELETE)
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
    operation = _begin(resource, verb, subject, gvk, sub.name)
    if sub.name in _CONNECTIONS:
        operation["x-kubernetes-action"] = "connect"
    if sub.name == "log":
        operation["parameters"] = _query(_LOG)
    if sub.name in _CONNECTIONS or sub.name == "log":
        content = {"text/plain": {"schema": {"type": "string"}}}
        operation["responses"] = {"200": {"description": "OK", "content": content}, **_REFUSED}
        return operation
    schema = _ref(_definition_below(resource, sub) or resource.definition)
    return _complete(operation, verb, schema, (), is_custom=resource.custom is not None)


def _definition_below(resource: Resource, sub: Subresource) -> str:
    """The definition of a subresource's objects; empty for a connection."""
    if sub.name in _CONNECTIONS:
        return ""
    if sub.kind == resource.kind.name:
        return resource.definition
    return definition_of(sub.group or resource.group, sub.version or resource.version, sub.kind)


def _described(resource: Resource, verb: str, part: str) -> str:
    """What an operation does, in the words of the API server; `part` is a subresource."""
    kind = resource.kind.name
    words = _DESCRIPTIONS[verb]
    if verb == "list" and (resource.custom is not None or "watch" not in resource.verbs):
        words = "list objects of kind"
    if part:
        words = (
            f"create {part} of a" if verb == "create" else words.replace("the", f"{part} of the")
        )
    elif verb in ("create", "delete"):
        # nouns in the plural have no article
        is_plural = kind.endswith("s") and not kind.endswith("ss")
        article = "" if is_plural else " an" if kind[0] in "AEIOU" else " a"
        words = f"{verb}{article}"
    return f"{words} {kind}"


def _tag(group: str, version: str) -> tuple[str, str]:
    """The tag of the operations of a group and version, and what their ids say of it."""
    parts = (group.removesuffix(".k8s.io") or "core").replace("-", ".").split(".")
    called = "".join(part[:1].upper() + part[1:] for part in parts)
    tag = f"{called[:1].lower()}{called[1:]}_{version}"
    return tag, f"{called}{version[:1].upper()}{version[1:]}"


def _begin(resource: Resource, verb: str, subject: str, gvk: Body, part: str = "") -> Body:
    _, first, action = _VERBS[verb]
    tag, called = _tag(resource.group, resource.version)
    identifier = f"{first}{called}{subject}"
    if verb == "deletecollection":
        identifier = f"{first}{called}Collection{subject.removeprefix('Collection')}"
    return {
        "tags": [tag],
        "description": _described(resource, verb, part),
        "operationId": identifier,
        "x-kubernetes-action": action,
        GVK: gvk,
    }


_REFUSED: Final = {"401": {"description": "Unauthorized"}}


def _complete(
    operation: Body,
    verb: str,
    schema: Schema,
    parameters: tuple[str, ...],
    *,
    is_custom: bool,
) -> Body:
    """The operation with its parameters, its body and its responses."""
    if verb in ("create", "update"):
        parameters = _WRITE
        operation["requestBody"] = _body({"*/*": schema}, required=True)
    elif verb == "patch":
        parameters = (*_WRITE, "force")
        forms = [form for form in _PATCHES if not (is_custom and form.startswith("strategic"))]
        types = ("application/apply-patch+yaml", *(f"application/{form}+json" for form in forms))
        operation["requestBody"] = _body(dict.fromkeys(types, _ref(PATCH)), required=True)
    if parameters:
        operation["parameters"] = _query(parameters, verb)
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


def _query(names: Iterable[str], verb: str = "") -> list[Body]:
    """The query parameters of these names, as an operation of this verb describes them."""
    parameters = []
    for name in sorted(names):
        known = _PARAMETERS.get(f"{name}/{verb}") or _PARAMETERS[name]
        schema = {"type": known["type"], "uniqueItems": True}
        described = {"name": name, "in": "query", "description": known["description"]}
        parameters.append({**described, "schema": schema})
    return parameters


def _path_parameters(path: str, kind: str) -> list[Body]:
    descriptions = {
        "name": f"name of the {kind}",
        "namespace": _PARAMETERS["namespace"]["description"],
    }
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": description,
            "schema": {"type": "string", "uniqueItems": True},
        }
        for name, description in descriptions.items()
        if f"{{{name}}}" in path
    ]
