"""Defaults of the kinds that are only data."""

from __future__ import annotations

import base64
import copy
from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.admission.defaulting.pods import default_template
from apps.cluster.admission.defaulting.resources import canonicalize
from apps.cluster.admission.draft import Body, child, drop_empty, write_missing
from apps.cluster.random_ids import random_uuid_text

#: How fast an autoscaler scales if its behavior does not say it.
_SCALING: Final[Mapping[str, Mapping[str, Any]]] = {
    "scaleUp": {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
    },
    "scaleDown": {
        "selectPolicy": "Max",
        "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
    },
}
_RBAC: Final = "rbac.authorization.k8s.io"


def default_config_map(draft: Body) -> None:
    drop_empty(draft, "data", "binaryData")


def default_secret(draft: Body) -> None:
    """`stringData` becomes `data`, and is not stored."""
    draft.setdefault("type", "Opaque")
    texts = draft.pop("stringData", None) or {}
    if texts:
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        draft["data"] = {**(draft.get("data") or {}), **encoded}
    drop_empty(draft, "data")


def default_endpoints(draft: Body) -> None:
    for subset in draft.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def default_endpoint_slice(draft: Body) -> None:
    write_missing(draft, "endpoints", "ports")
    for endpoint in draft.get("endpoints") or ():
        child(endpoint, "conditions")
        # v1 has fields for what it said
        endpoint.pop("deprecatedTopology", None)
    for port in draft.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def default_ingress(draft: Body) -> None:
    spec = child(draft, "spec")
    drop_empty(spec, "rules", "tls")


def default_network_policy(draft: Body) -> None:
    spec = child(draft, "spec")
    spec.setdefault("podSelector", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", *(["Egress"] if spec.get("egress") else [])]
    for rule in [*(spec.get("ingress") or ()), *(spec.get("egress") or ())]:
        for port in rule.get("ports") or ():
            port.setdefault("protocol", "TCP")


def default_limit_range(draft: Body) -> None:
    """Defaults follow from the maximum, and default requests from the default limits."""
    draft["metadata"].setdefault("name", random_uuid_text())
    write_missing(child(draft, "spec"), "limits")
    for item in child(draft, "spec").get("limits") or ():
        for field in ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"):
            canonicalize(item, field)
        if item.get("type") != "Container":
            continue
        limits = {**(item.get("max") or {}), **(item.get("default") or {})}
        requests = {**(item.get("min") or {}), **limits, **(item.get("defaultRequest") or {})}
        if limits:
            item["default"] = limits
        if requests:
            item["defaultRequest"] = requests


def default_pod_template(draft: Body) -> None:
    default_template(child(draft, "template"))


def default_cron_job(draft: Body) -> None:
    spec = child(draft, "spec")
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    job = child(spec, "jobTemplate")
    child(job, "metadata")
    template = child(child(job, "spec"), "template")
    default_template(template)
    draft.setdefault("status", {})


def default_autoscaler(draft: Body) -> None:
    spec = child(draft, "spec")
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    if "behavior" in spec:
        for direction, rules in _SCALING.items():
            given = child(spec["behavior"], direction)
            for field, value in rules.items():
                given.setdefault(field, copy.deepcopy(value))
    status = child(draft, "status")
    status.setdefault("desiredReplicas", 0)
    status.setdefault("currentMetrics", None)


def default_role(draft: Body) -> None:
    write_missing(draft, "rules")


def default_binding(draft: Body) -> None:
    """The groups of subjects and of the role."""
    child(draft, "roleRef").setdefault("apiGroup", _RBAC)
    for subject in draft.get("subjects") or ():
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", _RBAC)
        elif subject.get("kind") == "ServiceAccount":
            drop_empty(subject, "apiGroup")


def _default_match(resources: Body) -> None:
    resources.setdefault("matchPolicy", "Equivalent")
    resources.setdefault("namespaceSelector", {})
    resources.setdefault("objectSelector", {})
    for field in ("resourceRules", "excludeResourceRules"):
        for rule in resources.get(field) or ():
            rule.setdefault("scope", "*")


def default_webhooks(draft: Body) -> None:
    drop_empty(draft, "webhooks")
    for webhook in draft.get("webhooks") or ():
        webhook.setdefault("failurePolicy", "Fail")
        webhook.setdefault("timeoutSeconds", 10)
        _default_match(webhook)
        if draft["kind"] == "MutatingWebhookConfiguration":
            webhook.setdefault("reinvocationPolicy", "Never")
        for rule in webhook.get("rules") or ():
            rule.setdefault("scope", "*")
        _default_port(webhook.get("clientConfig"))


def _default_port(client: Body | None) -> None:
    """The port of the Service that a client reaches, if it reaches one."""
    service = (client or {}).get("service")
    if service is not None:
        service.setdefault("port", 443)


def default_admission_policy(draft: Body) -> None:
    spec = child(draft, "spec")
    spec.setdefault("failurePolicy", "Fail")
    if "matchConstraints" in spec:
        _default_match(spec["matchConstraints"])


def default_validating_policy(draft: Body) -> None:
    default_admission_policy(draft)
    child(draft, "status")


def default_admission_binding(draft: Body) -> None:
    resources = child(draft, "spec").get("matchResources")
    if resources is not None:
        _default_match(resources)


def default_api_service(draft: Body) -> None:
    _default_port(child(draft, "spec"))
    child(draft, "status")


def default_claim(draft: Body) -> None:
    """A claim for devices."""
    _default_requests(child(draft, "spec"))
    draft.setdefault("status", {})


def default_resource_slice(draft: Body) -> None:
    spec = child(draft, "spec")
    pool = spec.get("pool")
    if pool is not None:
        pool.setdefault("generation", 0)
    for device in spec.get("devices") or ():
        amounts = [device, *(device.get("consumesCounters") or ())]
        for holder, field in zip(amounts, ("capacity", *["counters"] * len(amounts)), strict=False):
            _default_amounts(holder.get(field))
    for shared in spec.get("sharedCounters") or ():
        _default_amounts(shared.get("counters"))


def _default_amounts(amounts: Mapping[str, Body] | None) -> None:
    """Capacities and counters have a value in any case."""
    for amount in (amounts or {}).values():
        amount.setdefault("value", "0")


def default_claim_template(draft: Body) -> None:
    spec = child(draft, "spec")
    child(spec, "metadata")
    _default_requests(child(spec, "spec"))


def _default_requests(spec: Body) -> None:
    devices = child(spec, "devices")
    devices.setdefault("requests", None)
    for request in devices["requests"] or ():
        for one in [request.get("exactly"), *(request.get("firstAvailable") or ())]:
            if one is not None:
                _default_request(one)


def _default_request(request: Body) -> None:
    """0 and "" are as good as absent."""
    drop_empty(request, "allocationMode", "count")
    request.setdefault("allocationMode", "ExactCount")
    if request["allocationMode"] == "ExactCount":
        request.setdefault("count", 1)
    for toleration in request.get("tolerations") or ():
        drop_empty(toleration, "operator")
        toleration.setdefault("operator", "Equal")


def default_flow_schema(draft: Body) -> None:
    spec = child(draft, "spec")
    drop_empty(spec, "matchingPrecedence")
    spec.setdefault("matchingPrecedence", 1000)
    child(spec, "priorityLevelConfiguration").setdefault("name", "")
    child(draft, "status")


def default_priority_level(draft: Body) -> None:
    """Shares of the requests that run at a time, and the lengths of queues."""
    spec = child(draft, "spec")
    for kind, shares in (("exempt", 0), ("limited", 30)):
        level = spec.get(kind)
        if level is not None:
            level.setdefault("nominalConcurrencyShares", shares)
            level.setdefault("lendablePercent", 0)
    queuing = ((spec.get("limited") or {}).get("limitResponse") or {}).get("queuing")
    if queuing is not None:
        for field, value in (("queues", 64), ("handSize", 8), ("queueLengthLimit", 50)):
            queuing[field] = queuing.get(field) or value
    child(draft, "status")


def default_ingress_class(draft: Body) -> None:
    parameters = child(draft, "spec").get("parameters")
    if parameters is not None:
        parameters.setdefault("scope", "Cluster")


def default_empty_status(draft: Body) -> None:
    """The status of a kind that writes it even if it is empty."""
    child(draft, "status")


def default_custom_resource_definition(draft: Body) -> None:
    spec = child(draft, "spec")
    names = child(spec, "names")
    if names.get("kind"):
        names.setdefault("singular", names["kind"].lower())
        names.setdefault("listKind", f"{names['kind']}List")
    conversion = spec.setdefault("conversion", {"strategy": "None"})
    _default_port((conversion.get("webhook") or {}).get("clientConfig"))
    draft.setdefault("status", {})
