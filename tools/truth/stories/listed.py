"""The differences that docs/differences.md lists, by rule."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import chain
from typing import Any

from tools.truth.stories.appearance import differences

Body = dict[str, Any]

#: "KIND PATH" of the places that differ.
_PLACES = re.compile(
    r"PersistentVolume .*\.claimRef\.resourceVersion"
    r"|Node .*\.metadata\.annotations"
    r"|Node .*\.spec\.taints.*\.timeAdded"
    r"|(EndpointSlice|Endpoints) .*\.metadata\.(annotations|generation)"
    r"|StatefulSet .*\.rollingUpdate\.maxUnavailable"
)
#: Events that one side does not record: of nodes that are registered, of kubelets, and of volumes
#: that a provisioner creates.
_ONE_SIDED = (
    "RegisteredNode",
    "RemovingNode",
    "NodeReady",
    "NodeNotReady",
    "NodeSchedulable",
    "NodeNotSchedulable",
    "ExternalProvisioning",
    "ProvisioningSucceeded",
    "VolumeFailedDelete",
)
#: Events that are counted as often as something is tried again: what claims and autoscalers lack.
_TRIED_AGAIN = re.compile(
    r"FailedBinding|WaitForFirstConsumer|ProvisioningFailed|FailedGet.*|FailedComputeMetricsReplicas"
)
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
    plain = [[*map(_plain, each["events"])] for each in lists]
    if any(each["reason"] == "TaintManagerEviction" for events in plain for each in events):
        # without a uid those about several pods are told together
        plain = [sorted(chain(*plain), key=lambda each: json.dumps(each, sort_keys=True))]
    kept = [[each for each in events if each["reason"] not in _ONE_SIDED] for events in plain]
    return [{"events": _told_once(events)} for events in kept if events]


def _plain(event: Body) -> Body:
    reason = event["reason"]
    if reason == "TaintManagerEviction":
        about = event["involvedObject"]
        named = {key: about[key] for key in about if key not in ("uid", "resourceVersion")}
        return {**event, "involvedObject": named}
    if reason == "FailedCreate":
        message = event["message"].removeprefix(_COMBINED)
        return {**event, "message": message, "count": None, "reportingComponent": None}
    if reason == "FailedScheduling":
        # how many nodes there are, because all stories are told at the same time
        return {**event, "message": None, "series": None}
    return {**event, "count": None} if _TRIED_AGAIN.fullmatch(reason) else event


def _told_once(events: Sequence[Body]) -> list[Body]:
    """The events, of those about pods that are refused or do not fit the first one."""
    told: list[Body] = []
    for event in events:
        if event["reason"] not in ("FailedCreate", "FailedScheduling") or event not in told:
            told.append(event)
    return told
