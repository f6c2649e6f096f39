"""Ingresses and IngressClasses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from apps.cluster.validation import names
from apps.cluster.validation.addresses import (
    NOT_A_NAME,
    read_address,
    validate_host,
    validate_prefixed_path,
)
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from apps.cluster.validation.references import validate_reference

Body = Mapping[str, Any]

_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_FORBIDDEN_PARTS: Final = ("//", "/./", "/../", "%2f", "%2F")
_FORBIDDEN_ENDS: Final = ("/..", "/.")
_CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"
_CONTROLLER_LENGTH: Final = 250
_SCOPES: Final = ("Cluster", "Namespace")


def validate_ingress(ingress: Body) -> Causes:
    """An Ingress."""
    spec = ingress["spec"]
    rules, backend = spec.get("rules"), spec.get("defaultBackend")
    if not rules and backend is None:
        yield invalid("spec", rules, "either `defaultBackend` or `rules` must be specified")
    if backend is not None:
        yield from _backend(backend, "spec.defaultBackend")
    yield from _rules(rules or ())
    yield from _certificates(spec.get("tls") or ())
    name = spec.get("ingressClassName")
    if name is not None:
        yield from all_invalid("spec.ingressClassName", name, names.dns_subdomain(name))


def validate_class_annotation(ingress: Body) -> Causes:
    """The annotation for the class of an Ingress agrees with its field for the class."""
    given = (ingress["metadata"].get("annotations") or {}).get(_CLASS_ANNOTATION)
    name = ingress["spec"].get("ingressClassName")
    if None not in (given, name) and given != name:
        detail = "must match `ingressClassName` when both are specified"
        yield invalid(f"annotations.{_CLASS_ANNOTATION}", given, detail)


def validate_ingress_class(ingress_class: Body) -> Causes:
    """An IngressClass."""
    spec = ingress_class.get("spec") or {}
    controller = spec.get("controller", "")
    if not controller:
        yield required("spec.controller")
    else:
        if len(controller) > _CONTROLLER_LENGTH:
            yield too_long("spec.controller", _CONTROLLER_LENGTH)
        yield from validate_prefixed_path(controller, "spec.controller")
    if spec.get("parameters") is not None:
        yield from _parameters(spec["parameters"], "spec.parameters")


def _rules(rules: Sequence[Body]) -> Causes:
    for index, rule in enumerate(rules):
        path, host = f"spec.rules[{index}]", rule.get("host", "")
        if host:
            if read_address(host) is not None:
                yield invalid(f"{path}.host", host, NOT_A_NAME)
            yield from validate_host(host, f"{path}.host")
        if rule.get("http") is None:
            continue
        paths = rule["http"].get("paths") or ()
        if not paths:
            yield required(f"{path}.http.paths")
        for position, each in enumerate(paths):
            yield from _path(each, f"{path}.http.paths[{position}]")


def _path(given: Body, at: str) -> Causes:
    kind, path = given.get("pathType"), given.get("path", "")
    if kind is None:
        yield required(f"{at}.pathType", "pathType must be specified")
        return
    if kind not in _PATH_TYPES:
        yield not_supported(f"{at}.pathType", kind, _PATH_TYPES)
    elif not path.startswith("/") and (path or kind != "ImplementationSpecific"):
        yield invalid(f"{at}.path", path, "must be an absolute path")
    if kind in ("Exact", "Prefix"):
        for part in _FORBIDDEN_PARTS:
            if part in path:
                yield invalid(f"{at}.path", path, f"must not contain '{part}'")
        for end in _FORBIDDEN_ENDS:
            if path.endswith(end):
                yield invalid(f"{at}.path", path, f"cannot end with '{end}'")
    yield from _backend(given.get("backend") or {}, f"{at}.backend")


def _backend(backend: Body, at: str) -> Causes:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        yield invalid(at, "", "cannot set both resource and service backends")
    elif resource is not None:
        yield from _reference(resource, f"{at}.resource")
    elif service is not None:
        yield from _service(service, at)
    else:
        yield invalid(at, "", "resource or service backend is required")


def _service(service: Body, at: str) -> Causes:
    name, port = service.get("name", ""), service.get("port") or {}
    if not name:
        yield required(f"{at}.service.name")
    else:
        yield from all_invalid(f"{at}.service.name", name, names.dns_label(name))
    called, number = port.get("name", ""), port.get("number", 0)
    if called and number:
        yield invalid(at, "", "cannot set both port name & port number")
    elif called:
        yield from all_invalid(f"{at}.service.port.name", called, names.port_name(called))
    elif number:
        yield from all_invalid(f"{at}.service.port.number", number, names.port_number(number))
    else:
        yield required(at, "port name or number is required")


def _certificates(entries: Sequence[Body]) -> Causes:
    for index, entry in enumerate(entries):
        for position, host in enumerate(entry.get("hosts") or ()):
            yield from validate_host(host, f"spec.tls[{index}].hosts[{position}]")
        name = entry.get("secretName", "")
        if name:
            yield from all_invalid(f"spec.tls[{index}].secretName", name, names.dns_subdomain(name))


def _reference(reference: Body, at: str) -> Causes:
    group = reference.get("apiGroup")
    if group is not None:
        yield from all_invalid(f"{at}.apiGroup", group, names.dns_subdomain(group))
    yield from validate_reference(reference, at)


def _parameters(parameters: Body, at: str) -> Causes:
    yield from _reference(parameters, at)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope not in _SCOPES:
        yield not_supported(f"{at}.scope", scope, _SCOPES)
    elif scope == "Cluster" and namespace is not None:
        yield forbidden(f"{at}.namespace", "`parameters.scope` is set to 'Cluster'")
    elif scope == "Namespace" and namespace is None:
        yield required(f"{at}.namespace", "`parameters.scope` is set to 'Namespace'")
    elif namespace is not None:
        yield from all_invalid(f"{at}.namespace", namespace, names.dns_label(namespace))
