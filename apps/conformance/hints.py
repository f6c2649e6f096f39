"""Compare queueing hints, and the events that plugins register, with those of kube-scheduler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apps.conformance.default_profile import default_hints
from apps.scheduler.framework import events
from apps.scheduler.framework.events import (
    ActionType,
    ClusterEvent,
    QueueingHint,
    QueueingHintFn,
    action_by_name,
    action_name,
    node_update_events,
    pod_update_events,
)
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Node, Pod, decode, decode_as
from apps.scheduler.queue.hinting import QueueingHintMap

Json = Mapping[str, Any]


def run_hints_case(case: Json, expect: Json) -> list[str]:
    """Every difference, as human-readable lines.

    The case's objects are not needed: hints use only the pod and the change.
    """
    differences = []
    hints = default_hints()
    pod = decode_as(Pod, case["pod"])
    for index, (event, wanted) in enumerate(zip(case["events"], expect["results"], strict=True)):
        raised, old, new = _objects(event)
        asked = PodInfo(new) if event["op"] == "podUpdate" else PodInfo(pod)
        computed = {
            "events": [each.label for each in raised],
            "hints": {each.label: _ask_all(hints, each, asked, old, new) for each in raised},
        }
        differences += [
            f"{case['id']} event {index} ({event['op']}): {difference}"
            for difference in _differences(computed, wanted)
        ]
    return differences


def _differences(computed: Json, wanted: Json) -> list[str]:
    if computed["events"] != wanted["events"]:
        return [f"events are {computed['events']}, recorded {wanted['events']}"]
    return [
        f"{label}: {plugin} says {given.get(plugin)}, recorded {recorded.get(plugin)}"
        for label in sorted(computed["hints"].keys() | wanted["hints"].keys())
        for given, recorded in [(computed["hints"].get(label, {}), wanted["hints"].get(label, {}))]
        for plugin in sorted(given.keys() | recorded.keys())
        if given.get(plugin) != recorded.get(plugin)
    ]


def _objects(event: Json) -> tuple[list[ClusterEvent], Any, Any]:
    """The cluster events that an entry of the recording raises, with the old and new object."""
    match event["op"]:
        case "nodeAdd":
            return [events.EVENT_NODE_ADD], None, decode_as(Node, event["new"])
        case "nodeUpdate":
            old_node, new_node = decode_as(Node, event["old"]), decode_as(Node, event["new"])
            return node_update_events(old_node, new_node), old_node, new_node
        case "assignedPodAdd":
            return [events.EVENT_ASSIGNED_POD_ADD], None, decode_as(Pod, event["pod"])
        case "assignedPodDelete":
            return [events.EVENT_ASSIGNED_POD_DELETE], decode_as(Pod, event["pod"]), None
        case "assignedPodUpdate" | "podUpdate":
            old_pod, new_pod = decode_as(Pod, event["old"]), decode_as(Pod, event["new"])
            return pod_update_events(old_pod, new_pod), old_pod, new_pod
        case _:
            raised = ClusterEvent(event["resource"], action_by_name(event["action"]))
            return [raised], _decode(event.get("old")), _decode(event.get("new"))


def _decode(body: Json | None) -> Any:
    return None if body is None else decode(body["kind"], body)


def _ask_all(
    hints: QueueingHintMap, event: ClusterEvent, pod: PodInfo, old: Any, new: Any
) -> dict[str, str]:
    """Plugin -> its hint; of several registrations for one event, Queue wins."""
    answers: dict[str, str] = {}
    for registered, listeners in hints.items():
        if registered.matches(event):
            for plugin, hint_fn in listeners:
                answer = _ask(hint_fn, pod, old, new)
                if answers.get(plugin) != QueueingHint.QUEUE.value:
                    answers[plugin] = answer
    return answers


def _ask(hint_fn: QueueingHintFn, pod: PodInfo, old: Any, new: Any) -> str:
    try:
        return hint_fn(pod, old, new).value
    except ValueError:
        return "Error"


def check_registered_events(recorded: Mapping[str, Sequence[Json]]) -> list[str]:
    """How the events that plugins register differ from the recorded table of them."""
    registered: dict[str, dict[str, set[str]]] = {}
    for event, listeners in default_hints().items():
        for plugin, _ in listeners:
            actions = registered.setdefault(plugin, {}).setdefault(event.resource, set())
            actions.update(_action_names(event.action))
    wanted: dict[str, dict[str, set[str]]] = {}
    for plugin, registrations in recorded.items():
        for registration in registrations:
            actions = wanted.setdefault(plugin, {}).setdefault(registration["resource"], set())
            actions.update(registration["actions"])
    return [
        f"{plugin} registers {registered.get(plugin)}, recorded {wanted.get(plugin)}"
        for plugin in sorted(registered.keys() | wanted.keys())
        if registered.get(plugin) != wanted.get(plugin)
    ]


def _action_names(action: ActionType) -> list[str]:
    return action_name(action).split("|")
