"""Binds a pod to a node: the only way to set `spec.nodeName` of a pending pod."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from apps.cluster.errors import Cause, Conflict, Invalid
from apps.cluster.writing.metadata import timestamp

Body = dict[str, Any]

#: Labels copied from the node to a bound pod (admission plugin PodTopologyLabels).
TOPOLOGY_LABELS = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


def make_binding(node_name: str, *, uid: str = "") -> Body:
    """A Binding to a node, for `bind_change`; with `uid`, only the pod with that UID is bound."""
    metadata = {"uid": uid} if uid else {}
    return {"metadata": metadata, "target": {"kind": "Node", "name": node_name}}


def bind_change(
    binding: Mapping[str, Any], node_labels: Mapping[str, str], now: datetime
) -> Callable[[Body], Body]:
    """Return the change that a Binding makes to its pod, which raises Conflict if not allowed."""
    node_name = _target(binding)
    metadata = binding.get("metadata") or {}

    def change(pod: Body) -> Body:
        _check_bindable(pod, metadata)
        labels = topology_labels(node_labels)
        labels |= metadata.get("labels") or {}
        annotations = metadata.get("annotations") or {}
        meta = dict(pod["metadata"])
        if labels:
            meta["labels"] = {**(meta.get("labels") or {}), **labels}
        if annotations:
            meta["annotations"] = {**(meta.get("annotations") or {}), **annotations}
        return {
            **pod,
            "metadata": meta,
            "spec": {**pod["spec"], "nodeName": node_name},
            "status": bound_status(pod.get("status") or {}, now),
        }

    return change


def topology_labels(node_labels: Mapping[str, str]) -> dict[str, str]:
    """The labels that a pod gets from its node."""
    return {key: node_labels[key] for key in TOPOLOGY_LABELS if key in node_labels}


def bound_status(status: Mapping[str, Any], now: datetime) -> Body:
    """The status of a pod that was pending, once it is bound."""
    bound = {key: value for key, value in status.items() if key != "nominatedNodeName"}
    scheduled = {"type": "PodScheduled", "status": "True"}
    bound["conditions"] = set_condition(bound.get("conditions") or [], scheduled, now)
    return bound


def set_condition(
    conditions: list[Body],
    condition: Body,
    now: datetime,
    *,
    generation: int | None = None,
    probed: bool = True,
) -> list[Body]:
    """`conditions` with one of them set; its transition time changes only with its status.

    `probed`: they have a lastProbeTime, as only those of pods and jobs have.
    """
    before = next((c for c in conditions if c.get("type") == condition["type"]), None)
    moment = timestamp(now)
    if before is not None and before.get("status") == condition["status"]:
        moment = before.get("lastTransitionTime") or moment
    probe = {"lastProbeTime": None} if probed else {}
    written = {**condition, **probe, "lastTransitionTime": moment}
    if generation:
        written["observedGeneration"] = generation
    if before is None:
        return [*conditions, written]
    return [written if c is before else c for c in conditions]


def _target(binding: Mapping[str, Any]) -> str:
    target = binding.get("target") or {}
    name = target.get("name") or ""
    causes = []
    if target.get("kind") not in (None, "", "Node"):
        causes.append(
            Cause(
                "FieldValueNotSupported",
                f'Unsupported value: "{target["kind"]}": supported values: "Node", "<empty>"',
                "target.kind",
            )
        )
    if not name:
        causes.append(Cause("FieldValueRequired", "Required value", "target.name"))
    if causes:
        raise Invalid("Binding", (binding.get("metadata") or {}).get("name", ""), causes)
    return str(name)


def _check_bindable(pod: Body, preconditions: Mapping[str, Any]) -> None:
    """Raise the API server's Conflict if this pod cannot be bound."""
    metadata, spec = pod["metadata"], pod["spec"]
    name = metadata["name"]
    uid, version = preconditions.get("uid"), preconditions.get("resourceVersion")
    why = ""
    if uid and uid != metadata["uid"]:
        why = (
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: "
            f"{metadata['uid']}"
        )
    elif version and version != metadata["resourceVersion"]:
        why = (
            f"Precondition failed: ResourceVersion in precondition: {version}, "
            f"ResourceVersion in object meta: {metadata['resourceVersion']}"
        )
    elif metadata.get("deletionTimestamp"):
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif spec.get("nodeName"):
        why = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    elif spec.get("schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    if why:
        raise Conflict("pods/binding", name, why)
