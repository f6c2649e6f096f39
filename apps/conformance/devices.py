"""What recorded cases of dynamic resource allocation contain beside a decision."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
import numpy as np

from apps import quantity
from apps.scheduler.attempt import Attempt
from apps.scheduler.cache.cache import Cache
from apps.scheduler.failure import unreserve_and_forget
from apps.scheduler.framework import guard, intents
from apps.scheduler.framework.overlay import Overlay
from apps.scheduler.framework.status import Code, StatusError
from apps.scheduler.objects import (
    AllocationResult,
    ObjectMeta,
    ResourceClaim,
    ResourceClaimStatus,
    decode,
)
from apps.scheduler.objects.decoding import as_json
from apps.scheduler.plugins.dynamicresources import extended, writes
from apps.scheduler.plugins.dynamicresources.plugin import (
    REASON_DEALLOCATED,
    REASON_DELETED,
    DynamicResources,
    deallocation_candidates,
)
from apps.scheduler.plugins.dynamicresources.pod_resource_claims import EXTENDED_CLAIM
from apps.scheduler.plugins.dynamicresources.state import ClaimState
from apps.scheduler.plugins.node_declared_features import NodeDeclaredFeatures

Json = Mapping[str, Any]
_RESOURCES: Final = {"ResourceClaim": "resourceclaims", "Pod": "pods"}
_SHARE: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


_KINDS: Final = frozenset({"DeviceClass", "ResourceSlice", "ResourceClaim"})
#: a value in the text of an error, which Go prints with the names of its fields
_VALUE: Final = re.compile(r"Invalid value: \{.*\}")
_VALUE_OF: Final = "Invalid value: {}"
_BEFORE_AN_ERROR: Final = frozenset({"allocations", "errors", "filter"})
#: not in every recording of this family
_OFTEN_LEFT_OUT: Final = frozenset({"candidates", "ties", "nodeStatus"})
#: not in recordings whose reasons alone say that a claim was deallocated or deleted
_DEALLOCATED: Final = frozenset({REASON_DEALLOCATED, REASON_DELETED})
_DEALLOCATION: Final = frozenset({"deallocationCandidates", "writes"})


def is_about_devices(case: Json) -> bool:
    return any(body["kind"] in _KINDS for body in case.get("objects") or ())


def claim_state(attempt: Attempt) -> ClaimState:
    return attempt.state.find(DynamicResources.name, ClaimState) or ClaimState()


def describe_allocations(attempt: Attempt) -> Json:
    """What Filter found for each node, in the recording's form."""
    by_node, state = {}, claim_state(attempt)
    for node in filter(None, attempt.decision.nodes):
        allocation = state.allocation_on(node)
        if allocation is None or not _passed(attempt, node):
            continue
        entries = []
        for claim, result in allocation.pairs():
            entry: dict[str, Any] = {"claim": claim.key, "allocation": allocation_json(result)}
            if extended.is_in_memory(claim):
                requests = msgspec.to_builtins(claim.spec.devices.requests)
                entry["requests"] = [_with_defaults(each) for each in requests] or None
                entry["requestMappings"] = msgspec.to_builtins(allocation.mappings) or None
            entries.append(entry)
        by_node[node] = entries
    return {"allocations": by_node} if by_node else {}


def _passed(attempt: Attempt, node: str) -> bool:
    """Whether the node was filtered by the plugin, and not only in a dry run of preemption."""
    statuses = attempt.decision.node_statuses
    if statuses is None:
        return True
    status = statuses.at(attempt.decision.nodes.index(node))
    return status is None or status.plugin == NodeDeclaredFeatures.name


def _with_defaults(request: dict[str, Any]) -> Json:
    exactly = {"allocationMode": "ExactCount", "count": 1, **request["exactly"]}
    return {**request, "exactly": exactly}


def allocation_json(allocation: AllocationResult) -> Json:
    """The recording's form: shares are not compared, times are elsewhere."""
    body = writes.allocation_body(allocation)
    body.pop("allocationTimestamp", None)
    for result in body["devices"].get("results", ()):
        if _SHARE.fullmatch(result.get("shareID", "")):
            result["shareID"] = "*"
        for name, amount in result.get("consumedCapacity", {}).items():
            result["consumedCapacity"][name] = quantity.canonical(amount)
    return body


class ClaimReplay:
    """Applies to the listers what a decision writes, as an API server would.

    ``deallocates``: also what PostFilter writes.
    """

    def __init__(self, cache: Cache, *, pre_bind: bool, deallocates: bool) -> None:
        self._cache, self._listers, self._pre_bind = cache, cache.listers, pre_bind
        self._deallocates = deallocates
        self._created = 0

    def choose_name(self, base: str) -> str:
        self._created += 1
        return f"{base}{self._created:05}"

    def describe(self, attempt: Attempt, computed: Json) -> Json:
        """``found``, a decision in the recording's form, with what happened to the claims."""
        allocations = describe_allocations(attempt)
        if attempt.decision.node and attempt.assumed is not None:
            added = self._after_reserve(attempt)
        else:
            added = _errors(attempt)
            if "postFilter" in computed:
                after = self._after_post_filter(attempt)
                added = {**added, "postFilter": {**computed["postFilter"], **after}}
        described: Json = as_json({**computed, **allocations, **added})
        return described

    # PostFilter

    def _after_post_filter(self, attempt: Attempt) -> Json:
        state = claim_state(attempt)
        candidates = [claim.key for claim in deallocation_candidates(state, attempt.pod)]
        described: dict[str, Any] = {"deallocationCandidates": candidates} if candidates else {}
        requested = intents.of(attempt.state)
        if len(candidates) < 2:
            written = [_write(each) for each in requested if _is_of_claims(each)]
            described |= {"writes": written} if written else {}
            if self._deallocates:
                for each in requested:
                    self._apply(each)
        return described

    # Reserve and PreBind

    def _after_reserve(self, attempt: Attempt) -> Json:
        described = self._run_pre_bind(attempt) if self._pre_bind and _has_claims(attempt) else {}
        claims = [self._claim(claim, attempt) for claim in _claims_of(attempt)]
        return {**described, **({"claims": claims} if claims else {})}

    def _run_pre_bind(self, attempt: Attempt) -> Json:
        assert attempt.assumed is not None
        plugin = attempt.framework.plugins[DynamicResources.name]
        assert isinstance(plugin, DynamicResources)
        plugin.choose_name = self.choose_name
        before = len(intents.of(attempt.state))
        status = guard.call(
            plugin.name,
            "PreBind",
            plugin.pre_bind,
            attempt.state,
            attempt.assumed,
            attempt.decision.node,
        )
        requested = intents.of(attempt.state)[before:]
        for each in requested:
            self._apply(each)
        refused = claim_state(attempt).refused
        if refused is not None:
            requested = (*requested, refused)
        written = [_write(each) for each in requested if not isinstance(each, intents.PodEvent)]
        described: dict[str, Any] = {}
        if status.code is Code.PENDING:
            described["waiting"] = True
        else:
            reasons = [_VALUE.sub(_VALUE_OF, reason) for reason in status.reasons]
            described |= {"code": status.code.label, "plugin": "", "reasons": reasons}
        if written:
            described["writes"] = written
        for each in requested:
            if isinstance(each, intents.PodEvent):
                described["event"] = f"{each.reason}: {each.note}"
        result: dict[str, Any] = {"preBind": described}
        if status.code is Code.ERROR:
            result |= self._unreserve(attempt)
        for each in requested:
            if isinstance(each, intents.MergePatch) and each.kind == "Pod":
                result |= each.patch["status"]
        return result

    def _unreserve(self, attempt: Attempt) -> Json:
        """A pod whose binding failed: its claims are no longer reserved."""
        before = len(intents.of(attempt.state))
        unreserve_and_forget(self._cache, attempt)
        requested = intents.of(attempt.state)[before:]
        for each in requested:
            self._apply(each)
        written = [
            _strategic(each, attempt) if getattr(each, "subresource", "") else _write(each)
            for each in requested
        ]
        return {"unreserve": written} if written else {}

    def _claim(self, claim: ResourceClaim, attempt: Attempt) -> Json:
        now = self._now(claim, attempt)
        allocation = self._allocation(claim, now, attempt)
        described: dict[str, Any] = {"claim": now.key}
        if EXTENDED_CLAIM in claim.metadata.annotations:
            described["extended"] = True
        if allocation is None:
            return {**described, "satisfiedByDevicePlugin": True}
        described["allocation"] = allocation_json(allocation)
        if claim.status.allocation is None:
            described["new"] = True
        return {**described, **(_stored(now, claim) if self._pre_bind else {})}

    def _now(self, claim: ResourceClaim, attempt: Attempt) -> ResourceClaim:
        """The claim as it is stored; one that is stored no longer, as it was."""
        written = claim_state(attempt).reserved.get(claim.metadata.uid, claim)
        if not self._pre_bind or written is claim:
            return written
        stored = self._listers.resource_claims.get(
            written.metadata.name, written.metadata.namespace
        )
        return stored or msgspec.structs.replace(
            written,
            metadata=ObjectMeta(name=written.metadata.name, namespace=written.metadata.namespace),
            status=ResourceClaimStatus(),
        )

    def _allocation(
        self, claim: ResourceClaim, now: ResourceClaim, attempt: Attempt
    ) -> AllocationResult | None:
        if now.status.allocation is not None:
            return now.status.allocation
        on_node = claim_state(attempt).allocation_on(attempt.decision.node)
        for each, allocation in on_node.pairs() if on_node is not None else ():
            if each.metadata.uid == claim.metadata.uid:
                return allocation
        return None

    # writes

    def _apply(self, intent: intents.Intent) -> None:
        lister = self._listers.resource_claims
        if isinstance(intent, intents.Creation):
            body = {**intent.body, "metadata": {**intent.body["metadata"]}}
            body["metadata"]["uid"] = f"{intent.namespace}/{intent.name}"
            lister.put(decode(intent.kind, body))
        elif isinstance(intent, intents.Deletion):
            known = lister.get(intent.name, intent.namespace)
            if known is not None:
                lister.remove(known)
        elif isinstance(intent, intents.MergePatch) and intent.kind == writes.KIND:
            known = lister.get(intent.name, intent.namespace)
            if known is not None:
                merged = _merge(msgspec.to_builtins(known), intent.patch)
                lister.put(decode(intent.kind, merged))


def _errors(attempt: Attempt) -> Json:
    """After an error in Filter, the verdict of every node, as each was filtered alone."""
    decision, framework = attempt.decision, attempt.framework
    if decision.result.name != "ERROR" or not decision.pre_filter.is_success:
        return {}
    verdicts: dict[str, Any] = {}
    for row, name in enumerate(decision.nodes):
        if name:
            overlay = framework.handle.snapshot.fork(np.array([row], dtype=np.int64))
            verdicts[name] = _verdict(attempt, overlay)
    errors = sorted(
        {r for v in verdicts.values() if v and v["code"] == "Error" for r in v["reasons"]}
    )
    described: dict[str, Any] = {"filter": verdicts, **describe_allocations(attempt)}
    return {**described, "errors": errors} if len(errors) > 1 else described


def _verdict(attempt: Attempt, overlay: Overlay) -> Json | None:
    try:
        statuses = attempt.framework.filters.run_filter_plugins(attempt.state, attempt.pod, overlay)
    except StatusError as failure:
        text = failure.status.message
        return {"plugin": DynamicResources.name, "code": "Error", "reasons": [text]}
    status = statuses.at(0)
    if status is None:
        return None
    return {
        "plugin": status.plugin,
        "code": status.code.label,
        "reasons": sorted(status.reasons),
    }


def _has_claims(attempt: Attempt) -> bool:
    return not claim_state(attempt).is_empty


def _claims_of(attempt: Attempt) -> Iterator[ResourceClaim]:
    state = claim_state(attempt)
    yield from state.claims
    if state.extended is not None:
        yield state.extended


def _stored(now: ResourceClaim, claim: ResourceClaim) -> Json:
    described: dict[str, Any] = {}
    allocation = now.status.allocation
    if allocation is not None and allocation.allocation_timestamp:
        described["allocationTimestamp"] = True
    if now.metadata.finalizers:
        described["finalizers"] = list(now.metadata.finalizers)
    if now.status.reserved_for:
        described["reservedFor"] = [
            f"{each.resource}/{each.name}" for each in now.status.reserved_for
        ]
    if (
        extended.is_in_memory(claim)
        and now.metadata.generate_name
        and not extended.is_in_memory(now)
    ):
        requests = msgspec.to_builtins(now.spec.devices.requests)
        described["generateName"] = now.metadata.generate_name
        described["annotations"] = dict(now.metadata.annotations)
        described["spec"] = {"devices": {"requests": [_with_defaults(each) for each in requests]}}
    return described


def _is_of_claims(intent: intents.Intent) -> bool:
    return getattr(intent, "kind", "") == writes.KIND


def _write(intent: intents.Intent) -> Json:
    """A write as the recording names it."""
    assert isinstance(intent, (intents.MergePatch, intents.Creation, intents.Deletion))
    resource, verb = _RESOURCES[intent.kind], "update"
    if isinstance(intent, intents.MergePatch):
        resource += f"/{intent.subresource}" if intent.subresource else ""
    else:
        verb = "create" if isinstance(intent, intents.Creation) else "delete"
    name = f"{intent.namespace}/{intent.name}"
    if intent.kind == "Pod":
        assert isinstance(intent, intents.MergePatch)
        patch = msgspec.json.encode(intent.patch, order="sorted").decode()
        return {"verb": "patch", "resource": resource, "name": name, "patch": patch}
    return {"verb": verb, "resource": resource, "name": name}


def _strategic(intent: intents.Intent, attempt: Attempt) -> Json:
    """The removal of a reservation, which kube-scheduler requests as a strategic merge patch."""
    name = _write(intent)["name"]
    uid = {"$patch": "delete", "uid": attempt.pod.uid}
    patch = (
        f'{{"metadata": {{"uid": "{name}"}}, "status": {{ "reservedFor": [ {json.dumps(uid)} ] }}}}'
    )
    return {"verb": "patch", "resource": "resourceclaims/status", "name": name, "patch": patch}


def has_deallocations(expect: Json) -> bool:
    """Whether claims that PostFilter deallocated were free for the following pods.

    They were if the recording names them.
    """
    post_filters = (wanted.get("postFilter", {}) for wanted in expect.get("pods") or ())
    return all(_DEALLOCATION & each.keys() for each in post_filters if _says_deallocated(each))


def _says_deallocated(post_filter: Json) -> bool:
    return not _DEALLOCATED.isdisjoint(post_filter.get("reasons", ()))


def without_values(recorded: Json) -> Json:
    """A recorded result without Go's dumps of values in its texts."""
    pre_bind = recorded.get("preBind")
    if pre_bind is None or not pre_bind.get("reasons"):
        return recorded
    reasons = [_VALUE.sub(_VALUE_OF, reason) for reason in pre_bind["reasons"]]
    if reasons == pre_bind["reasons"]:
        return recorded
    return {**recorded, "preBind": {**pre_bind, "reasons": reasons}}


def without_unrecorded(computed: Json, recorded: Json) -> Json:
    """``found`` without what some recordings of this family leave out.

    That are parts of PostFilter (some have an empty name where no plugin is to be named), and
    what was found for each node before an error. If nodes err differently, the error of any of
    them may have been recorded.
    """
    if "error" in recorded and "filter" not in recorded:
        kept = {key: value for key, value in computed.items() if key not in _BEFORE_AN_ERROR}
        if recorded["error"] in computed.get("errors", ()):
            kept["error"] = recorded["error"]
        return kept
    if "postFilter" not in computed:
        return computed
    wanted = recorded.get("postFilter", {})
    absent = _OFTEN_LEFT_OUT - wanted.keys()
    if _says_deallocated(wanted):
        absent |= _DEALLOCATION - wanted.keys()
    kept = {key: value for key, value in computed["postFilter"].items() if key not in absent}
    if wanted.get("plugin") == "":
        kept.setdefault("plugin", "")
    return {**computed, "postFilter": kept}


def _merge(body: Any, patch: Json) -> Any:
    """JSON merge patch."""
    merged = dict(body) if isinstance(body, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge(merged.get(key), value) if isinstance(value, Mapping) else value
    return merged
