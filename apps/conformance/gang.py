"""Replay recorded sequences of gang scheduling and compare the state after every step."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, Final

from apps.scheduler.clock import VirtualClock
from apps.scheduler.config import API_VERSION, KIND, load
from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.intents import Eviction, Intent, MergePatch, PodEvent
from apps.scheduler.objects import decode
from apps.scheduler.plugins.default_preemption import DefaultPreemption
from apps.scheduler.plugins.registry import TABLE
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo
from apps.scheduler.queue.records import PodMove, SubQueue
from apps.scheduler.scheduler import Scheduler

Json = Mapping[str, Any]
Body = dict[str, Any]
#: (kind, namespace, name)
Key = tuple[str, str, str]

_DELETED_AT: Final = "2025-03-01T00:00:00Z"
_SCHEDULED: Final = "PodScheduled"
_DISRUPTED: Final = "DisruptionTarget"


def run_gang_case(case: Json, expect: Json) -> list[str]:
    """The differences of the first step that has any; empty if there are none."""
    replay = GangReplay(case)
    for number, (step, wanted) in enumerate(zip(case["steps"], expect["states"], strict=True)):
        computed = replay.perform(step)
        where = f"{case['id']} step {number} ({step['op']})"
        differences = list(_compare(where, computed, wanted))
        if differences:
            return differences
    return []


def _compare(where: str, computed: Any, wanted: Any) -> list[str]:
    if isinstance(computed, dict) and isinstance(wanted, dict):
        return [
            line
            for key in sorted(computed.keys() | wanted.keys())
            for line in _compare(f"{where} {key}", computed.get(key), wanted.get(key))
        ]
    return [] if computed == wanted else [f"{where}: {computed!r}, recorded {wanted!r}"]


class GangReplay:
    """A scheduler, a clock, and an API that writes what the scheduler requests at once."""

    def __init__(self, case: Json) -> None:
        given = case.get("config") or {"apiVersion": API_VERSION, "kind": KIND}
        config = load({**given, "featureGates": case["featureGates"]}, TABLE)
        self._clock = VirtualClock()
        self._now_ms = 0
        self._graceful = case.get("gracefulDeletion", False)
        self._objects: dict[Key, Body] = {}
        self._popped: list[str] = []
        self.scheduler = Scheduler(
            config,
            clock=self._clock,
            tie_break="first-name",
            observer=self._observe,
            hurries_groups=True,
        )

    def _observe(self, move: PodMove) -> None:
        if move.target is SubQueue.IN_FLIGHT:
            self._popped.append(move.pod_key)

    def perform(self, step: Json) -> Body:
        """Perform one step; returns the state after it, in the form of the recording."""
        seen = _STEPS[step["op"]](self, step) or {}
        return {**seen, **self._state()}

    # --- steps, each returning what it adds to the state ----------------------------------------

    def create(self, step: Json) -> None:
        for body in step["objects"]:
            self._pass(1)
            self._write(copy.deepcopy(body))

    def delete(self, step: Json) -> None:
        self._pass(1)
        key = (step["kind"], step.get("namespace", ""), step["name"])
        self._delete(key, graceful=step.get("graceful", False))

    def reap(self, step: Json) -> None:
        for key in sorted(self._objects):
            body = self._objects[key]
            if key[0] == "Pod" and _is_deleting(body) and body["spec"].get("nodeName"):
                self._pass(1)
                self._delete(key, graceful=False)

    def cycle(self, step: Json) -> Body:
        popped: list[str] = []
        events: list[str] = []
        for _ in range(step["n"]):
            if not self.scheduler.queue.has_pod_to_pop():
                break
            self._pass(1)
            decisions = [each for each in self._schedule(popped) if each.result.is_final]
            for decision in (*decisions, *self.scheduler.resolve_waiting()):
                self._commit(decision, events)
            for intent in self.scheduler.take_intents():
                self._carry_out(intent, events)
        seen: Body = {"popped": popped}
        if events:
            seen["events"] = sorted(events)
        if not self.scheduler.queue.has_pod_to_pop():
            seen["idle"] = True
        return seen

    def advance(self, step: Json) -> None:
        self._pass(step["ms"])
        self.scheduler.queue.flush_backoff_completed()
        self.scheduler.queue.flush_unschedulable_leftover()

    # --- the API --------------------------------------------------------------------------------

    def _pass(self, milliseconds: int) -> None:
        self._now_ms += milliseconds
        self._clock.at = self._now_ms / 1000

    def _write(self, body: Body) -> None:
        key = _key_of(body)
        old, self._objects[key] = self._objects.get(key), body
        self.scheduler.handle(
            key[0],
            None if old is None else decode(key[0], old),
            decode(key[0], body),
        )

    def _change(self, key: Key, change: Callable[[Body], None]) -> None:
        body = copy.deepcopy(self._objects[key])
        change(body)
        if body != self._objects[key]:
            self._write(body)

    def _delete(self, key: Key, *, graceful: bool) -> None:
        if graceful:
            self._change(key, _mark_deleting)
        else:
            body = self._objects.pop(key)
            self.scheduler.handle(key[0], decode(key[0], body), None)

    # --- the scheduler's requests ---------------------------------------------------------------

    def _schedule(self, popped: list[str]) -> list[Decision]:
        """The decisions of one cycle, of all members of a group."""
        self._popped.clear()
        first = self.scheduler.schedule_one()
        if first is None:
            return []
        decisions = [first]
        while self.scheduler.is_within_group:
            other = self.scheduler.schedule_one()
            assert other is not None
            decisions.append(other)
        popped.append(self._popped[0])
        return decisions

    def _commit(self, decision: Decision, events: list[str]) -> None:
        namespace, name = decision.pod_key.split("/")
        key = ("Pod", namespace, name)
        if decision.result is Result.SCHEDULED:
            self._change(key, lambda body: _bind(body, decision.node))
            self.scheduler.bound(decision)
            assigned = f"Successfully assigned {decision.pod_key} to {decision.node}"
            events.append(f"{decision.pod_key}|Normal|Scheduled|Binding|{assigned}")
        else:
            if key in self._objects:
                self._change(key, lambda body: _reject(body, decision))
            failed = "Warning|FailedScheduling|Scheduling"
            events.append(f"{decision.pod_key}|{failed}|{decision.message}")
        for intent in decision.intents:
            self._carry_out(intent, events)

    def _carry_out(self, intent: Intent, events: list[str]) -> None:
        if isinstance(intent, Eviction):
            self._evict(intent, events)
        elif isinstance(intent, PodEvent):
            kind = "Warning" if intent.warning else "Normal"
            about = f"{intent.namespace}/{intent.name}"
            events.append(f"{about}|{kind}|{intent.reason}|{intent.action}|{intent.note}")
        elif isinstance(intent, MergePatch):
            key = (intent.kind, intent.namespace, intent.name)
            self._change(key, lambda body: _merge_status(body, intent.patch["status"]))

    def _evict(self, eviction: Eviction, events: list[str]) -> None:
        key = ("Pod", eviction.namespace, eviction.name)
        body = self._objects.get(key)
        if body is None:
            return
        preempted = "Normal|Preempted|Preempting|Preempted by pod <preemptor> on node"
        node = body["spec"]["nodeName"]
        events.append(f"{eviction.namespace}/{eviction.name}|{preempted} {node}")
        self._change(key, _disrupt)
        self._delete(key, graceful=self._graceful)

    # --- the state ------------------------------------------------------------------------------

    def _state(self) -> Body:
        pods = {f"{ns}/{name}": b for (kind, ns, name), b in self._objects.items() if kind == "Pod"}
        groups = {
            f"{namespace}/{name}": _describe_group(body)
            for (kind, namespace, name), body in self._objects.items()
            if kind == "PodGroup"
        }
        state: Body = {
            "nowMs": self._now_ms,
            "pods": {key: self._describe(key, body) for key, body in pods.items()},
        }
        if groups:
            state["podGroups"] = groups
        return state

    def _describe(self, key: str, body: Body) -> Body:
        described: Body = {}
        if body["spec"].get("nodeName"):
            described["node"] = body["spec"]["nodeName"]
        status = body.get("status", {})
        if status.get("nominatedNodeName"):
            described["nominatedNodeName"] = status["nominatedNodeName"]
        for condition in status.get("conditions", ()):
            if condition["type"] == _SCHEDULED:
                described["scheduled"] = {
                    name: condition[name]
                    for name in ("status", "reason", "message")
                    if condition.get(name)
                }
            elif condition["type"] == _DISRUPTED:
                described["disruptionTarget"] = condition["reason"]
        if _is_deleting(body):
            described["deleting"] = True
        info = self.scheduler.queue.contents.get(key)
        if info is not None:
            described |= _describe_entry(info, self.scheduler.queue.contents.place_of(key))
        elif self.scheduler.waiting_pods.get(body["metadata"]["uid"]) is not None:
            described["queue"] = "waitingOnPermit"
        elif self.scheduler.cache.is_assumed(body["metadata"]["uid"]):
            described["queue"] = "assumed"
        return described


_STEPS: Final[Mapping[str, Callable[[GangReplay, Json], Body | None]]] = {
    "create": GangReplay.create,
    "delete": GangReplay.delete,
    "reap": GangReplay.reap,
    "cycle": GangReplay.cycle,
    "advance": GangReplay.advance,
}


def _key_of(body: Body) -> Key:
    metadata = body["metadata"]
    return body["kind"], metadata.get("namespace", ""), metadata["name"]


def _is_deleting(body: Body) -> bool:
    return "deletionTimestamp" in body["metadata"]


def _mark_deleting(body: Body) -> None:
    body["metadata"]["deletionTimestamp"] = _DELETED_AT


def _bind(body: Body, node: str) -> None:
    body["spec"]["nodeName"] = node
    body.setdefault("status", {}).pop("nominatedNodeName", None)
    _set_condition(body, {"type": _SCHEDULED, "status": "True"})


def _reject(body: Body, decision: Decision) -> None:
    reason = "Unschedulable" if decision.result is Result.UNSCHEDULABLE else "SchedulerError"
    _set_condition(
        body,
        {"type": _SCHEDULED, "status": "False", "reason": reason, "message": decision.message},
    )
    if decision.nominating is not None:
        body["status"]["nominatedNodeName"] = decision.nominating.nominated_node


def _merge_status(body: Body, patch: Json) -> None:
    status = {**body.get("status", {}), **patch}
    body["status"] = {name: value for name, value in status.items() if value is not None}


def _disrupt(body: Body) -> None:
    _set_condition(body, {"type": _DISRUPTED, "status": "True", "reason": "PreemptionByScheduler"})


def _set_condition(body: Body, condition: Body) -> None:
    status = body.setdefault("status", {})
    others = [each for each in status.get("conditions", ()) if each["type"] != condition["type"]]
    status["conditions"] = [*others, condition]


def _describe_group(body: Body) -> Body:
    conditions = [
        {name: each[name] for name in ("type", "status", "reason", "message") if each.get(name)}
        for each in body.get("status", {}).get("conditions", ())
    ]
    return {"conditions": conditions} if conditions else {}


def _describe_entry(info: QueuedPodInfo, place: SubQueue) -> Body:
    """A waiting pod. Which of several gates is noted is random in the recordings."""
    described: Body = {"attempts": info.attempts, "queue": place.value.lower()}
    if place is SubQueue.BACKOFF:
        described["queue"] = "backoff" if info.rejector_plugins else "errorBackoff"
        assert info.backoff_expiry is not None
        described["backoffUntilMs"] = round(info.backoff_expiry * 1000)
    counts = {
        "unschedulableCount": info.unschedulable_count,
        "consecutiveErrors": info.consecutive_errors_count,
    }
    described |= {name: count for name, count in counts.items() if count}
    if info.pod.spec.scheduling_gates:
        return described
    plugins = set(info.unschedulable_plugins)
    if info.gating_plugin != DefaultPreemption.name:
        plugins.discard(DefaultPreemption.name)
    if info.is_gated:
        described["gatedBy"] = info.gating_plugin
    if plugins:
        described["unschedulablePlugins"] = sorted(plugins)
    return described
