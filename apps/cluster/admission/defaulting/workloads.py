"""Defaults of the controllers that own pods, and of disruption budgets."""

from __future__ import annotations

from apps.cluster.admission.defaulting.pods import default_template
from apps.cluster.admission.defaulting.storage import default_claim_template
from apps.cluster.admission.draft import Body, child


def default_replica_set(replica_set: Body) -> None:
    """One replica."""
    spec = child(replica_set, "spec")
    spec.setdefault("replicas", 1)
    default_template(child(spec, "template"))


def default_replication_controller(controller: Body) -> None:
    """One replica; selector and labels are those of the template."""
    spec = child(controller, "spec")
    spec.setdefault("replicas", 1)
    template = spec.get("template")
    if template is None:
        return
    default_template(template)
    labels = template["metadata"].get("labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        if not controller["metadata"].get("labels"):
            controller["metadata"]["labels"] = dict(labels)


def default_stateful_set(stateful_set: Body) -> None:
    """One replica, started in order, updated one by one; its claims are retained."""
    spec = child(stateful_set, "spec")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec["podManagementPolicy"] = spec.get("podManagementPolicy") or "OrderedReady"
    strategy = child(spec, "updateStrategy")
    strategy["type"] = strategy.get("type") or "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        child(strategy, "rollingUpdate").setdefault("partition", 0)
    retention = child(spec, "persistentVolumeClaimRetentionPolicy")
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    default_template(child(spec, "template"))
    for claim in spec.get("volumeClaimTemplates", ()):
        default_claim_template(claim)


def default_deployment(deployment: Body) -> None:
    """One replica, replaced a quarter at a time."""
    spec = child(deployment, "spec")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    strategy = child(spec, "strategy")
    strategy["type"] = strategy.get("type") or "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = child(strategy, "rollingUpdate")
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    default_template(child(spec, "template"))


def default_daemon_set(daemon_set: Body) -> None:
    """Updated node by node."""
    spec = child(daemon_set, "spec")
    spec.setdefault("revisionHistoryLimit", 10)
    strategy = child(spec, "updateStrategy")
    strategy["type"] = strategy.get("type") or "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = child(strategy, "rollingUpdate")
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    default_template(child(spec, "template"))


def default_job(job: Body) -> None:
    """One completion; the selector is the job's uid unless the user specifies one."""
    spec = child(job, "spec")
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    # a limit for each index leaves the whole Job without one
    spec.setdefault("backoffLimit", 6 if spec.get("backoffLimitPerIndex") is None else 2**31 - 1)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    policy = spec.get("podFailurePolicy")
    spec.setdefault("podReplacementPolicy", "TerminatingOrFailed" if policy is None else "Failed")
    for rule in (policy or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            pattern["status"] = pattern.get("status") or "True"
    template = child(spec, "template")
    default_template(template)
    metadata = job["metadata"]
    if spec.get("selector") is None and not spec.get("manualSelector") and metadata.get("uid"):
        labels = child(template["metadata"], "labels")
        for prefix in ("", "batch.kubernetes.io/"):
            labels.setdefault(f"{prefix}controller-uid", metadata["uid"])
            labels.setdefault(f"{prefix}job-name", metadata.get("name", ""))
        spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": metadata["uid"]}}


def default_pod_disruption_budget(budget: Body) -> None:
    """A budget without a spec protects no pods."""
    child(budget, "spec")
