"""The tables of the kinds that are only data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from apps.cluster.tables.columns import (
    AGE,
    CREATED,
    NAME,
    NONE,
    UNKNOWN,
    Column,
    age,
    get,
    labels,
    path,
    selector,
)

Body = Mapping[str, Any]
Cell = Callable[[Body, datetime], Any]

_UNSET: Final = "<unset>"
#: Endpoints shown before "+ 5 more...".
_SHOWN: Final = 3


def _count(*steps: str) -> Cell:
    return lambda body, now: len(get(body, *steps, default=()))


def _joined(texts: Sequence[str]) -> str:
    more = f" + {len(texts) - _SHOWN} more..." if len(texts) > _SHOWN else ""
    return ",".join(texts[:_SHOWN]) + more or NONE


def _endpoints(body: Body, now: datetime) -> str:
    texts = [
        f"{address.get('ip', '')}:{port['port']}" if port else address.get("ip", "")
        for subset in get(body, "subsets", default=[])
        for port in subset.get("ports") or [None]
        for address in subset.get("addresses") or []
    ]
    return _joined(texts)


def _slice_endpoints(body: Body, now: datetime) -> str:
    found = [each for one in get(body, "endpoints", default=[]) for each in one["addresses"]]
    return _joined(found) if found else _UNSET


def _slice_ports(body: Body, now: datetime) -> str:
    ports = get(body, "ports", default=[])
    return _joined([str(port.get("port", "*")) for port in ports]) if ports else _UNSET


def _template(*steps: str, priority: int = 1) -> tuple[Column, Column]:
    def cell(field: str) -> Cell:
        containers = (*steps, "spec", "containers")
        return lambda b, now: ",".join(
            each.get(field, "") for each in get(b, *containers, default=[])
        )

    return (
        Column("Containers", cell("name"), priority=priority),
        Column("Images", cell("image"), priority=priority),
    )


def _hosts(ingress: Body, now: datetime) -> str:
    hosts = [rule["host"] for rule in get(ingress, "spec", "rules", default=[]) if "host" in rule]
    return _joined(hosts) if hosts else "*"


def _address(ingress: Body, now: datetime) -> str:
    found = get(ingress, "status", "loadBalancer", "ingress", default=[])
    return ",".join(each.get("ip") or each.get("hostname", "") for each in found)


def _parameters(ingress_class: Body, now: datetime) -> str:
    found = get(ingress_class, "spec", "parameters", default={})
    if not found:
        return NONE
    group = f".{found['apiGroup']}" if found.get("apiGroup") else ""
    return f"{found['kind']}{group}/{found['name']}"


def _last_schedule(cron_job: Body, now: datetime) -> str:
    at = get(cron_job, "status", "lastScheduleTime")
    return age(at, now) if at else NONE


def _targets(autoscaler: Body, now: datetime) -> str:
    texts = []
    current = get(autoscaler, "status", "currentMetrics", default=[])
    for index, metric in enumerate(get(autoscaler, "spec", "metrics", default=[])):
        source = metric.get(metric["type"][0].lower() + metric["type"][1:]) or {}
        reading = current[index] if index < len(current) else {}
        now_ = (reading.get(metric["type"][0].lower() + metric["type"][1:]) or {}).get("current")
        target = source.get("target") or {}
        name = f"{source['name']}: " if metric["type"] == "Resource" else ""
        texts.append(f"{name}{_amount(now_, '') or UNKNOWN}/{_amount(target, '<auto>')}")
    return ", ".join(texts) or NONE


def _amount(value: Body | None, missing: str) -> str:
    if value and "averageUtilization" in value:
        return f"{value['averageUtilization']}%"
    return str((value or {}).get("averageValue") or (value or {}).get("value") or missing)


def _subjects(kind: str) -> Cell:
    def cell(binding: Body, now: datetime) -> str:
        found = [s for s in get(binding, "subjects", default=[]) if s["kind"] == kind]
        if kind == "ServiceAccount":
            return ", ".join(f"{each.get('namespace', '')}/{each['name']}" for each in found)
        return ", ".join(each["name"] for each in found)

    return cell


def _request_condition(request: Body, now: datetime) -> str:
    types = [each["type"] for each in get(request, "status", "conditions", default=[])]
    shown = [each for each in ("Approved", "Denied", "Failed") if each in types] or ["Pending"]
    return ",".join([*shown, *(["Issued"] if get(request, "status", "certificate") else [])])


def _param(*steps: str) -> Cell:
    def cell(body: Body, now: datetime) -> str:
        found = get(body, *steps, default={})
        if not found:
            return _UNSET
        if "apiVersion" in found:
            return f"{found['apiVersion']}/{found['kind']}"
        place = found.get("namespace") or "*"
        return f"{place}/{found['name']}" if "name" in found else f"{place}/*"

    return cell


def _service(api_service: Body, now: datetime) -> str:
    found = get(api_service, "spec", "service", default={})
    return f"{found.get('namespace')}/{found.get('name')}" if found else "Local"


def _available(api_service: Body, now: datetime) -> str:
    for condition in get(api_service, "status", "conditions", default=[]):
        if condition["type"] == "Available":
            is_true = condition["status"] == "True"
            return "True" if is_true else f"{condition['status']} ({condition.get('reason', '')})"
    return "Unknown"


def _missing_level(schema: Body, now: datetime) -> str:
    conditions = get(schema, "status", "conditions", default=[])
    return next((each["status"] for each in conditions if each["type"] == "Dangling"), "?")


def _claim_state(claim: Body, now: datetime) -> str:
    states = []
    if get(claim, "metadata", "deletionTimestamp"):
        states.append("deleted")
    if get(claim, "status", "allocation", default=None) is None:
        return ",".join([*states, "pending"])
    states.append("allocated")
    return ",".join([*states, *(["reserved"] if get(claim, "status", "reservedFor") else [])])


def _group_policy(group: Body, now: datetime) -> str:
    return "Gang" if get(group, "spec", "schedulingPolicy", "gang", default=None) else "Basic"


def _group_status(group: Body, now: datetime) -> str:
    """Upstream's words for the condition that counts most."""
    conditions = {each["type"]: each for each in get(group, "status", "conditions", default=[])}
    disrupted = conditions.get("DisruptionTarget")
    if disrupted is not None and disrupted.get("status") == "True":
        return str(disrupted.get("reason", ""))
    scheduled = conditions.get("PodGroupScheduled")
    if scheduled is None:
        return "Pending"
    return "Scheduled" if scheduled.get("status") == "True" else "Unschedulable"


def _limited(*steps: str) -> Cell:
    return path("spec", "limited", *steps, default=NONE)


def _queuing(name: str) -> Cell:
    return _limited("limitResponse", "queuing", name)


_BINDING = (
    NAME,
    Column("Role", lambda b, now: f"{b['roleRef']['kind']}/{b['roleRef']['name']}"),
    AGE,
    Column("Users", _subjects("User"), priority=1),
    Column("Groups", _subjects("Group"), priority=1),
    Column("ServiceAccounts", _subjects("ServiceAccount"), priority=1),
)
_WEBHOOKS = (NAME, Column("Webhooks", _count("webhooks"), "integer"), AGE)
_POLICY_BINDING = (
    NAME,
    Column("PolicyName", path("spec", "policyName")),
    Column("ParamRef", _param("spec", "paramRef")),
    AGE,
)
_PARAM_KIND = Column("ParamKind", _param("spec", "paramKind"))

COLUMNS: Final[Mapping[str, tuple[Column, ...]]] = {
    "APIService": (NAME, Column("Service", _service), Column("Available", _available), AGE),
    "CSIStorageCapacity": (NAME, CREATED),
    "CertificateSigningRequest": (
        NAME,
        AGE,
        Column("SignerName", path("spec", "signerName", default=NONE)),
        Column("Requestor", path("spec", "username")),
        Column("RequestedDuration", path("spec", "expirationSeconds", default=NONE)),
        Column("Condition", _request_condition),
    ),
    "ClusterRole": (NAME, CREATED),
    "ClusterRoleBinding": _BINDING,
    "ComponentStatus": (
        NAME,
        Column("Status", lambda b, now: "Healthy"),
        Column("Message", lambda b, now: b["conditions"][0].get("message", "")),
        Column("Error", lambda b, now: b["conditions"][0].get("error", "")),
    ),
    "ConfigMap": (
        NAME,
        Column("Data", lambda b, now: len(b.get("data") or ()) + len(b.get("binaryData") or ())),
        AGE,
    ),
    "ControllerRevision": (
        NAME,
        Column(
            "Controller",
            lambda b, now: next(
                (
                    f"{each['kind'].lower()}.{each['apiVersion'].partition('/')[0]}/{each['name']}"
                    for each in get(b, "metadata", "ownerReferences", default=[])
                    if each.get("controller")
                ),
                NONE,
            ),
        ),
        Column("Revision", path("revision", default=0)),
        AGE,
    ),
    "CronJob": (
        NAME,
        Column("Schedule", path("spec", "schedule")),
        Column("Timezone", path("spec", "timeZone", default=NONE)),
        Column("Suspend", lambda b, now: str(get(b, "spec", "suspend", default=False)), "boolean"),
        Column("Active", _count("status", "active"), "integer"),
        Column("Last Schedule", _last_schedule),
        AGE,
        *_template("spec", "jobTemplate", "spec", "template"),
        Column(
            "Selector",
            lambda b, now: selector(get(b, "spec", "jobTemplate", "spec", "selector", default={})),
            priority=1,
        ),
    ),
    "CustomResourceDefinition": (NAME, CREATED),
    "DeviceClass": (NAME, AGE),
    "EndpointSlice": (
        NAME,
        Column("AddressType", path("addressType")),
        Column("Ports", _slice_ports),
        Column("Endpoints", _slice_endpoints),
        AGE,
    ),
    "Endpoints": (NAME, Column("Endpoints", _endpoints), AGE),
    "FlowSchema": (
        NAME,
        Column("PriorityLevel", path("spec", "priorityLevelConfiguration", "name")),
        Column("MatchingPrecedence", path("spec", "matchingPrecedence", default=0)),
        Column("DistinguisherMethod", path("spec", "distinguisherMethod", "type", default=NONE)),
        AGE,
        Column("MissingPL", _missing_level),
    ),
    "HorizontalPodAutoscaler": (
        NAME,
        Column(
            "Reference",
            lambda b, now: "/".join(
                str(get(b, "spec", "scaleTargetRef", field)) for field in ("kind", "name")
            ),
        ),
        Column("Targets", _targets),
        Column("MinPods", lambda b, now: str(get(b, "spec", "minReplicas", default=_UNSET))),
        Column("MaxPods", path("spec", "maxReplicas", default=0)),
        Column("Replicas", path("status", "currentReplicas", default=0)),
        AGE,
    ),
    "IPAddress": (
        NAME,
        Column(
            "ParentRef",
            lambda b, now: "/".join(
                str(get(b, "spec", "parentRef", field))
                for field in ("resource", "namespace", "name")
            ),
        ),
    ),
    "Ingress": (
        NAME,
        Column("Class", path("spec", "ingressClassName", default=NONE)),
        Column("Hosts", _hosts),
        Column("Address", _address),
        Column("Ports", lambda b, now: "80, 443" if get(b, "spec", "tls") else "80"),
        AGE,
    ),
    "IngressClass": (
        NAME,
        Column("Controller", path("spec", "controller")),
        Column("Parameters", _parameters),
        AGE,
    ),
    "LimitRange": (NAME, CREATED),
    "MutatingAdmissionPolicy": (
        NAME,
        Column("Mutations", _count("spec", "mutations"), "integer"),
        _PARAM_KIND,
        AGE,
    ),
    "MutatingAdmissionPolicyBinding": _POLICY_BINDING,
    "MutatingWebhookConfiguration": _WEBHOOKS,
    "NetworkPolicy": (
        NAME,
        Column("Pod-Selector", lambda b, now: selector(get(b, "spec", "podSelector", default={}))),
        AGE,
    ),
    "PodGroup": (
        NAME,
        Column("Policy", _group_policy),
        Column(
            "Workload",
            path("spec", "podGroupTemplateRef", "workload", "workloadName", default=NONE),
        ),
        Column("Status", _group_status),
        AGE,
    ),
    "PodTemplate": (
        NAME,
        *_template("template", priority=0),
        Column(
            "Pod Labels",
            lambda b, now: labels(get(b, "template", "metadata", "labels", default={})),
        ),
    ),
    "PriorityLevelConfiguration": (
        NAME,
        Column("Type", path("spec", "type")),
        Column("NominalConcurrencyShares", _limited("nominalConcurrencyShares")),
        Column("Queues", _queuing("queues")),
        Column("HandSize", _queuing("handSize")),
        Column("QueueLengthLimit", _queuing("queueLengthLimit")),
        AGE,
    ),
    "ResourceClaim": (NAME, Column("State", _claim_state), AGE),
    "ResourceClaimTemplate": (NAME, AGE),
    "ResourceSlice": (
        NAME,
        Column("Node", path("spec", "nodeName")),
        Column("Driver", path("spec", "driver")),
        Column("Pool", path("spec", "pool", "name")),
        AGE,
    ),
    "Role": (NAME, CREATED),
    "RoleBinding": _BINDING,
    "Secret": (
        NAME,
        Column("Type", path("type")),
        Column("Data", _count("data")),
        AGE,
    ),
    "ServiceAccount": (NAME, AGE),
    "ServiceCIDR": (
        NAME,
        Column("CIDRs", lambda b, now: ",".join(get(b, "spec", "cidrs", default=[]))),
        AGE,
    ),
    "ValidatingAdmissionPolicy": (
        NAME,
        Column("Validations", _count("spec", "validations"), "integer"),
        _PARAM_KIND,
        AGE,
    ),
    "ValidatingAdmissionPolicyBinding": _POLICY_BINDING,
    "ValidatingWebhookConfiguration": _WEBHOOKS,
    "VolumeAttributesClass": (NAME, Column("DriverName", path("driverName")), AGE),
    "Workload": (NAME, AGE),
}
