"""The kinds that are only data: required fields, and the most important rules of each."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from apps.cluster.schema.go_types import internal
from apps.cluster.validation import names
from apps.cluster.validation.addresses import read_network, validate_canonical_network
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
    too_many,
)
from apps.cluster.validation.group_claims import validate_group_claims
from apps.cluster.validation.pod_groups import validate_group_fields
from apps.cluster.validation.templates import validate_pod_template

Body = Mapping[str, Any]
Rule = Callable[[Body], Causes]
UpdateRule = Callable[[Body, Body], Causes]

_LITERALS: Final = ("true", "false", "null")
#: What the parser of Python says -> where the API server says that it was.
_PLACES: Final = (
    ("Expecting property name", "looking for beginning of object key string"),
    ("Expecting ':'", "after object key"),
    ("Expecting ','", "after array element"),
    ("Extra data", "after top-level value"),
)
_MAX_DATA: Final = 1024 * 1024
_MAX_TEMPLATES: Final = 8
_FAMILIES: Final = 2
_ONE_OF_EACH_FAMILY: Final = (
    "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
)
_IMMUTABLE: Final = "field is immutable when `immutable` is set"
IMMUTABLE_FIELD: Final = "field is immutable"
_ACCOUNT: Final = "kubernetes.io/service-account.name"
_REGISTRIES: Final = ("kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson")
#: The keys that a secret of a type must have.
_SECRET_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}


def _data(body: Body, *fields: str) -> int:
    """The size of the values, in characters of base64 or text."""
    return sum(len(value) for field in fields for value in (body.get(field) or {}).values())


def _keys(body: Body, *fields: str) -> Causes:
    for field in fields:
        for key in body.get(field) or ():
            yield from all_invalid(f"{field}[{key}]", key, names.config_key(key))


def validate_config_map(body: Body) -> Causes:
    for key in sorted((body.get("data") or {}).keys() & (body.get("binaryData") or {}).keys()):
        yield invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    yield from _keys(body, "data", "binaryData")
    if _data(body, "data", "binaryData") > _MAX_DATA:
        yield too_long("[]", _MAX_DATA)


def validate_secret(body: Body) -> Causes:
    yield from _keys(body, "data")
    if _data(body, "data") > _MAX_DATA:
        yield too_long("data", _MAX_DATA)
    data, kind = body.get("data") or {}, body["type"]
    for key in _SECRET_KEYS.get(kind, ()):
        if key not in data:
            yield required(f"data[{key}]")
        elif kind in _REGISTRIES:
            yield from _json(data[key], f"data[{key}]")
    if kind == "kubernetes.io/basic-auth" and not {"username", "password"} & data.keys():
        yield required("data[username]")
        yield required("data[password]")
    account = (body["metadata"].get("annotations") or {}).get(_ACCOUNT)
    if kind == "kubernetes.io/service-account-token" and not account:
        yield required(f"metadata.annotations[{_ACCOUNT}]")


def _json(encoded: str, path: str) -> Causes:
    text = base64.b64decode(encoded).decode(errors="replace")
    why = _json_problem(text)
    if why:
        yield invalid(path, "<secret contents redacted>", why)


def _json_problem(text: str) -> str:
    """Why a text is no JSON object, in the words of the API server; "" if it is one."""
    try:
        value = json.loads(text)
    except ValueError as error:
        return _scanner_problem(text, error) if isinstance(error, json.JSONDecodeError) else ""
    if isinstance(value, dict) or value is None:
        return ""
    name = {str: "string", bool: "bool", list: "array"}.get(type(value), "number")
    return f"json: cannot unmarshal {name} into Go value of type map[string]interface {{}}"


def _scanner_problem(text: str, error: json.JSONDecodeError) -> str:
    at = error.pos
    word = next((each for each in _LITERALS if text[at : at + 1] == each[0]), "")
    while word and text[at : at + 1] and text[at] == word[at - error.pos]:
        at += 1
    if at >= len(text.rstrip()):
        return "unexpected end of JSON input"
    places = (said for start, said in _PLACES if error.msg.startswith(start))
    where = next(places, "looking for beginning of value")
    if at > error.pos:
        where = f"in literal {word} (expecting '{word[at - error.pos]}')"
    return f"invalid character {text[at]!r} {where}"


def immutable_data(*fields: str) -> UpdateRule:
    def rule(new: Body, old: Body) -> Causes:
        if "type" in fields and new.get("type") != old.get("type"):
            yield invalid("type", new.get("type"), IMMUTABLE_FIELD)
        if not old.get("immutable"):
            return
        if not new.get("immutable"):
            yield forbidden("immutable", _IMMUTABLE)
        for field in fields:
            if field != "type" and new.get(field) != old.get(field):
                yield forbidden(field, _IMMUTABLE)

    return rule


def required_fields(*paths: str) -> Rule:
    """Fields that must not be empty."""

    def rule(body: Body) -> Causes:
        for path in paths:
            value: Any = body
            for step in path.split("."):
                value = value.get(step) if isinstance(value, Mapping) else None
            if value in (None, "", [], {}):
                yield required(path)

    return rule


def immutable(path: str, type_name: str = "") -> UpdateRule:
    """A field that cannot be changed; `type_name` is its internal type, if it has a structure."""

    def rule(new: Body, old: Body) -> Causes:
        before: Any = old
        after: Any = new
        for step in path.split("."):
            before, after = (before or {}).get(step), (after or {}).get(step)
        if before != after:
            if after is None and isinstance(before, str):
                after = ""
            yield invalid(path, internal(type_name, after) if type_name else after, IMMUTABLE_FIELD)

    return rule


def validate_new_revision(body: Body) -> Causes:
    if body.get("data") is not None and not isinstance(body["data"], Mapping):
        yield required("data", "data must be a valid JSON object")


def validate_revision(body: Body) -> Causes:
    if body.get("data") is None:
        yield required("data", "data is mandatory")
    if body.get("revision", 0) < 0:
        yield invalid("revision", body["revision"], names.NOT_NEGATIVE)


def validate_ip_address(body: Body) -> Causes:
    parent = (body.get("spec") or {}).get("parentRef")
    if parent is None:
        yield required("spec.parentRef")
        return
    for field in ("resource", "name"):
        if not parent.get(field):
            yield required(f"spec.parentRef.{field}")


def validate_service_cidr(body: Body) -> Causes:
    cidrs = (body.get("spec") or {}).get("cidrs") or ()
    if not cidrs:
        yield required("spec.cidrs", "at least one CIDR required")
    if len(cidrs) > _FAMILIES:
        shown = internal("networking.ServiceCIDRSpec", body["spec"])
        yield invalid("spec.cidrs", shown, "may only hold up to 2 values")
        return
    networks = [read_network(cidr) for cidr in cidrs]
    families = {each.version for each in networks if each is not None}
    if None not in networks and len(cidrs) == _FAMILIES and len(families) == 1:
        yield invalid("spec.cidrs", cidrs, _ONE_OF_EACH_FAMILY)
    for index, cidr in enumerate(cidrs):
        yield from validate_canonical_network(cidr, f"spec.cidrs[{index}]")


def validate_service_cidr_update(body: Body, old: Body) -> Causes:
    """A ServiceCIDR may get a second network, and is immutable otherwise."""
    given, known = ((each.get("spec") or {}).get("cidrs") for each in (body, old))
    cidrs, before = given or (), known or ()
    adds = (len(before), len(cidrs)) == (1, _FAMILIES)
    if len(cidrs) != len(before) and not adds:
        yield invalid("spec.cidrs", given, IMMUTABLE_FIELD)
        return
    for index, (cidr, earlier) in enumerate(zip(cidrs, before, strict=False)):
        if cidr != earlier:
            yield invalid(f"spec.cidrs[{index}]", cidr, IMMUTABLE_FIELD)
    if adds:
        yield from validate_service_cidr(body)


def validate_template_object(body: Body) -> Causes:
    return validate_pod_template(body.get("template") or {}, "template")


def _policy(policy: Body, path: str) -> Causes:
    """The policy of a pod group, which is either basic or gang."""
    given = sorted(policy.keys() & {"basic", "gang"})
    if not given:
        yield invalid(path, "", "must specify one of: `basic`, `gang`")
    elif len(given) > 1:
        detail = f"must specify exactly one of: {', '.join(f'`{name}`' for name in given)}"
        yield invalid(path, f"{{{', '.join(given)}}}", detail)
    gang = policy.get("gang")
    if gang is not None and not gang.get("minCount"):
        yield required(f"{path}.gang.minCount")
    elif gang is not None and gang["minCount"] < 1:
        detail = "must be greater than or equal to 1"
        yield invalid(f"{path}.gang.minCount", gang["minCount"], detail)


def validate_fixed_spec(body: Body, old: Body) -> Causes:
    """No field of the spec can be changed; messages do not show its value."""
    spec, before = (each.get("spec") or {} for each in (body, old))
    for field in sorted(spec.keys() | before.keys()):
        if spec.get(field) != before.get(field):
            yield invalid(f"spec.{field}", None, IMMUTABLE_FIELD)


def validate_workload_update(body: Body, old: Body) -> Causes:
    yield from validate_fixed_spec(body, old)
    if not (body.get("spec") or {}).get("podGroupTemplates"):
        yield required("spec.podGroupTemplates")


def validate_pod_group(body: Body) -> Causes:
    spec = body.get("spec") or {}
    yield from _policy(spec.get("schedulingPolicy") or {}, "spec.schedulingPolicy")
    yield from validate_group_fields(spec, "spec")
    yield from validate_group_claims(spec.get("resourceClaims"), "spec.resourceClaims")
    workload = (spec.get("podGroupTemplateRef") or {}).get("workload")
    if workload is not None:
        for field in ("workloadName", "podGroupTemplateName"):
            if not workload.get(field):
                yield required(f"spec.podGroupTemplateRef.workload.{field}")


def validate_workload(body: Body) -> Causes:
    templates = (body.get("spec") or {}).get("podGroupTemplates") or []
    if not templates:
        yield required("spec.podGroupTemplates")
    if len(templates) > _MAX_TEMPLATES:
        yield too_many("spec.podGroupTemplates", len(templates), _MAX_TEMPLATES)
    seen: set[str] = set()
    for index, template in enumerate(templates):
        path = f"spec.podGroupTemplates[{index}]"
        name = template.get("name", "")
        if not name:
            yield required(f"{path}.name")
        elif name in seen:
            yield duplicate(path, name)
        else:
            yield from all_invalid(f"{path}.name", name, names.dns_label(name))
        seen.add(name)
        yield from _policy(template.get("schedulingPolicy") or {}, f"{path}.schedulingPolicy")
        yield from validate_group_fields(template, path)
        yield from validate_group_claims(template.get("resourceClaims"), f"{path}.resourceClaims")


def validate_service_name(stateful_set: Body) -> Causes:
    name = stateful_set.get("spec", {}).get("serviceName")
    if name:
        yield from all_invalid("spec.serviceName", name, names.dns_label(name))
