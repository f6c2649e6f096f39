"""StatefulSets: pods with stable names and claims, created and replaced in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.errors import ApiError
from apps.cluster.writes import Create
from apps.controllers.cache import ControllerCache, Ref
from apps.controllers.controller import Controller, ReportedWrite, Step
from apps.controllers.events.writer import PendingEvent
from apps.controllers.workloads import claim_owners
from apps.controllers.workloads.ownership import claim_pods, map_object, map_pods, own_pods
from apps.controllers.workloads.revisions import (
    at_revision,
    current_key,
    keep_history,
    map_revisions,
)
from apps.controllers.workloads.templates import REVISION_LABEL, new_pod
from apps.controllers.writes import (
    BURST,
    availability,
    delete_pod,
    is_active,
    is_ready,
    is_unfinished,
    object_reference,
    set_status,
)
from apps.scheduler.objects import Pod

Body = dict[str, Any]
KIND: Final = "StatefulSet"
USER: Final = "statefulset-controller"
_CLAIM: Final = kinds.by_name("PersistentVolumeClaim")


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    stateful = cache.body(ref)
    if stateful is None:
        return
    revision = current_key(cache, stateful)
    pods = _by_ordinal(stateful, own_pods(cache, stateful))
    available, later = availability(filter(is_active, pods.values()), stateful, now)
    if not stateful["metadata"].get("deletionTimestamp"):
        name = stateful["metadata"]["name"]
        claimed = list(claim_pods(cache, stateful, may_adopt=lambda pod: _is_member(pod, name)))
        if claimed:
            # they count once the change is observed
            yield from claimed
            return
        used = {pod.metadata.labels.get(REVISION_LABEL, "") for pod in pods.values()}
        used.add(_current_revision(stateful, revision))
        yield from keep_history(cache, stateful, revision, used)
        yield from claim_owners.update(cache, stateful, pods)
        yield from _step(cache, stateful, pods, available, revision)
    yield from later
    yield from _report(ref, stateful, pods, revision, now)


def _by_ordinal(stateful: Body, pods: list[Pod]) -> dict[int, Pod]:
    by_ordinal = {}
    for pod in pods:
        if _is_member(pod, stateful["metadata"]["name"]):
            by_ordinal[int(pod.metadata.name.rpartition("-")[2])] = pod
    return by_ordinal


def _is_member(pod: Pod, name: str) -> bool:
    """Whether the pod is called as one of the StatefulSet with this name."""
    base, _, number = pod.metadata.name.rpartition("-")
    return base == name and number.isdecimal()


def _step(
    cache: ControllerCache,
    stateful: Body,
    pods: Mapping[int, Pod],
    available: set[str],
    revision: str,
) -> Iterator[Step]:
    """The next step; if ordered, each pod waits until those before it are available."""
    spec = stateful["spec"]
    first = (spec.get("ordinals") or {}).get("start", 0)
    wanted = range(first, first + spec.get("replicas", 1))
    in_order = spec.get("podManagementPolicy") != "Parallel"
    created = 0
    for ordinal in wanted:
        pod = pods.get(ordinal)
        if pod is None:
            yield from _missing_claims(cache, stateful, ordinal)
            kept = ordinal < first + _partition(stateful)
            key = _current_revision(stateful, revision) if kept else revision
            versioned = at_revision(cache, stateful, key) if key != revision else stateful
            yield _create_member(versioned, ordinal, key)
            created += 1
        elif pod.status.phase in ("Succeeded", "Failed") and not pod.metadata.deletion_timestamp:
            yield _delete_member(stateful, pod)
        elif pod.metadata.name in available:
            continue
        if in_order or created == BURST:
            return
    for ordinal in sorted((each for each in pods if each not in wanted), reverse=True):
        if not pods[ordinal].metadata.deletion_timestamp:
            yield _delete_member(stateful, pods[ordinal])
        if in_order:
            return
    yield from _replace(stateful, wanted, pods, available, revision)


def _replace(
    stateful: Body, wanted: range, pods: Mapping[int, Pod], available: set[str], revision: str
) -> Iterator[Step]:
    """Delete one pod of an older template, the highest ordinal first."""
    if _strategy(stateful) != "RollingUpdate":
        return
    partition = wanted.start + _partition(stateful)
    for ordinal in reversed(wanted):
        pod = pods.get(ordinal)
        if ordinal < partition or pod is None:
            return
        is_old = pod.metadata.labels.get(REVISION_LABEL) != revision
        if is_old and not pod.metadata.deletion_timestamp:
            yield _delete_member(stateful, pod)
            return
        if pod.metadata.name not in available:
            return


def _partition(stateful: Body) -> int:
    """How many pods, the first ones, keep the template of before."""
    rolling = (stateful["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
    return int(rolling.get("partition") or 0)


def _current_revision(stateful: Body, revision: str) -> str:
    """The revision from which the status says that a rollout goes to `revision`."""
    return str((stateful.get("status") or {}).get("currentRevision") or revision)


def _strategy(stateful: Body) -> str:
    return str((stateful["spec"].get("updateStrategy") or {}).get("type", ""))


def _create_member(stateful: Body, ordinal: int, revision: str) -> Step:
    spec, name = stateful["spec"], f"{stateful['metadata']['name']}-{ordinal}"
    template = spec["template"]["spec"]
    claims = {claim["metadata"]["name"]: claim for claim in spec.get("volumeClaimTemplates") or ()}
    volumes = [each for each in template.get("volumes") or () if each["name"] not in claims]
    volumes += [
        {"name": claim, "persistentVolumeClaim": {"claimName": f"{claim}-{name}"}}
        for claim in claims
    ]
    extra: Body = {"hostname": name, "subdomain": spec.get("serviceName", "")}
    pod = new_pod(
        stateful,
        name=name,
        prefix=f"{stateful['metadata']['name']}-",
        labels={
            REVISION_LABEL: revision,
            "apps.kubernetes.io/pod-index": str(ordinal),
            "statefulset.kubernetes.io/pod-name": name,
        },
        spec={**extra, **({"volumes": volumes} if volumes else {})},
    )
    event = _event(stateful, "Create", name, "SuccessfulCreate")

    def on_failure(refusal: ApiError) -> PendingEvent:
        why = f"failed error: {refusal.message}"
        return _event(stateful, "Create", name, "FailedCreate", why, warning=True)

    return ReportedWrite(pod, lambda _: event, on_failure)


def _delete_member(stateful: Body, pod: Pod) -> Step:
    event = _event(stateful, "Delete", pod.metadata.name, "SuccessfulDelete")
    return ReportedWrite(delete_pod(pod), lambda _: event)


def _event(
    stateful: Body,
    verb: str,
    pod: str,
    reason: str,
    how: str = "successful",
    *,
    warning: bool = False,
) -> PendingEvent:
    note = f"{verb} Pod {pod} in StatefulSet {stateful['metadata']['name']} {how}"
    return PendingEvent(object_reference(stateful), reason, note, USER, warning=warning)


def _missing_claims(cache: ControllerCache, stateful: Body, ordinal: int) -> Iterator[Step]:
    """Create missing claims; claims outlive their pods and are reused."""
    namespace = stateful["metadata"]["namespace"]
    for template in stateful["spec"].get("volumeClaimTemplates") or ():
        metadata = template["metadata"]
        name = f"{metadata['name']}-{stateful['metadata']['name']}-{ordinal}"
        if cache.body((_CLAIM.name, namespace, name)) is None:
            labels = stateful["spec"]["selector"].get("matchLabels") or {}
            named = {
                "name": name,
                "labels": {**labels, **(metadata.get("labels") or {})},
                "annotations": dict(metadata.get("annotations") or {}),
                "ownerReferences": claim_owners.of_new_claim(stateful),
            }
            claim = Create(_CLAIM, {"metadata": named, "spec": template["spec"]}, namespace)
            yield _reported_claim(stateful, claim, name, ordinal)


def _reported_claim(stateful: Body, claim: Create, name: str, ordinal: int) -> ReportedWrite:
    set_name, subject = stateful["metadata"]["name"], object_reference(stateful)
    pod = f"Pod {set_name}-{ordinal} in StatefulSet {set_name}"

    def on_success(_: Body) -> PendingEvent:
        note = f"Create Claim {name} {pod} success"
        return PendingEvent(subject, "SuccessfulCreate", note, USER)

    def on_failure(refusal: ApiError) -> PendingEvent:
        note = f"Create Claim {name} for {pod} failed error: {refusal.message}"
        return PendingEvent(subject, "FailedCreate", note, USER, warning=True)

    return ReportedWrite(claim, on_success, on_failure)


def _report(
    ref: Ref, stateful: Body, pods: Mapping[int, Pod], revision: str, now: datetime
) -> Iterator[Step]:
    active = [pod for pod in pods.values() if is_active(pod)]
    # a pod that is being deleted still serves
    unfinished = [pod for pod in pods.values() if is_unfinished(pod)]
    ready, (available, _) = sum(map(is_ready, unfinished)), availability(unfinished, stateful, now)
    revisions = [pod.metadata.labels.get(REVISION_LABEL) for pod in active]
    updated = revisions.count(revision)
    before = _current_revision(stateful, revision)
    # only a rolling update makes the new revision the current one
    complete = updated == ready == len(pods) and _strategy(stateful) == "RollingUpdate"
    current = revision if complete else before
    status = {
        "observedGeneration": stateful["metadata"].get("generation"),
        "replicas": len(pods),
        "readyReplicas": ready or None,
        "availableReplicas": len(available),
        "currentReplicas": revisions.count(current) or None,
        "updatedReplicas": updated or None,
        "currentRevision": current,
        "updateRevision": revision,
        "collisionCount": 0,
    }
    yield set_status(ref, stateful["metadata"]["uid"], status)


CONTROLLER = Controller(
    name="stateful sets",
    user=USER,
    concerns={
        KIND: map_object(KIND),
        "Pod": map_pods(KIND),
        "ControllerRevision": map_revisions(KIND),
    },
    reconcile=reconcile,
)
