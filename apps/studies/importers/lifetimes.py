"""How long recorded pods ran, and pods that run as long."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from apps.cluster import kinds
from apps.controllers.kubelet.annotations import FAILS_AFTER, SUCCEEDS_AFTER
from apps.studies.importers.recorded_events import Body, Event, Key

#: the annotation that ends a pod, and the seconds from its start until then
Lifetime = tuple[str, float]

#: phase -> annotation
ENDS: Final[Mapping[str, str]] = {"Succeeded": SUCCEEDS_AFTER, "Failed": FAILS_AFTER}
_SHORTEST: Final = 0.001


def find_owners(events: Sequence[Event]) -> dict[Key, Key]:
    """The objects whose controller was recorded, too, each with it."""
    recorded = {event.key for event in events}
    owners = {}
    for event in events:
        references = (event.body or {}).get("metadata", {}).get("ownerReferences") or ()
        for each in references:
            key = str(each.get("kind")), event.namespace, str(each.get("name"))
            if each.get("controller") and key in recorded and key != event.key:
                owners[event.key] = key
    return owners


def find_lifetimes(events: Iterable[Event], owners: Mapping[Key, Key]) -> dict[Key, Lifetime]:
    """The lifetimes of pods that ended by themselves.

    Owners whose pods succeeded have the median of theirs, because they create other pods.
    """
    pods = _lifetimes_of_pods(events)
    succeeded: defaultdict[Key, list[float]] = defaultdict(list)
    for key, (annotation, seconds) in pods.items():
        if key in owners and annotation == SUCCEEDS_AFTER:
            succeeded[_first_owner(key, owners)].append(seconds)
    medians = {key: (SUCCEEDS_AFTER, statistics.median(each)) for key, each in succeeded.items()}
    return pods | medians


def _first_owner(key: Key, owners: Mapping[Key, Key]) -> Key:
    """The CronJob of a pod of a Job; references may be a cycle."""
    seen = {key}
    while key in owners and owners[key] not in seen:
        key = owners[key]
        seen.add(key)
    return key


def _lifetimes_of_pods(events: Iterable[Event]) -> dict[Key, Lifetime]:
    started: dict[Key, float] = {}
    ended: dict[Key, Lifetime] = {}
    for event in events:
        if event.kind is not kinds.POD or event.body is None:
            continue
        phase = str((event.body.get("status") or {}).get("phase"))
        if event.body["spec"].get("nodeName"):
            started.setdefault(event.key, event.at)
        if phase in ENDS and event.key not in ended:
            seconds = _seconds_in_status(event.body)
            if seconds is None:
                seconds = event.at - started.get(event.key, event.at)
            ended[event.key] = ENDS[phase], max(seconds, _SHORTEST)
    return ended


def _seconds_in_status(body: Body) -> float | None:
    """From the start of a pod to the end of its last container, if its status has both."""
    status = body["status"]
    ends: list[Any] = [
        ((each.get("state") or {}).get("terminated") or {}).get("finishedAt")
        for each in status.get("containerStatuses") or ()
    ]
    try:
        start = datetime.fromisoformat(status["startTime"])
        return max((datetime.fromisoformat(each) - start).total_seconds() for each in ends)
    except (KeyError, TypeError, ValueError):
        return None


def with_lifetime(body: Body, annotation: str, seconds: float) -> Body:
    """The pod, or the owner with its template, whose pods end after so many seconds."""
    if body["kind"] == "Pod":
        return _annotate(body, annotation, seconds)
    if body["kind"] == "CronJob":
        spec = body.get("spec") or {}
        template = _with_template(spec.get("jobTemplate"), annotation, seconds)
        return {**body, "spec": {**spec, "jobTemplate": template}}
    return _with_template(body, annotation, seconds)


def _with_template(body: Body | None, annotation: str, seconds: float) -> Body:
    body = body or {}
    template = (body.get("spec") or {}).get("template")
    if not isinstance(template, dict):
        return body
    template = _annotate(template, annotation, seconds)
    return {**body, "spec": {**body["spec"], "template": template}}


def _annotate(body: Body, annotation: str, seconds: float) -> Body:
    metadata = body.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), annotation: f"{seconds:.3f}"}
    return {**body, "metadata": {**metadata, "annotations": annotations}}
