"""The scenario of `tools.truth.conversions`: its requests, and how its webhook answers."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

Body = dict[str, Any]

GROUP = "conv.example.com"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_WIDGETS = f"/apis/{GROUP}/%s/namespaces/default/widgets"
_JSON = {"Accept": "application/json", "Content-Type": "application/json"}
_TABLE = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
_METADATA = {"Accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
_METADATA_LIST = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
_STATUS_SCHEMA = {
    "type": "object",
    "properties": {"replicas": {"type": "integer"}, "phase": {"type": "string"}},
}
_SUBRESOURCES = {
    "status": {},
    "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
}


def _v1() -> Body:
    """Host and port are two fields."""
    fields = {
        "host": {"type": "string"},
        "port": {"type": "integer", "maximum": 65535},
        "mode": {"type": "string", "default": "plain"},
        "replicas": {"type": "integer"},
    }
    return {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": _schema(fields),
        "subresources": _SUBRESOURCES,
        "additionalPrinterColumns": [
            {"name": "Host", "type": "string", "jsonPath": ".spec.host"},
            {"name": "Port", "type": "integer", "jsonPath": ".spec.port"},
        ],
        "selectableFields": [{"jsonPath": ".spec.host"}],
    }


def _v2() -> Body:
    """They are one field."""
    fields = {
        "hostPort": {"type": "string", "maxLength": 30},
        "mode": {"type": "string"},
        "tier": {"type": "string", "default": "gold"},
        "replicas": {"type": "integer"},
    }
    rule = {"rule": "self.hostPort.contains(':')", "message": "needs a port"}
    schema = _schema(fields)
    schema["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"] = [
        {**rule, "rule": f"!has(self.hostPort) || {rule['rule']}"}
    ]
    return {
        "name": "v2",
        "served": True,
        "storage": False,
        "schema": schema,
        "subresources": _SUBRESOURCES,
        "additionalPrinterColumns": [
            {"name": "Where", "type": "string", "jsonPath": ".spec.hostPort"}
        ],
        "selectableFields": [{"jsonPath": ".spec.hostPort"}],
    }


def _schema(fields: Body) -> Body:
    spec = {"type": "object", "properties": fields}
    properties = {"spec": spec, "status": _STATUS_SCHEMA}
    return {"openAPIV3Schema": {"type": "object", "properties": properties}}


def _definition(*, storage: str = "v1", **conversion: Any) -> Body:
    versions = [_v1(), _v2()]
    for version in versions:
        version["storage"] = version["name"] == storage
    webhook = {
        "clientConfig": {"url": "${url}/convert", "caBundle": "${ca}"},
        "conversionReviewVersions": ["v1"],
        **conversion,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {"plural": "widgets", "kind": "Widget"},
            "scope": "Namespaced",
            "versions": versions,
            "conversion": {"strategy": "Webhook", "webhook": webhook},
        },
    }


def widget(version: str, name: str, spec: Body, **metadata: Any) -> Body:
    """A custom object."""
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "Widget",
        "metadata": {"name": name, **metadata},
        "spec": spec,
    }


# --- how the webhook answers


def converter(mode: str) -> Callable[[Body], Body | bytes]:
    """What the webhook answers to a request to convert, in one of its modes."""

    def answer(request: Body) -> Body | bytes:
        objects = [_converted(body, request["desiredAPIVersion"]) for body in request["objects"]]
        response: Body = {"convertedObjects": objects, "result": {"status": "Success"}}
        changed = _WRONG.get(mode, lambda response: response)(response)
        return changed if isinstance(changed, bytes) else changed

    return answer


def _converted(body: Body, wanted: str) -> Body:
    body = copy.deepcopy(body)
    spec = body.get("spec") or {}
    if wanted.endswith("v2"):
        if "host" in spec or "port" in spec:
            spec["hostPort"] = f"{spec.pop('host', '')}:{spec.pop('port', 0)}"
        annotations = body["metadata"].get("annotations") or {}
        if "tier" in annotations:
            spec["tier"] = annotations.pop("tier")
    elif wanted.endswith("v1"):
        if "hostPort" in spec:
            spec["host"], _, port = str(spec.pop("hostPort")).rpartition(":")
            spec["port"] = int(port) if port.isdecimal() else 0
        if "tier" in spec:
            annotations = body["metadata"].setdefault("annotations", {})
            annotations["tier"] = spec.pop("tier")
    return {**body, "apiVersion": wanted}


def _each(change: Callable[[Body], None]) -> Callable[[Body], Body]:
    def apply(response: Body) -> Body:
        for body in response["convertedObjects"]:
            change(body)
        return response

    return apply


def _metadata(**fields: Any) -> Callable[[Body], Body]:
    return _each(lambda body: body["metadata"].update(fields))


def _without(body: Body, field: str) -> None:
    body.pop(field, None)


_WRONG: dict[str, Callable[[Body], Body | bytes]] = {
    "not json": lambda response: b"nonsense",
    "a list": lambda response: b"[]",
    "empty": lambda response: b"",
    "empty object": lambda response: b"{}",
    "another kind": lambda response: json.dumps(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {}}
    ).encode(),
    "a Status": lambda response: json.dumps(
        {"apiVersion": "v1", "kind": "Status", "status": "Failure", "message": "no way"}
    ).encode(),
    "v1beta1": lambda response: json.dumps(
        {
            "apiVersion": "apiextensions.k8s.io/v1beta1",
            "kind": "ConversionReview",
            "response": {**response, "uid": "x"},
        }
    ).encode(),
    "no response": lambda response: json.dumps(
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}
    ).encode(),
    "wrong type": lambda response: json.dumps(
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "response": 5}
    ).encode(),
    "wrong uid": lambda response: {**response, "uid": "other"},
    "failure": lambda response: {"result": {"status": "Failure", "message": "cannot convert"}},
    "failure without text": lambda response: {"result": {"status": "Failure"}},
    "no result": lambda response: {"convertedObjects": response["convertedObjects"]},
    "no objects": lambda response: {**response, "convertedObjects": []},
    "too many": lambda response: {
        **response,
        "convertedObjects": response["convertedObjects"] * 2,
    },
    "null": lambda response: {**response, "convertedObjects": [None]},
    "text": lambda response: {**response, "convertedObjects": ["x"]},
    "no kind": _each(lambda body: _without(body, "kind")),
    "no version": _each(lambda body: _without(body, "apiVersion")),
    "wrong version": _each(lambda body: body.update(apiVersion=f"{GROUP}/v9")),
    "wrong kind": _each(lambda body: body.update(kind="Gadget")),
    "no metadata": _each(lambda body: _without(body, "metadata")),
    "metadata is text": _each(lambda body: body.update(metadata="x")),
    "name": _metadata(name="other"),
    "namespace": _metadata(namespace="other"),
    "uid": _metadata(uid="8c1b9a52-0000-4000-8000-000000000000"),
    "labels": _metadata(labels={"converted": "yes"}, annotations={"a/b": "c"}),
    "no labels": _metadata(labels=None, annotations=None),
    "bad label": _metadata(labels={"-bad-": "x"}),
    "bad label value": _metadata(labels={"a": "not valid!"}),
    "bad annotation": _metadata(annotations={"-bad-": "x"}),
    "label is number": _metadata(labels={"a": 1}),
    "labels are text": _metadata(labels="x"),
    "other metadata": _metadata(
        finalizers=["example.com/a"],
        generation=77,
        resourceVersion="1",
        managedFields=[],
        creationTimestamp="2020-01-01T00:00:00Z",
        deletionTimestamp="2020-01-01T00:00:00Z",
        ownerReferences=[{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}],
    ),
    "unknown fields": _each(lambda body: body.setdefault("spec", {}).update(surprise=1)),
    "no spec": _each(lambda body: _without(body, "spec")),
    "wrong types": _each(lambda body: body.setdefault("spec", {}).update(port="x", hostPort=5)),
    "invalid": _each(
        lambda body: body.setdefault("spec", {}).update(port=99999, hostPort="x" * 50)
    ),
    "status": _each(lambda body: body.update(status={"phase": "Converted"})),
}


# --- the requests


def _step(about: str, method: str, path: str, body: Any = None, **more: Any) -> Body:
    headers = {**_JSON, **more.pop("headers", {})}
    step = {"about": about, "method": method, "path": path, "headers": headers, **more}
    if body is not None:
        step["body"] = body
    return step


def _at(version: str, name: str = "", below: str = "", query: str = "") -> str:
    path = _WIDGETS % version
    return "".join((path, f"/{name}" if name else "", f"/{below}" if below else "", query))


def _patch(kind: str) -> Body:
    ending = "yaml" if kind == "apply-patch" else "json"
    return {"headers": {"Content-Type": f"application/{kind}+{ending}"}}


_MERGE, _STEPS, _APPLY = map(_patch, ("merge-patch", "json-patch", "apply-patch"))


def steps() -> Iterator[Body]:
    """All requests, in order."""
    yield _step("define", "POST", DEFINITIONS, _definition(), webhook="converts")
    yield _step("define", "GET", f"{DEFINITIONS}/widgets.{GROUP}")
    yield from _writes()
    yield from _reads("converts", "reads")
    yield from _admission()
    yield from _other_storage()
    yield from _failures()
    yield from _clients()
    yield from _deletions()


def _reads(mode: str, about: str, versions: tuple[str, ...] = ("v1", "v2")) -> Iterator[Body]:
    for version in versions:
        yield _step(about, "GET", _at(version, "a"), webhook=mode)
        yield _step(about, "GET", _at(version, "a", "status"))
        yield _step(about, "GET", _at(version, "a", "scale"))
        yield _step(about, "GET", _at(version, "missing"))
        yield _step(about, "GET", _at(version, "a"), headers=_TABLE)
        yield _step(about, "GET", _at(version, "a"), headers=_METADATA)
        yield _step(about, "GET", _at(version))
        yield _step(about, "GET", _at(version), headers=_TABLE)
        yield _step(about, "GET", _at(version), headers=_METADATA_LIST)
        yield _step(about, "GET", _at(version, query="?limit=1"))
        yield _step(about, "GET", _at(version, query="?labelSelector=app=x"))
        yield _step(about, "GET", _at(version, query="?fieldSelector=spec.host=one"))
        yield _step(about, "GET", _at(version, query="?fieldSelector=spec.hostPort=two:2"))
        yield _step(about, "GET", _at(version, query="?fieldSelector=metadata.name=a"))
        yield _step(about, "GET", _at(version, query="?watch=1&timeoutSeconds=1"))
        yield _step(about, "GET", _at(version, query="?watch=1&timeoutSeconds=1"), headers=_TABLE)


def _writes() -> Iterator[Body]:
    about = "creations"
    spec1 = {"host": "one", "port": 1, "extra": 1, "replicas": 1}
    spec2 = {"hostPort": "two:2", "extra": 2, "replicas": 2}
    yield _step(about, "POST", _at("v1"), widget("v1", "a", spec1, labels={"app": "x"}))
    yield _step(about, "POST", _at("v2"), widget("v2", "b", spec2))
    yield _step(about, "POST", _at("v2", query="?dryRun=All"), widget("v2", "c", spec2))
    yield _step(about, "POST", _at("v2"), widget("v2", "b", spec2))
    yield _step(about, "POST", _at("v2"), widget("v2", "c", {"hostPort": "none"}))
    yield _step(about, "POST", _at("v2"), widget("v2", "c", {"hostPort": 7}))
    yield _step(about, "POST", _at("v2"), widget("v1", "c", spec1))
    yield _step(about, "POST", _at("v2"), widget("v2", "empty", {}))
    about = "v2 alone is valid"
    yield _step(about, "POST", _at("v2"), widget("v2", "high", {"hostPort": "h:70000"}))
    yield _step(about, "GET", _at("v1", "high"))
    patch = {"metadata": {"labels": {"x": "y"}}}
    yield _step(about, "PATCH", _at("v1", "high"), patch, **_MERGE)
    yield _step(about, "PATCH", _at("v2", "high"), patch, **_MERGE)
    yield _step(about, "DELETE", _at("v2", "high"))
    about = "updates"
    yield _step(about, "GET", _at("v2", "b"), capture={"rv": "metadata.resourceVersion"})
    new = widget("v2", "b", {"hostPort": "two:22", "replicas": 3}, resourceVersion="${rv}")
    yield _step(about, "PUT", _at("v2", "b"), new)
    yield _step(about, "PUT", _at("v2", "b"), new)
    yield _step(about, "GET", _at("v1", "b"), capture={"rv": "metadata.resourceVersion"})
    fields = {"host": "two", "port": 23, "replicas": 3}
    old = widget("v1", "b", fields, resourceVersion="${rv}")
    yield _step(about, "PUT", _at("v1", "b"), old)
    yield _step(about, "PATCH", _at("v2", "b"), {"spec": {"hostPort": "two:24"}}, **_MERGE)
    yield _step(about, "PATCH", _at("v2", "b"), {"spec": {"hostPort": "two:24"}}, **_MERGE)
    yield _step(about, "PATCH", _at("v2", "b"), {"spec": {"hostPort": "none"}}, **_MERGE)
    yield _step(about, "PATCH", _at("v2", "b"), {"spec": {"new": 1}}, **_MERGE)
    yield _step(about, "PATCH", _at("v1", "b"), {"spec": {"mode": "fast"}}, **_MERGE)
    add = [{"op": "add", "path": "/spec/hostPort", "value": "two:25"}]
    yield _step(about, "PATCH", _at("v2", "b"), add, **_STEPS)
    test = [{"op": "test", "path": "/spec/host", "value": "two"}]
    yield _step(about, "PATCH", _at("v2", "b"), test, **_STEPS)
    yield _step(about, "PATCH", _at("v1", "b"), test, **_STEPS)
    dry = {"spec": {"hostPort": "two:26"}}
    yield _step(about, "PATCH", _at("v2", "b", query="?dryRun=All"), dry, **_MERGE)
    yield _step(about, "PATCH", _at("v2", "missing"), dry, **_MERGE)
    about = "subresources"
    status = {"status": {"replicas": 3, "phase": "Up", "more": 1}}
    yield _step(about, "PATCH", _at("v2", "b", "status"), status, **_MERGE)
    yield _step(about, "PATCH", _at("v1", "b", "status"), {"status": {"phase": "1"}}, **_MERGE)
    yield _step(about, "GET", _at("v2", "b"), capture={"rv": "metadata.resourceVersion"})
    full = {**widget("v2", "b", {"hostPort": "x:1"}, resourceVersion="${rv}"), **status}
    yield _step(about, "PUT", _at("v2", "b", "status"), full)
    for version in ("v1", "v2"):
        yield _step(about, "GET", _at(version, "b", "scale"))
        scale = {
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {"name": "b", "namespace": "default"},
            "spec": {"replicas": 4 + int(version[1])},
        }
        yield _step(about, "PUT", _at(version, "b", "scale"), scale)
        patch = {"spec": {"replicas": 7 + int(version[1])}}
        yield _step(about, "PATCH", _at(version, "b", "scale"), patch, **_MERGE)
    about = "applies"
    for version, spec, manager in (
        ("v1", {"host": "three", "port": 3}, "one"),
        ("v2", {"hostPort": "three:3", "tier": "silver"}, "two"),
        ("v2", {"hostPort": "three:33"}, "two"),
        ("v1", {"host": "three", "port": 34}, "one"),
        ("v1", {"host": "three", "port": 34, "mode": "m"}, "one&force=true"),
        ("v2", {"hostPort": "three:35"}, "two&force=true"),
        ("v2", {"tier": "silver"}, "two"),
        ("v1", {"host": "three"}, "one"),
        ("v2", {"hostPort": "three:36"}, "one"),
        ("v2", {"hostPort": "none"}, "one"),
        ("v2", {"unknown": "none"}, "one"),
    ):
        path = _at(version, "s", query=f"?fieldManager={manager}")
        yield _step(about, "PATCH", path, widget(version, "s", spec), **_APPLY)
    path = _at("v2", "t", query="?fieldManager=one")
    yield _step(about, "PATCH", path, widget("v2", "t", {"hostPort": "t:1"}), **_APPLY)
    yield _step(about, "GET", _at("v1", "t"))
    yield _step(about, "DELETE", _at("v1", "s"))
    yield _step(about, "DELETE", _at("v2", "t"))


def _admission() -> Iterator[Body]:
    """Policies see objects in the version of their rules."""
    about = "policies"
    names = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
    for version in ("v1", "v2"):
        policy = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": version},
            "spec": {
                "matchConstraints": {
                    "resourceRules": [
                        {
                            "apiGroups": [GROUP],
                            "apiVersions": [version],
                            "operations": ["CREATE", "UPDATE"],
                            "resources": ["widgets"],
                        }
                    ]
                },
                "validations": [
                    {
                        "expression": "!has(object.metadata.labels.deny)",
                        "messageExpression": f"'{version} sees ' + object.apiVersion + ' '"
                        " + string(has(object.spec.host)) + string(has(object.spec.hostPort))",
                    }
                ],
            },
        }
        binding = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": version},
            "spec": {"policyName": version, "validationActions": ["Deny"]},
        }
        yield _step(about, "POST", f"{names}ies", policy, webhook="converts")
        yield {**_step(about, "POST", f"{names}ybindings", binding), "pause": 3}
        for mine, spec in (("v1", {"host": "h", "port": 1}), ("v2", {"hostPort": "h:1"})):
            denied = widget(mine, "denied", spec, labels={"deny": "yes"})
            yield _step(about, "POST", _at(mine), denied)
            patch = {"metadata": {"labels": {"deny": "yes"}}}
            yield _step(about, "PATCH", _at(mine, "b"), patch, **_MERGE)
        yield _step(about, "DELETE", f"{names}ybindings/{version}")
        yield {**_step(about, "DELETE", f"{names}ies/{version}"), "pause": 3}


def _other_storage() -> Iterator[Body]:
    """Some objects are stored in the old version, some in the new one."""
    about = "storage version"
    crd = f"{DEFINITIONS}/widgets.{GROUP}"
    yield _step(about, "GET", crd, capture={"rv": "metadata.resourceVersion"})
    changed = _definition(storage="v2")
    changed["metadata"]["resourceVersion"] = "${rv}"
    yield _step(about, "PUT", crd, changed)
    yield _step(about, "GET", crd)
    spec1, spec2 = {"host": "four", "port": 4}, {"hostPort": "five:5"}
    yield _step(about, "POST", _at("v1"), widget("v1", "d", spec1))
    yield _step(about, "POST", _at("v2"), widget("v2", "e", spec2))
    yield from _reads("converts", about)
    patch = {"metadata": {"labels": {"moved": "yes"}}}
    yield _step(about, "PATCH", _at("v2", "a"), {}, **_MERGE)
    yield _step(about, "PATCH", _at("v2", "a"), patch, **_MERGE)
    yield _step(about, "GET", _at("v1", "a"))
    yield _step(about, "GET", _at("v2", "a"))
    yield _step(about, "PATCH", _at("v1", "b"), patch, **_MERGE)
    yield _step(about, "GET", _at("v2", "b"))
    without = copy.deepcopy(changed)
    without["spec"]["versions"] = [_v2() | {"storage": True}]
    yield _step(about, "GET", crd, capture={"rv": "metadata.resourceVersion"})
    yield _step(about, "PUT", crd, without)
    yield _step(about, "PATCH", f"{crd}/status", {"status": {"storedVersions": []}}, **_MERGE)
    yield _step(about, "PATCH", f"{crd}/status", {"status": {"storedVersions": ["v1"]}}, **_MERGE)
    yield _step(about, "PATCH", f"{crd}/status", {"status": {"storedVersions": ["v2"]}}, **_MERGE)
    yield _step(about, "GET", crd, capture={"rv": "metadata.resourceVersion"})
    yield _step(about, "PUT", crd, changed)
    yield _step(about, "GET", crd, capture={"rv": "metadata.resourceVersion"})
    back = _definition(storage="v1")
    back["metadata"]["resourceVersion"] = "${rv}"
    yield _step(about, "PUT", crd, back)
    yield _step(about, "GET", crd)
    yield _step(about, "GET", _at("v1"))


def _failures() -> Iterator[Body]:
    """Answers that are no conversions, and what comes of what is not allowed."""
    for mode in _WRONG:
        about = f"answer: {mode}"
        # d is stored in v2, a in v1 or v2
        yield _step(about, "GET", _at("v1", "d"), webhook=mode)
        yield _step(about, "GET", _at("v2", "b"))
        yield _step(about, "GET", _at("v2"))
        created = widget("v2", "new", {"hostPort": "six:6"}, labels={"app": "x"})
        yield _step(about, "POST", _at("v2"), created)
        yield _step(about, "PATCH", _at("v2", "b"), {"spec": {"hostPort": "n:7"}}, **_MERGE)
        yield _step(about, "GET", _at("v1", "b"))
        yield _step(about, "DELETE", _at("v2", "new"))
        yield _step(about, "DELETE", _at("v1", "new"), webhook="converts")


def _clients() -> Iterator[Body]:
    """Webhooks that are not reached, and other versions of reviews."""
    crd = f"{DEFINITIONS}/widgets.{GROUP}"
    for about, conversion in (
        ("v1beta1", {"conversionReviewVersions": ["v1beta1"]}),
        ("unknown versions first", {"conversionReviewVersions": ["v9", "v1beta1", "v1"]}),
        ("no known version", {"conversionReviewVersions": ["v9"]}),
        ("unknown authority", {"clientConfig": {"url": "${url}/convert"}}),
        ("nobody listens", {"clientConfig": {"url": "https://127.0.0.1:1/convert"}}),
        ("no such host", {"clientConfig": {"url": "https://nowhere.invalid/convert"}}),
        (
            "no service",
            {"clientConfig": {"service": {"namespace": "default", "name": "x", "path": "/c"}}},
        ),
        (
            "no port",
            {
                "clientConfig": {
                    "service": {"namespace": "default", "name": "kubernetes", "port": 1}
                }
            },
        ),
    ):
        about = f"client: {about}"
        yield _step(about, "GET", crd, capture={"rv": "metadata.resourceVersion"})
        changed = _definition(storage="v1", **conversion)
        changed["metadata"]["resourceVersion"] = "${rv}"
        yield _step(about, "PUT", crd, changed, webhook="converts")
        yield _step(about, "GET", _at("v1", "b"))
        yield _step(about, "GET", _at("v2", "b"))
        yield _step(about, "GET", _at("v2"))
        yield _step(about, "GET", _at("v2"), headers=_TABLE)
        yield _step(about, "GET", _at("v2", query="?watch=1&timeoutSeconds=1"))
        yield _step(about, "POST", _at("v2"), widget("v2", "new", {"hostPort": "six:6"}))
        yield _step(about, "PATCH", _at("v1", "b"), {"spec": {"mode": about}}, **_MERGE)
        yield _step(about, "PATCH", _at("v2", "b"), {"spec": {"mode": "x"}}, **_MERGE)
        yield _step(about, "GET", _at("v2", "b", "scale"))
        yield _step(about, "DELETE", _at("v2", "new"))
        path = _at("v2", "b", query="?fieldManager=one")
        yield _step(about, "PATCH", path, widget("v2", "b", {"mode": "x"}), **_APPLY)


def _deletions() -> Iterator[Body]:
    about = "deletions"
    crd = f"{DEFINITIONS}/widgets.{GROUP}"
    yield _step(about, "DELETE", _at("v2"))
    yield _step(about, "GET", crd, capture={"rv": "metadata.resourceVersion"})
    back = _definition()
    back["metadata"]["resourceVersion"] = "${rv}"
    yield _step(about, "PUT", crd, back)
    held = widget("v2", "held", {"hostPort": "a:1"}, finalizers=["example.com/a"])
    yield _step(about, "POST", _at("v2"), held)
    yield _step(about, "DELETE", _at("v2", "held"))
    yield _step(about, "PATCH", _at("v2", "held"), {"metadata": {"finalizers": None}}, **_MERGE)
    yield _step(about, "DELETE", _at("v2"))
    yield _step(about, "GET", _at("v2"))
    yield _step(about, "GET", _at("v1"))
    yield _step(about, "DELETE", crd)
