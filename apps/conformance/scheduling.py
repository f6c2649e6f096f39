"""Run recorded scheduling cases and compare every field of every pod's result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from apps.conformance.devices import (
    ClaimReplay,
    has_deallocations,
    is_about_devices,
    without_unrecorded,
    without_values,
)
from apps.conformance.options import Options
from apps.scheduler.attempt import Attempt, new_attempt
from apps.scheduler.clock import VirtualClock
from apps.scheduler.config.errors import ConfigError
from apps.scheduler.config.loading import default_configuration, load
from apps.scheduler.config.types import Configuration
from apps.scheduler.decision import Decision, Result
from apps.scheduler.failure import handle_scheduling_failure
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.interface import PostFilterResult
from apps.scheduler.framework.status import Status
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Node, Pod, decode
from apps.scheduler.plugins.dynamicresources.plugin import DynamicResources
from apps.scheduler.plugins.registry import TABLE
from apps.scheduler.schedule_one import scheduling_cycle
from apps.scheduler.scheduler import Scheduler

Json = Mapping[str, Any]

#: about the time of the recordings: timeouts are counted from the times in objects
_NOW = 1_780_000_000.0
_POST_FILTER_FIELDS = ("messageWithPostFilter", "postFilter")
#: not None, which is the answer about a node that passed
_MISSING = "nothing"
#: its scores, always 0 without claims, are not in the recordings of other families
_ONLY_WITH_CLAIMS = DynamicResources.name


def compare_scheduling(case: Json, expect: Json, options: Options) -> list[str]:
    """Every difference between the recording and this scheduler, as human-readable lines."""
    try:
        config = load(case["config"], TABLE) if "config" in case else default_configuration(TABLE)
    except ConfigError as invalid:
        if "configError" in expect and not expect.get("pods"):
            return []
        return [f"{case['id']}: configuration is refused: {invalid}"]
    if "configError" in expect:
        return [f"{case['id']}: configuration is accepted, recorded {expect['configError']}"]
    differences = list(_profile_differences(case["id"], config, expect))
    replay = CaseReplay(case, config)
    devices = None
    if is_about_devices(case):
        devices = ClaimReplay(
            replay.scheduler.cache,
            pre_bind=case.get("preBind", False),
            deallocates=has_deallocations(expect),
        )
    for body, wanted in zip(case.get("pods") or (), expect.get("pods") or (), strict=True):
        computed = replay.schedule(body, devices)
        if devices is not None:
            computed = without_unrecorded(computed, wanted)
        for field, ours, theirs in _differences(computed, without_values(wanted), options):
            where = f"{case['id']} {wanted['pod']} {field}"
            differences.append(f"{where}: {ours!r}, recorded {theirs!r}")
    return differences


def _profile_differences(case_id: str, config: Configuration, expect: Json) -> Iterator[str]:
    if "profiles" not in expect:
        return
    computed = {p.scheduler_name: p.extension_points() for p in config.profiles}
    if computed != expect["profiles"]:
        yield f"{case_id} profiles: {computed}, recorded {expect['profiles']}"


def _differences(computed: Json, wanted: Json, options: Options) -> Iterator[tuple[str, Any, Any]]:
    fields = {
        field for field in computed.keys() | wanted.keys() if not _is_left_out(field, options)
    }
    for field in sorted(fields):
        ours, theirs = computed.get(field), wanted.get(field)
        if ours == theirs:
            continue
        if isinstance(ours, dict) and isinstance(theirs, dict):
            for key in sorted(ours.keys() | theirs.keys()):
                mine, recorded = ours.get(key, _MISSING), theirs.get(key, _MISSING)
                if mine != recorded:
                    yield f"{field}[{key}]", mine, recorded
        else:
            yield field, ours, theirs


def uncompared_decisions(expect: Json, options: Options) -> Iterator[str]:
    """Texts that come from Go's decoder or its dumps, and fields that are left out."""
    if "configError" in expect:
        yield "text of configError"
    for wanted in expect.get("pods") or ():
        yield from (field for field in wanted if _is_left_out(field, options))
        if without_values(wanted) is not wanted:
            yield "value in a text of preBind"


def _is_left_out(field: str, options: Options) -> bool:
    """A field of the recorder begins with an underscore: it is no answer of the scheduler."""
    return field.startswith("_") or (options.no_postfilter and field in _POST_FILTER_FIELDS)


@dataclass(slots=True)
class CaseReplay:
    """A scheduler with a case's objects, which schedules its pods in their order."""

    scheduler: Scheduler
    #: about the pod that was scheduled last
    decision: Decision | None

    def __init__(self, case: Json, config: Configuration) -> None:
        self.scheduler = Scheduler(config, clock=VirtualClock(_NOW), tie_break="first-name")
        self.decision = None
        bodies = case.get("objects") or ()
        # An image has the size that the first node in name order reports.
        nodes = sorted((b for b in bodies if b["kind"] == "Node"), key=_name)
        for body in (*nodes, *(b for b in bodies if b["kind"] != "Node")):
            self._add(body)
        for body in case.get("pods") or ():
            pod = decode("Pod", body)
            if pod.status.nominated_node_name:
                self.scheduler.queue.add_nominated_pod(PodInfo(pod))

    def _add(self, body: Json) -> None:
        item = decode(body["kind"], body)
        cache = self.scheduler.cache
        if isinstance(item, Node):
            cache.add_node(item)
        elif isinstance(item, Pod) and item.spec.node_name:
            cache.add_pod(PodInfo(item))
        elif isinstance(item, Pod):
            self.scheduler.queue.add_nominated_pod(PodInfo(item))
        else:
            cache.listers.by_kind[body["kind"]].put(item)

    def schedule(self, body: Json, devices: ClaimReplay | None = None) -> Json:
        """One cycle without the queue; the result in the recording's form."""
        pod = PodInfo(decode("Pod", body))
        result: dict[str, Any] = {"pod": pod.key, "node": None}
        framework = self.scheduler.profiles.get(pod.pod.spec.scheduler_name)
        if framework is None:
            return {**result, "ignored": True}
        gate = framework.run_pre_enqueue_plugins(pod)
        if not gate.is_success:
            return {**result, "preEnqueue": _status(gate)}
        if devices is not None and self.scheduler.cache.is_assumed(pod.uid):
            # A pod that is listed again was not bound.
            self.scheduler.cache.forget_pod(pod.uid)
        attempt = new_attempt(framework, pod)
        self.decision = attempt.decision
        status = scheduling_cycle(self.scheduler.context, attempt)
        if status.is_success:
            attempt.decision.result = Result.SCHEDULED
            self.scheduler.queue.delete_nominated_pod(pod)
        else:
            handle_scheduling_failure(self.scheduler.queue, attempt, status)
        result |= describe(attempt, devices=devices is not None)
        return result if devices is None else devices.describe(attempt, result)


def describe(attempt: Attempt, *, devices: bool = False) -> Json:
    """A finished attempt in the recording's form; fields that do not apply are left out."""
    decision = attempt.decision
    described: dict[str, Any] = {}
    if not decision.total_nodes:
        return {"error": decision.message}
    described["preFilter"] = _status(decision.pre_filter)
    if decision.pre_filter_nodes is not None:
        described["preFilter"]["nodeNames"] = sorted(decision.pre_filter_nodes)
    if decision.pre_filter.is_success and decision.filter_skipped:
        described["filterSkipped"] = sorted(decision.filter_skipped)
    if decision.result is Result.ERROR:
        return {**described, "error": decision.message}
    if decision.node_statuses is not None:
        described["filter"] = _filter(attempt)
    if decision.unschedulable_plugins:
        described["unschedulablePlugins"] = sorted(decision.unschedulable_plugins)
    if decision.feasible.size:
        described |= _choice(attempt, devices)
    else:
        described["message"] = decision.filter_message
        described |= _post_filter(decision)
    return described


def _choice(attempt: Attempt, devices: bool) -> Json:
    """Scores of extenders are recorded in the totals alone."""
    decision = attempt.decision
    left_out = decision.scores.keys() - attempt.framework.plugins.keys()
    if not devices:
        left_out.add(_ONLY_WITH_CLAIMS)
    described: dict[str, Any] = {
        "node": decision.node,
        "ties": decision.tied_nodes(),
        "scores": {
            decision.nodes[row]: {
                "total": int(total),
                "plugins": {
                    plugin: list(scores)
                    for plugin, scores in decision.scores_of(decision.nodes[row]).items()
                    if plugin not in left_out
                },
            }
            for row, total in zip(decision.feasible, decision.total, strict=True)
        },
    }
    if decision.score_skipped:
        described["scoreSkipped"] = sorted(decision.score_skipped)
    if decision.nominated_fast_path:
        described["nominatedNodeFastPath"] = True
    if decision.rejection is not None:
        described["reserve"] = _status(decision.rejection)
    return described


def _filter(attempt: Attempt) -> Json:
    """Recordings do not name extenders, and leave out nodes that one refuses without a reason."""
    decision, statuses = attempt.decision, attempt.decision.node_statuses
    assert statuses is not None
    answers: dict[str, Any] = {}
    # PreFilter's reason stands for the nodes that it excluded; others were not reached.
    evaluated = statuses.ids != NodeStatuses.NOT_EVALUATED
    for row, name in enumerate(decision.nodes):
        if not name or not (evaluated[row] or statuses.absent.reasons):
            continue
        status = statuses.at(row)
        if status is None or not status.plugin or status.plugin in attempt.framework.plugins:
            answers[name] = None if status is None else _status(status)
        elif status.reasons:
            answers[name] = {**_status(status), "plugin": ""}
    return answers


def _post_filter(decision: Decision) -> Json:
    status, result = decision.post_filter_status, decision.post_filter
    if status is None:
        return {}
    described: dict[str, Any] = {"code": status.code.label, "reasons": sorted(status.reasons)}
    if status.plugin:
        described["plugin"] = status.plugin
    if result is not None:
        described |= _preemption(result, decision.nodes)
    return {"messageWithPostFilter": decision.message, "postFilter": described}


def _preemption(result: PostFilterResult, nodes: Sequence[str]) -> Json:
    described: dict[str, Any] = {}
    if result.nominating is not None:
        described["nominatingMode"] = "Override"
        described["nominatedNode"] = result.nominating.nominated_node
    if result.victims:
        described["victims"] = sorted(pod.key for pod in result.victims)
    if result.candidates:
        described["candidates"] = {
            each.node: {"pods": sorted(each.victims), "pdbViolations": each.pdb_violations}
            for each in result.candidates
        }
        described["ties"] = sorted(result.ties)
    if result.node_statuses is not None and result.node_statuses.rejected:
        described["nodeStatus"] = {
            node: _status(why)
            for node, number in zip(nodes, result.node_statuses.ids.tolist(), strict=True)
            if number > 0 and (why := result.node_statuses.statuses[number]) is not None
        }
    return described


def _status(status: Status) -> dict[str, Any]:
    reasons = sorted(status.reasons)
    return {"plugin": status.plugin, "code": status.code.label, "reasons": reasons}


def _name(body: Json) -> str:
    name: str = body["metadata"]["name"]
    return name
