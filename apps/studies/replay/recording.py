"""The recorded life of a cluster, change by change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from apps.cluster import kinds
from apps.cluster.log.changelog import LoggedChange
from apps.engine.loop.informer import decode
from apps.engine.loop.intended_writes import USER as SCHEDULER
from apps.scheduler.objects import Node, Pod
from apps.studies.rebuilding.past_objects import read_objects_at
from apps.studies.replay.inputs import Inputs
from apps.studies.replay.levels import Levels, Samples
from apps.studies.replay.span import Span


@dataclass(slots=True)
class Recording:
    """The recorded life, change by change."""

    span: Span
    levels: Levels
    samples: Samples
    inputs: Inputs = field(default_factory=Inputs)
    #: uid of a pod -> when it was created in the span, to the microsecond
    created: dict[str, float] = field(default_factory=dict)
    _changes: Iterator[LoggedChange] | None = None
    _next: LoggedChange | None = None

    def start(self) -> None:
        """Begin with the objects at the start of the span."""
        since = self.span.since
        for each in read_objects_at(self.span.cluster, since.version, [kinds.NODE, kinds.POD]):
            if isinstance(each.item, Node):
                self.levels.put_node(each.item)
            elif isinstance(each.item, Pod):
                self.levels.put_pod(each.item, since.at.timestamp(), counts=False)
        self._changes = self.span.changes(since.version)
        self._next = next(self._changes, None)

    def until(self, version: int) -> Iterator[LoggedChange]:
        """The next changes up to a version; each is part of the levels when it is yielded."""
        assert self._changes is not None
        while self._next is not None and self._next.version <= version:
            change, self._next = self._next, next(self._changes, None)
            self._take(change)
            yield change

    def _take(self, change: LoggedChange) -> None:
        at = change.at.timestamp()
        self.samples.pass_until(at, self.levels)
        if change.kind not in ("Node", "Pod"):
            return
        is_gone = change.type == "DELETED"
        is_leaving = is_gone or change.object["metadata"].get("deletionTimestamp")
        if change.kind == "Pod" and change.user == SCHEDULER and is_leaving:
            self.levels.preempted.add(change.uid)
        if is_gone:
            remove = self.levels.remove_pod if change.kind == "Pod" else self.levels.remove_node
            remove(change.uid if change.kind == "Pod" else change.name)
            return
        item = decode(change.kind, change.object)
        if isinstance(item, Node):
            self.levels.put_node(item)
        elif isinstance(item, Pod):
            if change.type == "ADDED":
                self.created[change.uid] = at
            self.levels.put_pod(item, at)
