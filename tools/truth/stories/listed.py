"""The differences that docs/differences.md lists, by rule."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from tools.truth.stories.appearance import differences

Body = dict[str, Any]


@dataclass(frozen=True)
class Rule:
    """What a row of docs/differences.md excuses; all are regular expressions, "" for nothing."""

    #: what the row begins with
    row: str
    #: "KIND PATH" of places that differ
    places: str = ""
    #: reasons of events that one side does not record
    one_sided: str = ""
    #: reasons of events whose number differs
    counts: str = ""
    #: notes of events of the scheduler that one side does not record
    notes: str = ""


_REFUSED = Rule("creations that are refused are tried again", counts="FailedCreate")
_TRIED = Rule("a pod that fits nowhere is tried again", counts="FailedScheduling")
_PROVISIONED = Rule(
    "without an external provisioner a claim waits",
    one_sided="ExternalProvisioning|ProvisioningSucceeded|VolumeFailedDelete",
)
_MIRRORED = Rule(
    "Endpoints that a user writes are mirrored",
    places=r"(EndpointSlice|Endpoints) .*\.metadata\.(annotations|generation)",
)
_EVICTION = Rule("events of taint eviction refer to pods without their uid")

RULES = (
    Rule(
        "each node has the events `RegisteredNode` and `RemovingNode`",
        places=r"Node .*\.metadata\.annotations",
        one_sided="RegisteredNode|RemovingNode",
    ),
    Rule("pods of a node whose heartbeats stop become not ready", one_sided="NodeNotReady"),
    Rule(
        "kubelets record `NodeReady`",
        one_sided="NodeReady|NodeSchedulable|NodeNotSchedulable",
    ),
    Rule(
        "a taint `NoExecute` that a user writes has no `timeAdded`",
        places=r"Node .*\.spec\.taints.*\.timeAdded",
    ),
    Rule(
        "`FailedBinding`, `VolumeMismatch`, `WaitForFirstConsumer` and `ProvisioningFailed` are",
        counts="FailedBinding|VolumeMismatch|WaitForFirstConsumer|ProvisioningFailed"
        "|FailedResourceClaimCreation",
    ),
    Rule(
        "an autoscaler is looked at every 15 s",
        counts="FailedGet.*|FailedComputeMetricsReplicas",
    ),
    Rule("a budget is looked at", counts="NoPods", one_sided="NoPods"),
    Rule("a pod with several budgets", one_sided="MultiplePodDisruptionBudgets"),
    Rule("a CronJob that may not run twice", counts="JobAlreadyActive|UnexpectedJob"),
    Rule(
        "a pod is tried before its new claims are bound",
        notes=r".*(unbound immediate PersistentVolumeClaims|persistentvolumeclaim .* not found).*",
    ),
    Rule(
        "StatefulSets with `maxUnavailable`",
        places=r"StatefulSet .*\.rollingUpdate\.maxUnavailable",
    ),
    # no story tells of these
    Rule("an object whose owners never existed is garbage"),
    Rule("Secrets of the type `kubernetes.io/service-account-token`"),
    _REFUSED,
    _TRIED,
    _PROVISIONED,
    _MIRRORED,
    _EVICTION,
)


def _any(name: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{text})" for each in RULES if (text := getattr(each, name))))


_PLACES, _ONE_SIDED, _COUNTS, _NOTES = map(_any, ("places", "one_sided", "counts", "notes"))
_COMBINED = "(combined from similar events): "
_PROVISIONER = "volume.kubernetes.io/storage-provisioner"


def unlisted(about: str, real: Sequence[Body], ours: Sequence[Body]) -> list[tuple[str, Any, Any]]:
    """The places where objects called so differ, without those that are listed."""
    kind = about.rpartition(" ")[0]
    if about.startswith("events of "):
        real, ours = _known(real), _known(ours)
    elif (
        kind == "PersistentVolumeClaim"
        and any(map(_is_provisioned, real))
        or about.startswith("PersistentVolume pvc-")
        and not real
    ):
        return []
    if not ours and real and all(map(_is_left, real)):
        return []
    return [
        place for place in differences(real, ours) if not _PLACES.fullmatch(f"{kind} {place[0]}")
    ]


def _is_provisioned(claim: Body) -> bool:
    return _PROVISIONER in (claim["metadata"].get("annotations") or {})


def _is_left(body: Body) -> bool:
    """A mirrored EndpointSlice, or a volume that no provisioner deletes."""
    labels = body.get("metadata", {}).get("labels") or {}
    mirrored = "endpointslicemirroring-controller.k8s.io"
    return (
        labels.get("endpointslice.kubernetes.io/managed-by") == mirrored
        or body.get("status", {}).get("phase") == "Failed"
        and body.get("kind") == "PersistentVolume"
    )


def _known(lists: Sequence[Body]) -> list[Body]:
    """The events without what is listed; what nothing is left of is left out."""
    plain = [[_plain(event) for event in each["events"] if _is_compared(event)] for each in lists]
    if any(each["reason"] == "TaintManagerEviction" for events in plain for each in events):
        # without a uid those about several pods are told together
        plain = [sorted(chain(*plain), key=_text)]
    # pods are created in parallel, so that it is random which of them is refused first
    plain = [sorted(events, key=_text) if _is_refused(events) else events for events in plain]
    return [{"events": _told_once(events)} for events in plain if events]


def _text(event: Body) -> str:
    return json.dumps(event, sort_keys=True)


def _is_refused(events: Sequence[Body]) -> bool:
    return any(each["reason"] == "FailedCreate" for each in events)


def _is_compared(event: Body) -> bool:
    if event["reason"] == "FailedScheduling" and _NOTES.fullmatch(event["message"]):
        return False
    return not _ONE_SIDED.fullmatch(event["reason"])


def _plain(event: Body) -> Body:
    reason = event["reason"]
    if reason == "TaintManagerEviction":
        about = event["involvedObject"]
        named = {key: about[key] for key in about if key not in ("uid", "resourceVersion")}
        return {**event, "involvedObject": named}
    if reason == "FailedCreate":
        message = event["message"].removeprefix(_COMBINED)
        event = {**event, "message": message, "reportingComponent": None}
    if reason == "FailedScheduling":
        # how many nodes there are, because all stories are told at the same time
        event = {**event, "message": None, "series": None}
    return {**event, "count": None} if _COUNTS.fullmatch(reason) else event


def _told_once(events: Sequence[Body]) -> list[Body]:
    """The events, of those about pods that are refused or do not fit the first one."""
    told: list[Body] = []
    for event in events:
        if event["reason"] not in ("FailedCreate", "FailedScheduling") or event not in told:
            told.append(event)
    return told
