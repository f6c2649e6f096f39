"""The kinds that are only data: required fields, and the most important rules of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

from apps.cluster.errors import Cause
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
from apps.cluster.validation.custom_definitions import (
    validate_definition,
    validate_definition_update,
)
from apps.cluster.validation.devices import (
    claim_rule,
    claim_update_rule,
    validate_device_class,
    validate_device_class_update,
    validate_resource_slice,
)
from apps.scheduler.quantity import parse

Body = Mapping[str, Any]
Rule = Callable[[Body], Causes]
UpdateRule = Callable[[Body, Body], Causes]

_MAX_DATA: Final = 1024 * 1024
_MAX_TEMPLATES: Final = 8
_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_BAD_KEY: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
    "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_IMMUTABLE: Final = "field is immutable when `immutable` is set"
IMMUTABLE_FIELD: Final = "field is immutable"
#: The keys that a secret of a type must have.
_SECRET_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}


def _data(body: Body, *fields: str) -> Causes:
    size = 0
    for field in fields:
        for key, value in (body.get(field) or {}).items():
            if not _KEY.fullmatch(key) or len(key) > 253:
                yield invalid(f"{field}[{key}]", key, _BAD_KEY)
            size += len(value)
    if size > _MAX_DATA:
        yield Cause("FieldValueTooLong", f"Too long: may not be more than {_MAX_DATA} bytes", "")


def _config_map(body: Body) -> Causes:
    for key in sorted((body.get("data") or {}).keys() & (body.get("binaryData") or {}).keys()):
        yield invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    yield from _data(body, "data", "binaryData")


def _secret(body: Body) -> Causes:
    yield from _data(body, "data")
    data = body.get("data") or {}
    for key in _SECRET_KEYS.get(body["type"], ()):
        if key not in data:
            yield required(f"data[{key}]")
    if body["type"] == "kubernetes.io/basic-auth" and not {"username", "password"} & data.keys():
        yield required("data[username]")
        yield required("data[password]")


def _data_update(*fields: str) -> UpdateRule:
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


def _required(*paths: str) -> Rule:
    """Fields that must not be empty."""

    def rule(body: Body) -> Causes:
        for path in paths:
            value: Any = body
            for step in path.split("."):
                value = value.get(step) if isinstance(value, Mapping) else None
            if value in (None, "", [], {}):
                yield required(path)

    return rule


def _role(body: Body) -> Causes:
    for index, rule in enumerate(body.get("rules") or ()):
        path = f"rules[{index}]"
        if not rule.get("verbs"):
            yield required(f"{path}.verbs", "verbs must contain at least one value")
        if rule.get("nonResourceURLs"):
            if body["kind"] == "Role":
                detail = "namespaced rules cannot apply to non-resource URLs"
                yield invalid(f"{path}.nonResourceURLs", rule["nonResourceURLs"], detail)
            if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                detail = "rules cannot apply to both regular resources and non-resource URLs"
                yield invalid(f"{path}.nonResourceURLs", rule["nonResourceURLs"], detail)
            continue
        if not rule.get("apiGroups"):
            detail = "resource rules must supply at least one api group"
            yield required(f"{path}.apiGroups", detail)
        if not rule.get("resources"):
            yield required(f"{path}.resources", "resource rules must supply at least one resource")


def _role_binding(body: Body) -> Causes:
    role, kinds = body.get("roleRef") or {}, ["Role", "ClusterRole"]
    if body["kind"] == "ClusterRoleBinding":
        kinds = ["ClusterRole"]
    if role.get("kind") not in kinds:
        yield not_supported("roleRef.kind", role.get("kind", ""), kinds)
    if not role.get("name"):
        yield required("roleRef.name")
    for index, subject in enumerate(body.get("subjects") or ()):
        path = f"subjects[{index}]"
        if not subject.get("name"):
            yield required(f"{path}.name")
        if subject.get("kind") not in ("ServiceAccount", "User", "Group"):
            supported = ("Group", "ServiceAccount", "User")
            yield not_supported(f"{path}.kind", subject.get("kind", ""), supported)
            continue
        pair = (subject["kind"], body["kind"])
        if pair == ("ServiceAccount", "ClusterRoleBinding") and not subject.get("namespace"):
            yield required(f"{path}.namespace")


def _role_binding_update(new: Body, old: Body) -> Causes:
    if new.get("roleRef") != old.get("roleRef"):
        yield invalid("roleRef", new.get("roleRef"), "cannot change roleRef")


def _limit_range(body: Body) -> Causes:
    seen: set[str] = set()
    for index, item in enumerate(body["spec"].get("limits") or ()):
        path = f"spec.limits[{index}]"
        if item.get("type") in seen:
            yield duplicate(f"{path}.type", item["type"])
        seen.add(item.get("type", ""))
        if item.get("type") == "Pod":
            for field in ("default", "defaultRequest"):
                if item.get(field):
                    detail = "may not be specified when `type` is 'Pod'"
                    yield forbidden(f"{path}.{field}", detail)
        yield from _bounds(item, path)


#: (field, another that must not be less than it)
_ORDER: Final = (
    ("min", "max"),
    ("min", "defaultRequest"),
    ("defaultRequest", "max"),
    ("defaultRequest", "default"),
    ("default", "max"),
)
_SAID: Final = {
    "min": "min",
    "max": "max",
    "default": "default",
    "defaultRequest": "default request",
}


def _amount(given: Any) -> Fraction:
    return Fraction(parse(given).nanos, 10**9)


def _bounds(item: Body, path: str) -> Causes:
    for low, high in _ORDER:
        for name in sorted((item.get(low) or {}).keys() & (item.get(high) or {}).keys()):
            small, large = item[low][name], item[high][name]
            if _amount(small) > _amount(large):
                said = f"{_SAID[low]} value {small} is greater than {_SAID[high]} value {large}"
                yield invalid(f"{path}.{low}[{name}]", small, said)
    for name, ratio in sorted((item.get("maxLimitRequestRatio") or {}).items()):
        if _amount(ratio) < 1:
            field = f"{path}.maxLimitRequestRatio[{name}]"
            yield invalid(field, ratio, f"ratio {ratio} is less than 1")


def _cron_job(body: Body) -> Causes:
    spec = body["spec"]
    if not spec.get("schedule"):
        yield required("spec.schedule")
    elif len(spec["schedule"].split()) != 5 and not spec["schedule"].startswith("@"):
        count = len(spec["schedule"].split())
        why = f"expected exactly 5 fields, found {count}: [{spec['schedule']}]"
        yield invalid("spec.schedule", spec["schedule"], why)
    policies = ("Allow", "Forbid", "Replace")
    if spec["concurrencyPolicy"] not in policies:
        yield not_supported("spec.concurrencyPolicy", spec["concurrencyPolicy"], policies)
    for field in (
        "startingDeadlineSeconds",
        "successfulJobsHistoryLimit",
        "failedJobsHistoryLimit",
    ):
        if spec.get(field, 0) < 0:
            yield invalid(f"spec.{field}", spec[field], names.NOT_NEGATIVE)
    if len(body["metadata"].get("name", "")) > 52:
        yield invalid(
            "metadata.name", body["metadata"]["name"], "must be no more than 52 characters"
        )


def _autoscaler(body: Body) -> Causes:
    spec = body["spec"]
    for field in ("kind", "name"):
        if not (spec.get("scaleTargetRef") or {}).get(field):
            yield required(f"spec.scaleTargetRef.{field}")
    if spec.get("maxReplicas", 0) < 1:
        yield invalid("spec.maxReplicas", spec.get("maxReplicas", 0), "must be greater than 0")
    if spec["minReplicas"] < 1:
        yield invalid("spec.minReplicas", spec["minReplicas"], "must be greater than or equal to 1")
    if spec.get("maxReplicas", 0) < spec["minReplicas"]:
        detail = "must be greater than or equal to `minReplicas`"
        yield invalid("spec.maxReplicas", spec.get("maxReplicas", 0), detail)


def _webhooks(body: Body) -> Causes:
    seen: set[str] = set()
    for index, webhook in enumerate(body.get("webhooks") or ()):
        path, name = f"webhooks[{index}]", webhook.get("name", "")
        if not name:
            yield required(f"{path}.name")
        elif name.count(".") < 2:
            detail = "should be a domain with at least three segments separated by dots"
            yield invalid(f"{path}.name", name, detail)
        if name in seen:
            yield duplicate(f"{path}.name", name)
        seen.add(name)
        if not webhook.get("sideEffects"):
            supported = ("None", "NoneOnDryRun")
            yield not_supported(f"{path}.sideEffects", "", supported)
        if not webhook.get("admissionReviewVersions"):
            detail = "must specify one of v1, v1beta1"
            yield required(f"{path}.admissionReviewVersions", detail)


def _endpoint_slice(body: Body) -> Causes:
    types = ("FQDN", "IPv4", "IPv6")
    if not body.get("addressType"):
        yield required("addressType")
    elif body["addressType"] not in types:
        yield not_supported("addressType", body["addressType"], types)
    for index, endpoint in enumerate(body.get("endpoints") or ()):
        if not endpoint.get("addresses"):
            path = f"endpoints[{index}].addresses"
            yield required(path, "must contain at least 1 address")


def _immutable(*fields: str) -> UpdateRule:
    """Fields that cannot be changed."""

    def rule(new: Body, old: Body) -> Causes:
        for path in fields:
            before: Any = old
            after: Any = new
            for step in path.split("."):
                before, after = (before or {}).get(step), (after or {}).get(step)
            if before != after:
                yield invalid(path, after, IMMUTABLE_FIELD)

    return rule


def _policy(policy: Body, path: str) -> Causes:
    """The policy of a pod group, which is either basic or gang."""
    given = sorted(policy.keys() & {"basic", "gang"})
    if not given:
        yield required(path, "must specify one of: `basic`, `gang`")
    elif len(given) > 1:
        detail = f"must specify exactly one of: {', '.join(f'`{name}`' for name in given)}"
        yield invalid(path, f"{{{', '.join(given)}}}", detail)
    gang = policy.get("gang")
    if gang is not None and gang.get("minCount", 0) < 1:
        detail = "must be greater than or equal to 1"
        yield invalid(f"{path}.gang.minCount", gang.get("minCount", 0), detail)


def _pod_group(body: Body) -> Causes:
    spec = body.get("spec") or {}
    yield from _policy(spec.get("schedulingPolicy") or {}, "spec.schedulingPolicy")
    workload = (spec.get("podGroupTemplateRef") or {}).get("workload")
    if workload is not None:
        for field in ("workloadName", "podGroupTemplateName"):
            if not workload.get(field):
                yield required(f"spec.podGroupTemplateRef.workload.{field}")


def _workload(body: Body) -> Causes:
    templates = (body.get("spec") or {}).get("podGroupTemplates") or []
    if not templates:
        yield required("spec.podGroupTemplates")
    if len(templates) > _MAX_TEMPLATES:
        detail = f"Too many: {len(templates)}: must have at most {_MAX_TEMPLATES} items"
        yield Cause("FieldValueTooMany", detail, "spec.podGroupTemplates")
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


NEW: Final[Mapping[str, Rule]] = {
    "APIService": _required("spec.group", "spec.version"),
    "CertificateSigningRequest": _required("spec.request", "spec.signerName", "spec.usages"),
    "ClusterRole": _role,
    "ClusterRoleBinding": _role_binding,
    "ConfigMap": _config_map,
    "CronJob": _cron_job,
    "CustomResourceDefinition": validate_definition,
    "DeviceClass": validate_device_class,
    "EndpointSlice": _endpoint_slice,
    "FlowSchema": _required("spec.priorityLevelConfiguration.name"),
    "HorizontalPodAutoscaler": _autoscaler,
    "IPAddress": _required("spec.parentRef"),
    "IngressClass": _required("spec.controller"),
    "LimitRange": _limit_range,
    "MutatingWebhookConfiguration": _webhooks,
    "PodGroup": _pod_group,
    "PriorityLevelConfiguration": _required("spec.type"),
    "ResourceClaim": claim_rule("spec"),
    "ResourceClaimTemplate": claim_rule("spec.spec"),
    "ResourceSlice": validate_resource_slice,
    "Role": _role,
    "RoleBinding": _role_binding,
    "Secret": _secret,
    "ServiceCIDR": _required("spec.cidrs"),
    "ValidatingAdmissionPolicyBinding": _required("spec.policyName", "spec.validationActions"),
    "ValidatingWebhookConfiguration": _webhooks,
    "VolumeAttributesClass": _required("driverName", "parameters"),
    "Workload": _workload,
}


def _all(*rules: UpdateRule) -> UpdateRule:
    def rule(body: Body, old: Body) -> Causes:
        for each in rules:
            yield from each(body, old)

    return rule


UPDATES: Final[Mapping[str, UpdateRule]] = {
    "CertificateSigningRequest": _immutable("spec"),
    "ClusterRoleBinding": _role_binding_update,
    "ConfigMap": _data_update("data", "binaryData"),
    "ControllerRevision": _immutable("data"),
    "CustomResourceDefinition": validate_definition_update,
    "EndpointSlice": _immutable("addressType"),
    "IPAddress": _immutable("spec"),
    "IngressClass": _immutable("spec.controller"),
    "PodGroup": _immutable("spec"),
    "DeviceClass": validate_device_class_update,
    "ResourceClaim": _all(claim_update_rule("spec"), _immutable("spec")),
    "ResourceClaimTemplate": _all(claim_update_rule("spec.spec"), _immutable("spec")),
    "RoleBinding": _role_binding_update,
    "Secret": _data_update("type", "data"),
    "VolumeAttributesClass": _immutable("driverName", "parameters"),
    "Workload": _immutable("spec"),
}
