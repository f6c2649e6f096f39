"""Defaults of the controllers that own pods, and of disruption budgets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.admission.defaulting.pods import default_template
from apps.cluster.admission.defaulting.storage import default_claim_template
from apps.cluster.admission.draft import Body, child

_LABEL_LENGTH: Final = 63
#: The annotation of a DaemonSet that counts the changes of its template.
TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
#: The label of a Job's pods that its selector has.
_CONTROLLER: Final = "batch.kubernetes.io/controller-uid"


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
    spec.setdefault("serviceName", "")
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
    """Updated node by node; an annotation counts the changes of the template."""
    spec = child(daemon_set, "spec")
    child(daemon_set["metadata"], "annotations").setdefault(TEMPLATE_GENERATION, "0")
    spec.setdefault("revisionHistoryLimit", 10)
    strategy = child(spec, "updateStrategy")
    strategy["type"] = strategy.get("type") or "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = child(strategy, "rollingUpdate")
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    default_template(child(spec, "template"))


def start_counting_templates(daemon_set: Body, *, restored: bool) -> None:
    """A new DaemonSet has its first template; one that is restored has the count of before."""
    annotations = daemon_set["metadata"]["annotations"]
    if not restored or annotations[TEMPLATE_GENERATION] == "0":
        annotations[TEMPLATE_GENERATION] = "1"


def count_template(daemon_set: Body, old: Mapping[str, Any]) -> None:
    """Count a change of the template since `old`, which clients cannot do."""
    before = int((old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION) or 1)
    changed = daemon_set["spec"]["template"] != (old.get("spec") or {}).get("template")
    daemon_set["metadata"]["annotations"][TEMPLATE_GENERATION] = str(before + changed)


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
    spec.setdefault("manualSelector", False)
    template = child(spec, "template")
    default_template(template)
    _default_labels(job["metadata"], template)


def select_own_pods(job: Body) -> None:
    """Let a Job select the pods with its uid, unless its user has chosen a selector."""
    metadata, spec = job["metadata"], job["spec"]
    if not spec["manualSelector"] and metadata.get("uid"):
        _add_own_labels(metadata, spec)
        # a name that is no label is refused where the template has it
        if len(metadata.get("name", "")) <= _LABEL_LENGTH:
            _default_labels(metadata, spec["template"])


def _default_labels(metadata: Body, template: Body) -> None:
    labels = template["metadata"].get("labels")
    if labels and not metadata.get("labels"):
        # the same ones, as upstream: labels that a Job's pods get later are the Job's, too
        metadata["labels"] = labels


def _add_own_labels(metadata: Body, spec: Body) -> None:
    if "selector" in spec and _CONTROLLER in (spec["selector"].get("matchLabels") or {}):
        return
    labels = child(spec["template"]["metadata"], "labels")
    for prefix in ("", "batch.kubernetes.io/"):
        labels.setdefault(f"{prefix}controller-uid", metadata["uid"])
        labels.setdefault(f"{prefix}job-name", metadata.get("name", ""))
    child(child(spec, "selector"), "matchLabels")[_CONTROLLER] = metadata["uid"]


def default_pod_disruption_budget(budget: Body) -> None:
    """A budget without a spec protects no pods."""
    child(budget, "spec")
