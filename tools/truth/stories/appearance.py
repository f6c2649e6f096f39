"""How the objects of a story look, without what is random: names, uids, times and addresses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

Body = dict[str, Any]
#: The objects of a story, by kind and name.
Appearance = dict[str, list[Body]]

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| ?[+-]\d\d:?\d\d( UTC)?)")
_IP = re.compile(r"\b\d+\.\d+\.\d+\.\d+\b")
#: The minute of a run of a CronJob, in the names of its Jobs.
_MINUTE = re.compile(r"(?<=-)\d{8}(?=\b|-)")
_RANDOM = "<random>"
_HASHES = ("pod-template-hash", "controller-revision-hash", "controller.kubernetes.io/hash")
#: Of no meaning to a user, or another in each cluster.
_DROPPED = ("managedFields", "reportingInstance")


@dataclass
class Looks:
    """What is random in the objects of one namespace in one cluster."""

    #: what generated names begin with
    stems: set[str] = field(default_factory=set)
    #: hash of a template -> what stands for it
    hashes: dict[str, str] = field(default_factory=dict)
    #: uid of an event -> its place in the order in which events were seen
    seen: dict[str, int] = field(default_factory=dict)

    def notice(self, events: Iterable[Body]) -> None:
        """Learn the order of new events."""
        for event in sorted(events, key=lambda each: int(each["metadata"]["resourceVersion"])):
            self.seen.setdefault(event["metadata"]["uid"], len(self.seen))

    def appearance(self, objects: Sequence[Body], events: Sequence[Body]) -> Appearance:
        """The objects by kind and name, and the events about each object in their order."""
        self._learn_names(objects)
        owners = [each["involvedObject"] for each in events]
        self.stems |= {f"{each['name']}-" for each in owners if each["kind"] == "Job"}
        self.notice(events)
        shown: Appearance = {}
        for body in objects:
            plain = self._plain(body)
            shown.setdefault(f"{plain['kind']} {plain['metadata']['name']}", []).append(plain)
        parallel = {
            f"events of StatefulSet {body['metadata']['name']}"
            for body in objects
            if body.get("spec", {}).get("podManagementPolicy") == "Parallel"
        }
        told: dict[tuple[str, str], list[Body]] = {}
        for event in sorted(events, key=lambda each: self.seen[each["metadata"]["uid"]]):
            about = event["involvedObject"]
            plain = self._plain(event)
            name = f"{about['kind']} {plain['involvedObject']['name']}"
            told.setdefault((f"events of {name}", about.get("uid", "")), []).append(_event(plain))
        for (name, _), listed in told.items():
            if name.startswith("events of Job") or name in parallel:
                # its pods are created and deleted in parallel
                runs = groupby(listed, itemgetter("reason"))
                listed = [*chain(*(sorted(run, key=_text) for _, run in runs))]
            shown.setdefault(name, []).append({"events": listed})
        return {name: sorted(bodies, key=_text) for name, bodies in shown.items()}

    def _learn_names(self, objects: Iterable[Body]) -> None:
        for body in sorted(objects, key=_creation):
            metadata = body["metadata"]
            self.stems |= {metadata.get("generateName") or f"{metadata['name']}-"}
            for label in _HASHES:
                digest = (metadata.get("labels") or {}).get(label, "").rpartition("-")[2]
                if digest and body["kind"] in ("ReplicaSet", "ControllerRevision"):
                    self.hashes.setdefault(digest, f"<hash {len(self.hashes)}>")

    def _plain(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {
                self._text(name): self._part(name, each)
                for name, each in value.items()
                if name not in _DROPPED
            }
        if isinstance(value, list):
            items = [self._plain(each) for each in value]
            return sorted(items, key=_text) if items and isinstance(items[0], dict) else items
        return self._text(value) if isinstance(value, str) else value

    def _part(self, name: str, value: Any) -> Any:
        if name == "resourceVersion":
            return "<version>"
        if name == "conditions" and isinstance(value, list):
            # in the order in which they changed
            return [self._plain(each) for each in value]
        return self._plain(value)

    def _text(self, text: str) -> str:
        for digest, name in self.hashes.items():
            text = text.replace(digest, name)
        text = _MINUTE.sub("<minute>", _TIME.sub("<time>", _UUID.sub("<uid>", text)))
        # one may begin with another, and with the name that that generates
        for stem in sorted(self.stems, key=len, reverse=True):
            for known in (stem, self._stem(stem)):
                text = re.sub(re.escape(known) + r"[a-z0-9]{5}\b", known + _RANDOM, text)
        return _IP.sub("<ip>", text)

    def _stem(self, stem: str) -> str:
        for digest, name in self.hashes.items():
            stem = stem.replace(digest, name)
        return _MINUTE.sub("<minute>", stem)


def _event(event: Body) -> Body:
    """What is compared of an event; its name and its times are its own."""
    kept = {name: value for name, value in event.items() if name not in ("metadata", "kind")}
    return {name: value for name, value in kept.items() if not name.endswith("Timestamp")}


def _creation(body: Body) -> tuple[Any, ...]:
    metadata = body["metadata"]
    annotations = metadata.get("annotations") or {}
    revision = annotations.get("deployment.kubernetes.io/revision") or body.get("revision") or 0
    return metadata["creationTimestamp"], int(revision)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def differences(real: Any, ours: Any, path: str = "") -> Iterable[tuple[str, Any, Any]]:
    """The innermost places where two values differ."""
    if isinstance(real, dict) and isinstance(ours, dict):
        for name in [*real, *(name for name in ours if name not in real)]:
            yield from differences(
                real.get(name, "(absent)"), ours.get(name, "(absent)"), f"{path}.{name}"
            )
    elif isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
        for place, (left, right) in enumerate(zip(real, ours, strict=True)):
            yield from differences(left, right, f"{path}[{place}]")
    elif real != ours:
        yield path, real, ours
