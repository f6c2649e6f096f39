"""Columns of workloads: deployments, daemon sets, jobs."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from apps.cluster.tables.columns import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    UNSET,
    Body,
    Cell,
    Column,
    age,
    count,
    get,
    labels,
    path,
)
from apps.cluster.tables.columns import selector as selector_text


def _template(workload: Body) -> list[Body]:
    return list(get(workload, "spec", "template", "spec", "containers", default=[]))


def _ready(workload: Body, now: datetime) -> str:
    ready = get(workload, "status", "readyReplicas", default=0)
    return f"{ready}/{get(workload, 'spec', 'replicas', default=0)}"


def _completions(job: Body, now: datetime) -> str:
    succeeded = get(job, "status", "succeeded", default=0)
    wanted = get(job, "spec", "completions", default=None)
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    parallel = get(job, "spec", "parallelism", default=1)
    return f"{succeeded}/1 of {parallel}" if parallel > 1 else f"{succeeded}/1"


def _job_status(job: Body, now: datetime) -> str:
    conditions = get(job, "status", "conditions", default=[])
    true = {each["type"] for each in conditions if each.get("status") == "True"}
    for condition, word in (("Complete", "Complete"), ("Failed", "Failed")):
        if condition in true:
            return word
    if get(job, "metadata", "deletionTimestamp"):
        return "Terminating"
    words = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
    return next((word for word in words if word in true), "Running")


def _duration(job: Body, now: datetime) -> str:
    started = get(job, "status", "startTime")
    if not started:
        return ""
    ended = get(job, "status", "completionTime")
    return age(started, datetime.fromisoformat(ended) if ended else now)


#: Columns of what has a pod template.
CONTAINERS = (
    Column("Containers", lambda w, now: ",".join(c["name"] for c in _template(w)), priority=1),
    Column("Images", lambda w, now: ",".join(c.get("image", "") for c in _template(w)), priority=1),
)
_SELECTOR = Column(
    "Selector", lambda w, now: selector_text(get(w, "spec", "selector", default={})), priority=1
)


DEPLOYMENTS = (
    NAME,
    Column("Ready", _ready),
    Column("Up-to-date", path("status", "updatedReplicas", default=0)),
    Column("Available", path("status", "availableReplicas", default=0)),
    AGE,
    *CONTAINERS,
    _SELECTOR,
)
DAEMON_SETS = (
    NAME,
    Column("Desired", path("status", "desiredNumberScheduled", default=0), "integer"),
    Column("Current", path("status", "currentNumberScheduled", default=0), "integer"),
    Column("Ready", path("status", "numberReady", default=0), "integer"),
    Column("Up-to-date", path("status", "updatedNumberScheduled", default=0), "integer"),
    Column("Available", path("status", "numberAvailable", default=0), "integer"),
    Column(
        "Node Selector",
        lambda w, now: labels(get(w, "spec", "template", "spec", "nodeSelector", default={})),
    ),
    AGE,
    *CONTAINERS,
    _SELECTOR,
)
JOBS = (
    NAME,
    Column("Status", _job_status),
    Column("Completions", _completions),
    Column("Duration", _duration),
    AGE,
    *CONTAINERS,
    _SELECTOR,
)


def _containers_of(*steps: str, priority: int = 1) -> tuple[Column, Column]:
    def cell(field: str) -> Cell:
        containers = (*steps, "spec", "containers")
        return lambda b, now: ",".join(
            each.get(field, "") for each in get(b, *containers, default=[])
        )

    return (
        Column("Containers", cell("name"), priority=priority),
        Column("Images", cell("image"), priority=priority),
    )


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


_REPLICAS = (
    NAME,
    Column("Desired", path("spec", "replicas", default=0), "integer"),
    Column("Current", path("status", "replicas", default=0), "integer"),
    Column("Ready", path("status", "readyReplicas", default=0), "integer"),
    AGE,
    *CONTAINERS,
)


CONTROLLER_REVISIONS: Final = (
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
)
CRON_JOBS: Final = (
    NAME,
    Column("Schedule", path("spec", "schedule")),
    Column("Timezone", path("spec", "timeZone", default=NONE)),
    Column("Suspend", lambda b, now: str(get(b, "spec", "suspend", default=UNSET)), "boolean"),
    Column("Active", count("status", "active"), "integer"),
    Column("Last Schedule", _last_schedule),
    AGE,
    *_containers_of("spec", "jobTemplate", "spec", "template"),
    Column(
        "Selector",
        lambda b, now: selector_text(get(b, "spec", "jobTemplate", "spec", "selector", default={})),
        priority=1,
    ),
)
HORIZONTAL_POD_AUTOSCALERS: Final = (
    NAME,
    Column(
        "Reference",
        lambda b, now: "/".join(
            str(get(b, "spec", "scaleTargetRef", field)) for field in ("kind", "name")
        ),
    ),
    Column("Targets", _targets),
    Column("MinPods", lambda b, now: str(get(b, "spec", "minReplicas", default=UNSET))),
    Column("MaxPods", path("spec", "maxReplicas", default=0)),
    Column("Replicas", path("status", "currentReplicas", default=0)),
    AGE,
)
POD_TEMPLATES: Final = (
    NAME,
    *_containers_of("template", priority=0),
    Column(
        "Pod Labels",
        lambda b, now: labels(get(b, "template", "metadata", "labels", default={})),
    ),
)
REPLICA_SETS: Final = (
    *_REPLICAS,
    Column(
        "Selector", lambda w, now: selector_text(get(w, "spec", "selector", default={})), priority=1
    ),
)
REPLICATION_CONTROLLERS: Final = (
    *_REPLICAS,
    Column("Selector", lambda w, now: labels(get(w, "spec", "selector", default={})), priority=1),
)
STATEFUL_SETS: Final = (
    NAME,
    Column(
        "Ready",
        lambda w, now: (
            f"{get(w, 'status', 'readyReplicas', default=0)}"
            f"/{get(w, 'spec', 'replicas', default=0)}"
        ),
    ),
    AGE,
    *CONTAINERS,
)
