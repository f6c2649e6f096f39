"""Columns of priorities, budgets, quotas, groups, devices and priority levels."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from apps.cluster.tables.columns import (
    AGE,
    NAME,
    NONE,
    Body,
    Cell,
    Column,
    get,
    path,
)


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


def _quota_cell(of_limits: bool) -> Callable[[Body, datetime], str]:
    """Used and hard amounts: of requests and counts, or of limits."""

    def cell(quota: Body, now: datetime) -> str:
        used = get(quota, "status", "used", default={})
        return ", ".join(
            f"{name}: {used.get(name, 0)}/{hard}"
            for name, hard in sorted(get(quota, "status", "hard", default={}).items())
            if name.startswith("limits") == of_limits
        )

    return cell


FLOW_SCHEMAS: Final = (
    NAME,
    Column("PriorityLevel", path("spec", "priorityLevelConfiguration", "name")),
    Column("MatchingPrecedence", path("spec", "matchingPrecedence", default=0)),
    Column("DistinguisherMethod", path("spec", "distinguisherMethod", "type", default=NONE)),
    AGE,
    Column("MissingPL", _missing_level),
)
POD_GROUPS: Final = (
    NAME,
    Column("Policy", _group_policy),
    Column(
        "Workload",
        path("spec", "podGroupTemplateRef", "workload", "workloadName", default=NONE),
    ),
    Column("Status", _group_status),
    AGE,
)
PRIORITY_LEVEL_CONFIGURATIONS: Final = (
    NAME,
    Column("Type", path("spec", "type")),
    Column("NominalConcurrencyShares", _limited("nominalConcurrencyShares")),
    Column("Queues", _queuing("queues")),
    Column("HandSize", _queuing("handSize")),
    Column("QueueLengthLimit", _queuing("queueLengthLimit")),
    AGE,
)
RESOURCE_CLAIMS: Final = (NAME, Column("State", _claim_state), AGE)
RESOURCE_SLICES: Final = (
    NAME,
    Column("Node", path("spec", "nodeName")),
    Column("Driver", path("spec", "driver")),
    Column("Pool", path("spec", "pool", "name")),
    AGE,
)
POD_DISRUPTION_BUDGETS: Final = (
    NAME,
    Column("Min Available", lambda b, now: str(get(b, "spec", "minAvailable", default="N/A"))),
    Column("Max Unavailable", lambda b, now: str(get(b, "spec", "maxUnavailable", default="N/A"))),
    Column("Allowed Disruptions", path("status", "disruptionsAllowed", default=0), "integer"),
    AGE,
)
PRIORITY_CLASSES: Final = (
    NAME,
    Column("Value", path("value", default=0), "integer"),
    Column("Global-Default", path("globalDefault", default=False), "boolean"),
    AGE,
    Column("PreemptionPolicy", path("preemptionPolicy")),
)
RESOURCE_QUOTAS: Final = (
    NAME,
    Column("Request", _quota_cell(of_limits=False)),
    Column("Limit", _quota_cell(of_limits=True)),
    AGE,
)
