"""The paths of a resource in OpenAPI v3: its operations, their parameters, bodies and responses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from apps.api.kubernetes import openapi_custom
from apps.api.kubernetes.resources import Resource
from apps.cluster.kind import Subresource
from apps.cluster.schema import definition_of
from apps.cluster.schema.definitions import Schema

Body = dict[str, Any]

GVK: Final = "x-kubernetes-group-version-kind"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
#: The definition of the body of a PATCH, which may be anything.
PATCH: Final = f"{_META}.Patch"
#: The definition of an event of a watch.
WATCH_EVENT: Final = f"{_META}.WatchEvent"
_PATCHES: Final = ("json-patch", "merge-patch", "strategic-merge-patch")
_STREAMED: Final = ("application/json", "application/vnd.kubernetes.protobuf")
#: The media types of objects.
SENT: Final = (*_STREAMED, "application/yaml")
_CUSTOM: Final = ("application/json", "application/yaml")
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
#: Subresources that are a connection to a node, and the methods that open it.
_CONNECTIONS: Final = {
    **dict.fromkeys(("attach", "exec", "portforward"), ("get", "post")),
    "proxy": ("get", "put", "post", "delete", "options", "head", "patch"),
}
#: Parameter -> its type and description in the release; a verb, and a connection, may have others.
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


def definition_name(resource: Resource) -> str:
    """The name of the definition of its objects."""
    return resource.definition if resource.custom is None else openapi_custom.name_of(resource)


def list_name(resource: Resource) -> str:
    """The name of the definition of its lists."""
    if resource.custom is not None:
        return openapi_custom.list_name(resource)
    prefix, _, _ = resource.definition.rpartition(".")
    return f"{prefix}.{resource.list_kind}"


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
    connections: dict[str, Body] = {}
    for sub in resource.subresources:
        place = f"{collection}/{{name}}/{sub.name}"
        if sub.name in _CONNECTIONS:
            connections |= _connection_paths(place, resource, sub)
            continue
        documented[place] = {
            _VERBS[verb][0]: _operation_below(resource, sub, verb) for verb in sub.verbs
        }
    if resource.custom is None and "watch" in resource.verbs:
        documented |= _watch_paths(root, resource)
    named = {
        f"{collection}/{{name}}/{sub.name}": _kind_below(resource, sub)["kind"]
        for sub in resource.subresources
    }
    described = {
        path: _shared(path, each, named.get(path, resource.kind.name))
        for path, each in documented.items()
        if each
    }
    return {**described, **connections}


def _connection_paths(place: str, resource: Resource, sub: Subresource) -> dict[str, Body]:
    """The paths of a connection: that of a proxy goes on behind it."""
    documented = {place: _connection(place, resource, sub, "")}
    if sub.name == "proxy":
        documented[f"{place}/{{path}}"] = _connection(
            f"{place}/{{path}}", resource, sub, "WithPath"
        )
    return documented


def _connection(path: str, resource: Resource, sub: Subresource, suffix: str) -> Body:
    tag, called = tag_of(resource.group, resource.version)
    scope = "Namespaced" if resource.namespaced else ""
    subject = f"{scope}{resource.kind.name}{sub.name.capitalize()}{suffix}"
    said = {"200": {"description": "OK", "content": {"*/*": {"schema": {"type": "string"}}}}}
    operations: Body = {
        method: {
            "tags": [tag],
            "description": f"connect {method.upper()} requests to {sub.name} of "
            f"{resource.kind.name}",
            "operationId": f"connect{called}{method.capitalize()}{subject}",
            "x-kubernetes-action": "connect",
            GVK: {"group": resource.group, "version": resource.version, "kind": sub.kind},
            "responses": {**said, **REFUSED},
        }
        for method in _CONNECTIONS[sub.name]
    }
    names = [key.partition("/")[0] for key in _PARAMETERS if key.endswith(f"/{sub.kind}")]
    parameters = [*_path_parameters(path, sub.kind), *_query(names, sub.kind)]
    return {**operations, "parameters": sorted(parameters, key=lambda each: str(each["name"]))}


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
            "get": _complete(operation, "list", ref(WATCH_EVENT), selection, is_custom=False)
        }
    return documented


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
    schema = ref(definition_of("", "v1", "Binding"))
    completed = _complete(operation, "create", schema, (), is_custom=False)
    return {path: _shared(path, {"post": completed}, "Binding")}


def referenced(resource: Resource) -> Iterator[str]:
    """The definitions, besides its lists, that its operations refer to."""
    if resource.custom is None:
        yield resource.definition
    if "list" in resource.verbs:
        yield f"{_META}.ListMeta"
    if "delete" in resource.verbs:
        yield from (f"{_META}.{name}" for name in ("DeleteOptions", "Patch", "Status"))
    if resource.custom is None and "watch" in resource.verbs:
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
    is_custom = resource.custom is not None
    schema, parameters = ref(definition_name(resource)), tuple[str, ...]()
    match verb:
        case "list":
            schema, parameters = ref(list_name(resource)), (*_SELECTION, *_WATCH)
        case "deletecollection":
            more = _WATCH if is_custom else _DELETE
            schema, parameters = ref(f"{_META}.Status"), (*_SELECTION, *more)
        case "delete":
            parameters = _DELETE
            if not resource.kind.returns_deleted:
                schema = ref(f"{_META}.Status")
    if verb == "delete" or (verb == "deletecollection" and not is_custom):
        options = dict.fromkeys(_accepted(is_custom=is_custom), ref(f"{_META}.DeleteOptions"))
        operation["requestBody"] = _body(options, required=False)
    return _complete(operation, verb, schema, parameters, is_custom=is_custom)


def _operation_below(resource: Resource, sub: Subresource, verb: str) -> Body:
    scope = "Namespaced" if resource.namespaced else ""
    subject = f"{scope}{resource.kind.name}{sub.name.capitalize()}"
    operation = _begin(resource, verb, subject, _kind_below(resource, sub), sub.name)
    if sub.name == "log":
        operation["parameters"] = _query(_LOG)
        content = dict.fromkeys(("text/plain", *SENT), {"schema": {"type": "string"}})
        operation["responses"] = {"200": {"description": "OK", "content": content}, **REFUSED}
        return operation
    schema = ref(_definition_below(resource, sub) or definition_name(resource))
    return _complete(operation, verb, schema, (), is_custom=resource.custom is not None)


def _kind_below(resource: Resource, sub: Subresource) -> Body:
    """What documents say that a subresource is: of a custom resource always its own kind."""
    if resource.custom is not None:
        sub = Subresource(sub.name, resource.kind.name, sub.verbs)
    return {
        "group": sub.group or resource.group,
        "version": sub.version or resource.version,
        "kind": sub.kind,
    }


def _definition_below(resource: Resource, sub: Subresource) -> str:
    """The definition of a subresource's objects; empty for a connection."""
    if sub.name in _CONNECTIONS:
        return ""
    if sub.kind == resource.kind.name:
        return definition_name(resource)
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


def tag_of(group: str, version: str = "") -> tuple[str, str]:
    """The tag of the operations of a group or version, and the part of their ids that names it."""
    parts = (group.removesuffix(".k8s.io") or "core").replace("-", ".").split(".")
    called = "".join(part[:1].upper() + part[1:] for part in parts)
    tag = f"{called[:1].lower()}{called[1:]}" + (f"_{version}" if version else "")
    return tag, f"{called}{version[:1].upper()}{version[1:]}"


def _begin(resource: Resource, verb: str, subject: str, gvk: Body, part: str = "") -> Body:
    _, first, action = _VERBS[verb]
    tag, called = tag_of(resource.group, resource.version)
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


#: The response to a request without a valid token.
REFUSED: Final = {"401": {"description": "Unauthorized"}}


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
        sent = dict.fromkeys(_accepted(is_custom=is_custom), schema)
        operation["requestBody"] = _body(sent, required=True)
    elif verb == "patch":
        parameters = (*_WRITE, "force")
        forms = [form for form in _PATCHES if not (is_custom and form.startswith("strategic"))]
        types = ("application/apply-patch+yaml", *(f"application/{form}+json" for form in forms))
        operation["requestBody"] = _body(dict.fromkeys(types, ref(PATCH)), required=True)
    elif verb == "get" and is_custom:
        parameters = ("resourceVersion",)
    if parameters:
        operation["parameters"] = _query(parameters, verb)
    codes = {"create": ("200", "201", "202"), "update": ("200", "201")}
    if not is_custom:
        codes["patch"] = ("200", "201")
    said = {"200": "OK", "201": "Created", "202": "Accepted"}
    content = {media_type: {"schema": schema} for media_type in (_CUSTOM if is_custom else SENT)}
    if verb == "list" and not is_custom:
        content |= {f"{media_type};stream=watch": {"schema": schema} for media_type in _STREAMED}
    expected = codes.get(verb, ("200", "202") if verb == "delete" else ("200",))
    operation["responses"] = {
        **{code: {"description": said[code], "content": content} for code in expected},
        **REFUSED,
    }
    return operation


def _accepted(*, is_custom: bool) -> tuple[str, ...]:
    """The media types of bodies, as documents have them."""
    return _CUSTOM if is_custom else ("*/*",)


def _body(schemas: dict[str, Any], *, required: bool) -> Body:
    content = {media_type: {"schema": schema} for media_type, schema in schemas.items()}
    return {"content": content, **({"required": True} if required else {})}


def ref(name: str) -> Body:
    """A schema that is the definition of this name."""
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
        "path": "path to the resource",
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
