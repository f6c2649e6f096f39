"""Decides again what was decided in a recorded cluster, in the state that it had."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from apps.cluster import kinds
from apps.engine.profiles.schedulers import assemble_scheduler
from apps.scheduler.attempt import new_attempt
from apps.scheduler.clock import VirtualClock
from apps.scheduler.config import Configuration
from apps.scheduler.decision import Decision
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import KubeObject, Pod, decode
from apps.scheduler.objects.decoding import DecodeError
from apps.scheduler.schedule_one import find_node
from apps.studies.importers.recorded_events import Event, Key
from apps.studies.scenarios.recorded_decisions.results import RecordedDecision


def decide_again(
    events: Sequence[Event], decisions: Sequence[RecordedDecision], configuration: Configuration
) -> Iterator[tuple[RecordedDecision, Decision]]:
    """The recorded decisions, each with ours; BadRequest names an object that cannot be read.

    Pods are on the nodes that the recording has, whatever our decisions are.
    """
    state = _State(configuration)
    try:
        following = 0
        for recorded in decisions:
            for event in events[following : recorded.index]:
                state.take(event)
            following = max(following, recorded.index)
            yield recorded, state.decide(recorded)
    finally:
        state.close()


class _State:
    """A scheduler that knows the recorded objects; pods without a node are not in its queue."""

    def __init__(self, configuration: Configuration) -> None:
        self._scheduler = assemble_scheduler(
            configuration,
            clock=VirtualClock(datetime(2026, 1, 1, tzinfo=UTC).timestamp()),
            tie_break="first-name",
            binds=False,
        )
        self._items: dict[Key, KubeObject] = {}

    def close(self) -> None:
        self._scheduler.close()

    def take(self, event: Event) -> None:
        """Show the scheduler an event, unless it is about a pod without a node."""
        new = None if event.body is None else _decode(event)
        is_waiting = isinstance(new, Pod) and not new.spec.node_name
        old = self._items.pop(event.key, None)
        if new is not None and not is_waiting:
            self._items[event.key] = new
        if old is not None or not (new is None or is_waiting):
            self._scheduler.handle(event.kind.name, old, None if is_waiting else new)

    def decide(self, recorded: RecordedDecision) -> Decision:
        """Our decision about the pod as it was before it had a node."""
        event = recorded.event
        body: dict[str, Any] = {**(event.body or {})}
        body["spec"] = {k: v for k, v in body["spec"].items() if k != "nodeName"}
        pod = _decode(Event(event.at, kinds.POD, event.namespace, event.name, body, event.place))
        assert isinstance(pod, Pod)
        framework = self._scheduler.profiles.get(pod.spec.scheduler_name)
        if framework is None:
            name = pod.spec.scheduler_name
            raise event.place.at("spec.schedulerName").error(
                f"the configuration has no profile {name!r}"
            )
        self._scheduler.context.next_start_node_index = 0
        attempt = new_attempt(framework, PodInfo(pod))
        find_node(self._scheduler.context, attempt)
        return attempt.decision


def _decode(event: Event) -> KubeObject:
    body = dict(event.body or {})
    defaults = {"uid": "/".join(event.key), "namespace": event.namespace}
    body["metadata"] = {**defaults, **body["metadata"]}
    try:
        item: KubeObject = decode(event.kind.name, body)
    except DecodeError as error:
        raise event.place.error(str(error)) from error
    return item
