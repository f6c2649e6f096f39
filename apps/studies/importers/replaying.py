"""Turns the events of a recording into writes.

Kubelets, controllers and the scheduler of the scenario act themselves. So what they did in the
recorded cluster is left out: objects that a recorded owner controls, bindings, the status of all
objects but nodes. The end of a pod becomes its lifetime.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from apps.cluster import kinds, limits, merge_patch
from apps.cluster.writes import Create, Delete, Update
from apps.studies.importers.lifetimes import (
    ENDS,
    Lifetime,
    find_lifetimes,
    find_owners,
    with_lifetime,
)
from apps.studies.importers.recorded_events import Body, Event, Key, TimedWrite, without_own
from apps.studies.importers.result_annotations import PREFIX

#: Every cluster has these, and the classes whose names start with "system-".
_NAMESPACES: Final = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})
#: Set by the recorded cluster's controllers, for which the scenario has its own.
_BIND_ANNOTATIONS: Final = (
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
)
#: Only their creation is replayed: controllers make their updates again.
_CREATED_ONLY: Final = frozenset({"PersistentVolume", "PersistentVolumeClaim", "Namespace"})


def to_writes(events: Sequence[Event], *, places: bool) -> list[TimedWrite]:
    """The writes, in order; with `places` pods are created when they had a node, and on it."""
    owners = find_owners(events)
    replay = _Replay(places, find_lifetimes(events, owners))
    for event in [*_missing_namespaces(events), *events]:
        if not limits.SCENARIO_SECONDS.admits(event.at):
            raise event.place.error("is more than 366 days after the start of the recording")
        if event.key not in owners and not _is_built_in(event):
            replay.take(event)
    replay.finish()
    return sorted(replay.writes, key=lambda each: each.at)


def _is_built_in(event: Event) -> bool:
    if event.kind.name == "Namespace":
        return event.name in _NAMESPACES
    return event.kind.name == "PriorityClass" and event.name.startswith("system-")


def _missing_namespaces(events: Sequence[Event]) -> Iterator[Event]:
    """Namespaces that objects are in, and that were not recorded."""
    recorded = {event.name for event in events if event.kind.name == "Namespace"}
    kind = kinds.by_name("Namespace")
    for event in events:
        if event.namespace and event.namespace not in recorded:
            recorded.add(event.namespace)
            body = {"metadata": {"name": event.namespace}}
            yield Event(0.0, kind, "", event.namespace, body, event.place)


@dataclass(slots=True)
class _Replay:
    places: bool
    lifetimes: Mapping[Key, Lifetime]
    writes: list[TimedWrite] = field(default_factory=list)
    _states: dict[Key, Body] = field(default_factory=dict)
    #: pods that have no node yet, if they are created with their nodes
    _held: dict[Key, Event] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        """The next event."""
        if event.body is None:
            self._delete(event)
        elif event.key in self._states:
            self._update(event, event.body)
        elif _has_ended(event) and event.key not in self._held:
            return
        elif event.kind is kinds.POD and self.places and not event.body["spec"].get("nodeName"):
            self._held.setdefault(event.key, event)
        else:
            self._create(event, event.body)

    def finish(self) -> None:
        """Create the pods that never had a node."""
        for event in list(self._held.values()):
            self._create(event, event.body or {})

    def _create(self, event: Event, body: Body) -> None:
        self._held.pop(event.key, None)
        self._states[event.key] = body
        created = _new_object(event, body, self.lifetimes.get(event.key))
        if not self.places:
            created.get("spec", {}).pop("nodeName", None)
        self._add(event, Create(event.kind, created, event.namespace))

    def _delete(self, event: Event) -> None:
        held = self._held.get(event.key)
        if held is not None:
            self._create(held, held.body or {})
        if self._states.pop(event.key, None) is not None:
            options: dict[str, Any] = {"propagationPolicy": "Background"}
            if event.kind is kinds.POD:
                options["gracePeriodSeconds"] = 0
            self._add(event, Delete(event.kind, event.namespace, event.name, options))

    def _update(self, event: Event, body: Body) -> None:
        old, self._states[event.key] = self._states[event.key], body
        if event.kind.name in _CREATED_ONLY:
            return
        extract = _pod_part if event.kind is kinds.POD else _wanted_part
        patch = _difference(extract(old), extract(body))
        if patch:
            change = partial(merge_patch.merge, patch=patch)
            self._add(event, Update(event.kind, event.namespace, event.name, change))
        if event.kind is kinds.NODE and _capacity(old) != _capacity(body):
            change = partial(_replace_status, status=body.get("status") or {})
            self._add(event, Update(event.kind, "", event.name, change, "status"))

    def _add(self, event: Event, write: Create | Update | Delete) -> None:
        self.writes.append(TimedWrite(event.at, [write], str(event.place)))


def _new_object(event: Event, body: Body, lifetime: Lifetime | None) -> Body:
    """What is created: no status but that of nodes, no finalizers, no uids."""
    created = without_own(body, event.place)
    metadata = created["metadata"] = dict(created["metadata"])
    metadata.pop("finalizers", None)
    metadata["annotations"] = _annotations(metadata)
    if event.kind is not kinds.NODE:
        created.pop("status", None)
    if isinstance(created.get("spec"), dict):
        spec = created["spec"] = dict(created["spec"])
        if isinstance(spec.get("claimRef"), dict):
            left = ("uid", "resourceVersion")
            spec["claimRef"] = {k: v for k, v in spec["claimRef"].items() if k not in left}
    return created if lifetime is None else with_lifetime(created, *lifetime)


def _has_ended(event: Event) -> bool:
    status = (event.body or {}).get("status") or {}
    return event.kind is kinds.POD and status.get("phase") in ENDS


def _annotations(metadata: Body) -> Body:
    annotations = metadata.get("annotations") or {}
    return {
        key: value
        for key, value in annotations.items()
        if key not in _BIND_ANNOTATIONS and not key.startswith(PREFIX)
    }


def _wanted_part(body: Body) -> Body:
    """What users change: everything but the status."""
    part = {key: value for key, value in body.items() if key != "status"}
    metadata = body["metadata"]
    labels = metadata.get("labels") or {}
    return {**part, "metadata": {"labels": labels, "annotations": _annotations(metadata)}}


def _pod_part(body: Body) -> Body:
    """What users change in a pod that exists."""
    return {
        "metadata": {"labels": body["metadata"].get("labels") or {}},
        "spec": {"schedulingGates": body["spec"].get("schedulingGates") or []},
    }


def _difference(old: Body, new: Body) -> Body:
    """The JSON merge patch from one state to the other.

    Objects of the scenario have more fields than recorded ones, which a patch leaves alone.
    """
    patch: Body = {name: None for name in old if name not in new}
    for name, value in new.items():
        before = old.get(name)
        if before == value:
            continue
        if isinstance(before, dict) and isinstance(value, dict):
            patch[name] = _difference(before, value)
        else:
            patch[name] = value
    return patch


def _capacity(body: Body) -> Any:
    """The parts of a node's status that decisions depend on; heartbeats are none."""
    status = body.get("status") or {}
    conditions = {
        each.get("type"): each.get("status")
        for each in status.get("conditions") or ()
        if isinstance(each, dict)
    }
    return status.get("capacity"), status.get("allocatable"), conditions


def _replace_status(stored: Body, *, status: Body) -> Body:
    given = {k: status[k] for k in ("capacity", "allocatable", "conditions") if k in status}
    return {**stored, "status": {**(stored.get("status") or {}), **given}}
