"""Evicts pods: a deletion that the pod's disruption budget must allow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from apps.cluster import kinds, queries
from apps.cluster.errors import ApiError, BadRequest, Forbidden, TooManyRequests
from apps.cluster.models import Cluster
from apps.cluster.ownership.managers import Manager
from apps.cluster.ownership.writes import Updating
from apps.cluster.queries import Selection
from apps.cluster.writes import Actor, Delete, Update, Write
from apps.cluster.writing import store
from apps.cluster.writing.binding import set_condition
from apps.cluster.writing.metadata import timestamp
from apps.scheduler.labels import SelectorError, from_label_selector
from apps.scheduler.objects import LabelSelector
from apps.scheduler.objects import decode as decode_object

Body = dict[str, Any]
Budget = Mapping[str, Any]

MAX_DISRUPTED_PODS = 2000
_VIOLATION = "Cannot evict pod as it would violate the pod's disruption budget."
_CONDITION = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}


def evict(
    cluster: Cluster,
    namespace: str,
    name: str,
    *,
    actor: Actor,
    options: Mapping[str, Any] | None = None,
    dry_run: bool = False,
) -> None:
    """Mark the pod as disrupted and delete it.

    Raises TooManyRequests if its budget does not allow it.
    """
    pod = queries.get(cluster, kinds.POD, namespace, name)
    budgets = [] if _needs_no_budget(pod) else budgets_of(cluster, pod)
    writes = eviction_writes(pod, budgets, cluster.now(), options)
    store.write(cluster, writes, actor=actor, dry_run=dry_run)


def eviction_writes(
    pod: Body, budgets: Sequence[Body], now: datetime, options: Mapping[str, Any] | None = None
) -> list[Write]:
    """The writes of an eviction; `budgets` are those whose selector the pod matches.

    Raises BadRequest if there are several budgets. The first of the writes raises TooManyRequests
    if its budget does not allow the eviction.
    """
    where = (kinds.POD, pod["metadata"]["namespace"], pod["metadata"]["name"])
    writes: list[Write] = []
    if not _needs_no_budget(pod):
        if len(budgets) > 1:
            raise BadRequest(
                "This pod has more than one PodDisruptionBudget, which the eviction subresource "
                "does not support."
            )
        writes += [_charge_budget(budget, pod, now) for budget in budgets]
    mark = Update(*where, _mark_disrupted(now), "status", trusted=True)
    # the budget first: if it does not allow the eviction, the pod is not marked
    return [*writes, mark, Delete(*where, options or {}, reviewed=True)]


def budgets_of(cluster: Cluster, pod: Body) -> list[Body]:
    """The disruption budgets whose selector the pod matches."""
    kind = kinds.by_name("PodDisruptionBudget")
    namespace = pod["metadata"]["namespace"]
    budgets = queries.list_objects(cluster, kind, Selection(namespace=namespace)).items
    return matching_budgets(budgets, pod)


def matching_budgets(budgets: Iterable[Body], pod: Body) -> list[Body]:
    """The `budgets` in the pod's namespace whose selector matches the pod."""
    namespace = pod["metadata"]["namespace"]
    labels = pod["metadata"].get("labels") or {}
    return [
        budget
        for budget in budgets
        if budget["metadata"]["namespace"] == namespace and _selects(budget, labels)
    ]


def _selects(budget: Budget, labels: Mapping[str, str]) -> bool:
    decoded = decode_object("PodDisruptionBudget", budget)
    selector: LabelSelector | None = decoded.spec.selector
    try:
        return from_label_selector(selector).matches(labels)
    except SelectorError:
        return False


def _needs_no_budget(pod: Body) -> bool:
    """Whether the pod can be evicted without a budget."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or bool(
        pod["metadata"].get("deletionTimestamp")
    )


def _charge_budget(budget: Body, pod: Body, now: datetime) -> Update:
    metadata, kind = budget["metadata"], kinds.by_name("PodDisruptionBudget")
    return Update(
        kind,
        metadata["namespace"],
        metadata["name"],
        lambda current: _allow_one_fewer(current, pod, now),
        "status",
        trusted=True,
        owners=Updating(kind, Manager("kube-apiserver", "Update", kind.api_version, "status")),
    )


def _allow_one_fewer(budget: Body, pod: Body, now: datetime) -> Body:
    """The budget with one allowed disruption fewer; raises if none is left."""
    status = dict(budget.get("status") or {})
    name = budget["metadata"]["name"]
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _violation(
            f"The disruption budget {name} is still being processed by the server.", retry=10
        )
    if not _is_ready(pod) and _may_evict_unready(budget):
        return budget
    allowed = status.get("disruptionsAllowed", 0)
    disrupted = dict(status.get("disruptedPods") or {})
    if allowed < 0:
        raise Forbidden(
            f'poddisruptionbudgets.policy "{name}": pdb disruptions allowed is negative'
        )
    if len(disrupted) > MAX_DISRUPTED_PODS:
        raise Forbidden(
            f'poddisruptionbudgets.policy "{name}": DisruptedPods map too big - too many evictions '
            "not confirmed by PDB controller"
        )
    if allowed == 0:
        desired, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        if healthy > desired:
            raise _violation(f"The disruption budget {name} does not allow evicting pods currently")
        raise _violation(
            f"The disruption budget {name} needs {desired} healthy pods and has {healthy} currently"
        )
    disrupted[pod["metadata"]["name"]] = timestamp(now)
    status |= {"disruptionsAllowed": allowed - 1, "disruptedPods": disrupted}
    status["conditions"] = _set_allowance(budget, allowed - 1, now)
    return {**budget, "status": status}


def _set_allowance(budget: Budget, allowed: int, now: datetime) -> list[Body]:
    """The budget's conditions after its allowance changed."""
    conditions = list((budget.get("status") or {}).get("conditions") or [])
    before: Body = next((c for c in conditions if c["type"] == "DisruptionAllowed"), {})
    value = "True" if allowed > 0 else "False"
    moved = before.get("status") != value
    condition = {
        "type": "DisruptionAllowed",
        "status": value,
        "observedGeneration": budget["metadata"].get("generation", 0),
        "lastTransitionTime": timestamp(now) if moved else before.get("lastTransitionTime"),
        "reason": "SufficientPods" if allowed > 0 else "InsufficientPods",
        "message": "",
    }
    return [*(c for c in conditions if c["type"] != "DisruptionAllowed"), condition]


def _may_evict_unready(budget: Budget) -> bool:
    """Whether unready pods may be evicted without charging the budget."""
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired = status.get("desiredHealthy", 0)
    return bool(desired > 0 and status.get("currentHealthy", 0) >= desired)


def _is_ready(pod: Body) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _mark_disrupted(now: datetime) -> Callable[[Body], Body]:
    def change(pod: Body) -> Body:
        status = dict(pod.get("status") or {})
        conditions = status.get("conditions") or []
        status["conditions"] = set_condition(conditions, dict(_CONDITION), now)
        return {**pod, "status": status}

    return change


def _violation(why: str, *, retry: int = 0) -> ApiError:
    details: Body = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
    if retry:
        details["retryAfterSeconds"] = retry
    return TooManyRequests(_VIOLATION, details=details)
