"""Columns of workloads: deployments, daemon sets, jobs."""

from __future__ import annotations

from datetime import datetime

from apps.cluster.tables.columns import AGE, NAME, Body, Column, age, get, labels, path
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
