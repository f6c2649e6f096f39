"""The controller of HorizontalPodAutoscalers, every 15 seconds of the cluster's clock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.errors import ApiError, NotFound
from apps.cluster.kind import SCALE
from apps.cluster.tables import columns
from apps.cluster.writing.binding import set_condition
from apps.cluster.writing.metadata import timestamp
from apps.controllers.autoscaling.behavior import History, Limited, limit
from apps.controllers.autoscaling.metrics import NoMetric, Proposal, propose
from apps.controllers.cache import ControllerCache, Ref, ref_of
from apps.controllers.controller import Controller, ReportedWrite, Requeue, Step
from apps.controllers.events.writer import PendingEvent
from apps.controllers.usage.sampling import is_measured, latest_window
from apps.controllers.workloads.ownership import own_pods
from apps.controllers.writes import is_active, object_reference, update_object
from apps.scheduler.objects import KubeObject, Pod

Body = dict[str, Any]

KIND: Final = "HorizontalPodAutoscaler"
USER: Final = "horizontal-pod-autoscaler"
#: Its selector is a map of labels.
_BY_LABELS: Final = "ReplicationController"
PERIOD: Final = timedelta(seconds=15)
_TARGETS: Final = frozenset(kind.name for kind in kinds.ALL if SCALE in kind.subresources)
_LIMITS: Final[Mapping[str, str]] = {
    "": "the desired count is within the acceptable range",
    "TooManyReplicas": "the desired replica count is more than the maximum replica count",
    "TooFewReplicas": "the desired replica count is less than the minimum replica count",
    "ScaleUpLimit": "the desired replica count is increasing faster than the maximum scale rate",
    "ScaleDownLimit": "the desired replica count is decreasing faster than the maximum scale rate",
}
_STABLE: Final[Mapping[str, str]] = {
    "": "recommended size matches current size",
    "ScaleUpStabilized": "recent recommendations were lower than current one, applying the lowest "
    "recent recommendation",
    "ScaleDownStabilized": "recent recommendations were higher than current one, applying the "
    "highest recent recommendation",
}


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The result of reading the metrics once."""

    #: None: they say nothing
    replicas: int | None
    why: str
    conditions: list[Body]
    metrics: list[Body]
    #: reason and note of the events about what cannot be read
    failures: Sequence[tuple[str, str]] = ()


def refs_for_autoscaler(
    cache: ControllerCache, old: KubeObject | None, new: KubeObject | None
) -> Iterable[Ref]:
    """A new autoscaler, or a new spec of one; its own status changes nothing."""
    if new is None:
        assert old is not None
        cache.scalings.pop(old.metadata.uid, None)
        return ()
    return [(KIND, new.metadata.namespace, new.metadata.name)]


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    autoscaler = cache.body(ref)
    if autoscaler is None or autoscaler["metadata"].get("deletionTimestamp"):
        return
    metadata = autoscaler["metadata"]
    history = cache.scalings.setdefault(metadata["uid"], History())
    due = history.next_look(now, PERIOD)
    if due > now:
        yield Requeue(due)
        return
    history.looked_at = now
    yield Requeue(now + PERIOD)
    target_ref = autoscaler["spec"]["scaleTargetRef"]
    target = _target(cache, target_ref, metadata["namespace"])
    if target is None:
        why = _missing(target_ref)
        message = f"the HPA controller was unable to get the target's current scale: {why}"
        failed = _condition("AbleToScale", "False", "FailedGetScale", message)
        yield _warning(autoscaler, "FailedGetScale", why)
        yield _report(ref, autoscaler, now, [failed], {})
        return
    current = target["spec"].get("replicas", 1)
    outcome = _look(cache, autoscaler, target, current, history, now)
    for failure in outcome.failures:
        yield _warning(autoscaler, *failure)
    counts = {"currentReplicas": current, "currentMetrics": outcome.metrics or None}
    if outcome.replicas is not None:
        yield from _scale(autoscaler, target, current, outcome.replicas, outcome, history, now)
        counts["desiredReplicas"] = outcome.replicas
        if outcome.replicas not in (current, 0):
            counts["lastScaleTime"] = timestamp(now)
    yield _report(ref, autoscaler, now, outcome.conditions, counts)


def _missing(target_ref: Body) -> str:
    """Why there is no target."""
    kind, group = target_ref["kind"], target_ref.get("apiVersion", "").rpartition("/")[0]
    if kind not in _TARGETS:
        return f'no matches for kind "{kind}" in group "{group}"'
    target_kind = kinds.by_name(kind)
    return NotFound(target_kind.plural, target_ref["name"], target_kind.group).message


def _target(cache: ControllerCache, reference: Body, namespace: str) -> Body | None:
    if reference.get("kind") not in _TARGETS:
        return None
    return cache.body((reference["kind"], namespace, reference["name"]))


def _look(
    cache: ControllerCache,
    autoscaler: Body,
    target: Body,
    current: int,
    history: History,
    now: datetime,
) -> _Outcome:
    """The number of replicas to set now."""
    spec = autoscaler["spec"]
    able = _condition("AbleToScale", "True", "SucceededGetScale", _GOT_SCALE)
    least, most = spec.get("minReplicas", 1), spec["maxReplicas"]
    if current == 0:
        message = "scaling is disabled since the replica count of the target is zero"
        off = _condition("ScalingActive", "False", "ScalingDisabled", message)
        return _Outcome(0, "", [able, off], [])
    rivals = _rivals(cache, autoscaler)
    if rivals:
        note = f"pods by selector {_selector(target)} are controlled by multiple HPAs: [{rivals}]"
        ambiguous = _condition("ScalingActive", "False", "AmbiguousSelector", note)
        failures = [("AmbiguousSelector", note), ("FailedComputeMetricsReplicas", note)]
        return _Outcome(None, "", [able, ambiguous], [], failures)
    if not least <= current <= most:
        side = "above Spec.MaxReplicas" if current > most else "below Spec.MinReplicas"
        bound = most if current > most else least
        return _Outcome(bound, f"Current number of replicas {side}", [able], [])
    results = [*_proposals(cache, autoscaler, target, current)]
    listed = [each.current if isinstance(each, Proposal) else {"type": ""} for each in results]
    proposals = [each for each in results if isinstance(each, Proposal)]
    missing = [each for each in results if isinstance(each, NoMetric)]
    failures = [(each.reason, each.message) for each in missing]
    # what cannot be read keeps a workload from shrinking
    if missing and max((each.replicas for each in proposals), default=-1) < current:
        first, counts = missing[0], f"{len(missing)} invalid out of {len(results)}"
        message = f"the HPA was unable to compute the replica count: {first.message}"
        failed = _condition("ScalingActive", "False", first.reason, message)
        note = f"invalid metrics ({counts}), first error is: {first.full}"
        failures.append(("FailedComputeMetricsReplicas", note))
        return _Outcome(None, "", [able, failed], listed, failures)
    best = max(proposals, key=lambda each: each.replicas)
    limited = limit(spec, current, best.replicas, history, now)
    above = f"{best.name} above target"
    why = "All metrics below target" if limited.replicas < current else above
    conditions = _conditions(current, best, limited)
    return _Outcome(limited.replicas, why, conditions, listed, failures)


_GOT_SCALE: Final = "the HPA controller was able to get the target's current scale"


def _proposals(
    cache: ControllerCache, autoscaler: Body, target: Body, current: int
) -> Iterator[Proposal | NoMetric]:
    """What each metric asks for, or why it cannot be computed."""
    namespace, measured = autoscaler["metadata"]["namespace"], is_measured(cache.cluster)
    pods, window = _pods(cache, target), latest_window(cache.cluster)
    for metric in autoscaler["spec"]["metrics"]:
        try:
            yield propose(metric, namespace, pods, current, window, measured=measured)
        except NoMetric as error:
            yield error


def _rivals(cache: ControllerCache, autoscaler: Body) -> str:
    """The autoscalers of the same workload, if there are several."""
    namespace = autoscaler["metadata"]["namespace"]
    target = autoscaler["spec"]["scaleTargetRef"]
    bodies = (
        cache.body(ref_of(KIND, each)) for each in cache.list_all(KIND, KubeObject, namespace)
    )
    names = sorted(
        f"{namespace}/{body['metadata']['name']}"
        for body in bodies
        if body is not None and _is_same(body["spec"]["scaleTargetRef"], target)
    )
    return " ".join(names) if len(names) > 1 else ""


def _selector(target: Body) -> str:
    given = target["spec"].get("selector") or {}
    return columns.labels(given) if target["kind"] == _BY_LABELS else columns.selector(given)


def _is_same(one: Body, other: Body) -> bool:
    return (one["kind"], one["name"]) == (other["kind"], other["name"])


def _pods(cache: ControllerCache, target: Body) -> list[Body]:
    """The pods of the workload that have not ended, as they are stored."""
    owners = [target]
    if target["kind"] == "Deployment":
        owned = cache.owned_by(target["metadata"]["uid"])
        bodies = (cache.body(ref) for ref in owned if ref[0] == "ReplicaSet")
        owners = [body for body in bodies if body is not None]
    names = {pod.metadata.name for owner in owners for pod in _active(cache, owner)}
    if not names:
        return []
    listed = cache.list_stored(kinds.POD, target["metadata"]["namespace"])
    return [pod for pod in listed if pod["metadata"]["name"] in names]


def _active(cache: ControllerCache, owner: Body) -> Iterator[Pod]:
    return filter(is_active, own_pods(cache, owner))


def _conditions(current: int, best: Proposal, outcome: Limited) -> list[Body]:
    reason = outcome.stabilized or "ReadyForNewScale"
    message = f"the HPA was able to successfully calculate a replica count from {best.name}"
    limited = outcome.limit or "DesiredWithinRange"
    return [
        _condition("AbleToScale", "True", reason, _STABLE[outcome.stabilized]),
        _condition("ScalingActive", "True", "ValidMetricFound", message),
        _condition("ScalingLimited", str(bool(outcome.limit)), limited, _LIMITS[outcome.limit]),
    ]


def _condition(type_: str, status: str, reason: str, message: str) -> Body:
    return {"type": type_, "status": status, "reason": reason, "message": message}


def _scale(
    autoscaler: Body,
    target: Body,
    current: int,
    size: int,
    outcome: _Outcome,
    history: History,
    now: datetime,
) -> Iterator[Step]:
    if size == current:
        return
    metadata = target["metadata"]
    ref = target["kind"], metadata["namespace"], metadata["name"]

    def change(body: Body) -> Body:
        return {**body, "spec": {**body["spec"], "replicas": size}}

    def on_success(_: Body) -> PendingEvent:
        history.changes.append((now, size - current))
        note = f"New size: {size}; reason: {outcome.why}"
        return PendingEvent(object_reference(autoscaler), "SuccessfulRescale", note, USER)

    def on_failure(refusal: ApiError) -> PendingEvent:
        note = f"New size: {size}; reason: {outcome.why}; error: {refusal.message}"
        return _warning(autoscaler, "FailedRescale", note)

    outcome.conditions[0] |= {
        "reason": "SucceededRescale",
        "message": f"the HPA controller was able to update the target scale to {size}",
    }
    yield ReportedWrite(update_object(ref, metadata["uid"], change), on_success, on_failure)


def _warning(autoscaler: Body, reason: str, note: str) -> PendingEvent:
    return PendingEvent(object_reference(autoscaler), reason, note, USER, warning=True)


def _report(
    ref: Ref, autoscaler: Body, now: datetime, conditions: Sequence[Body], counts: Body
) -> Step:
    """Write these conditions and counts; all else stays as it is."""

    def change(body: Body) -> Body:
        before = body.get("status") or {}
        listed = before.get("conditions") or []
        for condition in conditions:
            listed = set_condition(listed, dict(condition), now, probed=False)
        empty = {"desiredReplicas": 0, "currentMetrics": None}
        status = {**empty, **before, **counts, "conditions": listed}
        if not status.get("currentReplicas"):
            status.pop("currentReplicas", None)
        return {**body, "status": status}

    return update_object(ref, autoscaler["metadata"]["uid"], change)


CONTROLLER = Controller(
    name="autoscalers",
    user=USER,
    concerns={KIND: refs_for_autoscaler},
    reconcile=reconcile,
)
