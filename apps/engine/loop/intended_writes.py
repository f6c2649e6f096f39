"""The writes that a decision intends: bindings, conditions, evictions and events."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any, Protocol

from apps.cluster import kinds, merge_patch
from apps.cluster.writes import Create, Delete, Update, Write
from apps.cluster.writing.binding import bind_change, make_binding, set_condition
from apps.controllers.events.writer import EventWriter, PendingEvent, pod_reference
from apps.engine.ledger.records import DecisionRecord
from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.intents import (
    Binding,
    Creation,
    Deletion,
    Eviction,
    Intent,
    MergePatch,
    PodEvent,
)

log = logging.getLogger(__name__)

Body = dict[str, Any]

#: The scheduler's name in the change log.
USER = "kube-scheduler"


class NodeLabels(Protocol):
    """Knows the nodes of a cluster; the informer."""

    def node_labels(self, name: str) -> Mapping[str, str]:
        """The labels of a node; empty if it does not exist."""


class IntendedWrites:
    """Converts decisions, and further intents of plugins, to writes of the store."""

    def __init__(
        self, nodes: NodeLabels, events: EventWriter, *, announces_nodes: bool = True
    ) -> None:
        self._nodes = nodes
        self._events = events
        self._announces_nodes = announces_nodes

    def of_decision(self, record: DecisionRecord) -> Iterator[Write]:
        """The writes of a decision besides its ledger row."""
        decision = record.decision
        pod = _pod_reference(decision)
        if decision.result == Result.SCHEDULED:
            for intent in decision.intents:
                yield from self._of_decision_intent(record, intent)
            yield from scheduled_event(self._events, record)
            return
        if not decision.result.is_final:
            if self._announces_nodes:
                yield _update_status(decision, _set_nominated_node(decision.node))
            return
        for intent in decision.intents:
            if not isinstance(intent, Binding):
                yield from self._of_decision_intent(record, intent)
        yield _update_status(decision, _set_failed(record))
        yield from self._event(
            pod, record, "FailedScheduling", decision.message, "Scheduling", warning=True
        )

    def _of_decision_intent(self, record: DecisionRecord, intent: Intent) -> Iterator[Write]:
        if isinstance(intent, Binding):
            binding = make_binding(intent.node, uid=intent.uid)
            change = bind_change(binding, self._nodes.node_labels(intent.node), record.at)
            if intent.bound_by:
                change = _skip_if_bound(intent, change)
            yield Update(kinds.POD, intent.namespace, intent.name, change, "binding", trusted=True)
        elif isinstance(intent, Eviction):
            yield from self._evict(record, intent)
        else:
            yield from self.of_intent(intent, record.at)

    def of_intent(self, intent: Intent, now: datetime) -> Iterator[Write]:
        """The writes of an intent that do not depend on its decision."""
        if isinstance(intent, MergePatch):
            try:
                kind = kinds.by_name(intent.kind)
            except KeyError:
                log.error("a plugin patches %s %s: there is no such kind", intent.kind, intent.name)
                return
            yield Update(
                kind,
                intent.namespace,
                intent.name,
                partial(merge_patch.merge, patch=dict(intent.patch)),
                intent.subresource,
                trusted=True,
            )
        elif isinstance(intent, Creation):
            yield Create(kinds.by_name(intent.kind), intent.body, intent.namespace)
        elif isinstance(intent, Deletion):
            yield Delete(kinds.by_name(intent.kind), intent.namespace, intent.name, {})
        elif isinstance(intent, PodEvent):
            event = PendingEvent(
                pod_reference(intent.namespace, intent.name, intent.uid, intent.version),
                intent.reason,
                intent.note,
                intent.reporter,
                intent.action,
                intent.warning,
            )
            yield from self._write_event(event, now)

    def _evict(self, record: DecisionRecord, victim: Eviction) -> Iterator[Write]:
        """Delete a victim; one that is not bound yet was requeued, and gets only an event."""
        decision = record.decision
        node = decision.nominating.nominated_node if decision.nominating else ""
        note = f"Preempted by {victim.beneficiary or f'pod {decision.pod_uid} on node {node}'}"
        if victim.delete:
            yield from self._delete_victim(record, victim)
        else:
            note += " (in kube-scheduler memory)."
        reference = pod_reference(victim.namespace, victim.name, victim.uid, victim.version)
        yield from self._event(reference, record, "Preempted", note, "Preempting")

    def _delete_victim(self, record: DecisionRecord, victim: Eviction) -> Iterator[Write]:
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": victim.message,
        }
        where = (kinds.POD, victim.namespace, victim.name)
        change = _set_pod_condition(condition, record.at)
        yield Update(*where, change, "status", trusted=True, uid=victim.uid)
        yield Delete(*where, {"preconditions": {"uid": victim.uid}})

    def _event(
        self,
        pod: Mapping[str, str],
        record: DecisionRecord,
        reason: str,
        note: str,
        action: str,
        *,
        warning: bool = False,
    ) -> Iterator[Write]:
        profile = record.decision.profile
        event = PendingEvent(pod, reason, note, profile, action, warning=warning)
        yield from self._write_event(event, record.at)

    def _write_event(self, event: PendingEvent, now: datetime) -> Iterator[Write]:
        write = self._events.write(event, now)
        if write is not None:
            yield write


def scheduled_event(events: EventWriter, record: DecisionRecord) -> Iterator[Write]:
    """The event of a pod that has got its node."""
    decision = record.decision
    note = f"Successfully assigned {decision.pod_key} to {decision.node}"
    event = PendingEvent(_pod_reference(decision), "Scheduled", note, decision.profile, "Binding")
    write = events.write(event, record.at)
    if write is not None:
        yield write


def _update_status(decision: Decision, change: Callable[[Body], Body]) -> Update:
    namespace, _, name = decision.pod_key.partition("/")
    where = (kinds.POD, namespace, name)
    return Update(*where, change, "status", trusted=True, uid=decision.pod_uid)


def _set_nominated_node(node: str) -> Callable[[Body], Body]:
    """The status of a pod that waits on its node, or whose binding is not written yet."""

    def change(pod: Body) -> Body:
        if pod["spec"].get("nodeName"):
            return pod
        return {**pod, "status": {**(pod.get("status") or {}), "nominatedNodeName": node}}

    return change


def _skip_if_bound(binding: Binding, change: Callable[[Body], Body]) -> Callable[[Body], Body]:
    """`change`, unless the extender has already bound the pod there."""

    def bind(pod: Body) -> Body:
        is_same_pod = pod["metadata"]["uid"] == binding.uid
        return pod if is_same_pod and pod["spec"].get("nodeName") == binding.node else change(pod)

    return bind


def _set_failed(record: DecisionRecord) -> Callable[[Body], Body]:
    """The status of a pod that could not be scheduled."""
    decision = record.decision
    rejected = decision.result == Result.UNSCHEDULABLE
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable" if rejected else "SchedulerError",
        "message": decision.message,
    }
    add_condition = _set_pod_condition(condition, record.at)

    def change(pod: Body) -> Body:
        changed = add_condition(pod)
        if decision.nominating is None:
            return changed
        status = dict(changed["status"])
        status.pop("nominatedNodeName", None)
        if decision.nominating.nominated_node:
            status["nominatedNodeName"] = decision.nominating.nominated_node
        return {**changed, "status": status}

    return change


def _set_pod_condition(condition: Body, now: datetime) -> Callable[[Body], Body]:
    def change(pod: Body) -> Body:
        status = pod.get("status") or {}
        conditions = set_condition(
            status.get("conditions") or [],
            condition,
            now,
            generation=pod["metadata"].get("generation"),
        )
        return {**pod, "status": {**status, "conditions": conditions}}

    return change


def _pod_reference(decision: Decision) -> dict[str, str]:
    namespace, _, name = decision.pod_key.partition("/")
    return pod_reference(namespace, name, decision.pod_uid, decision.pod_version)
