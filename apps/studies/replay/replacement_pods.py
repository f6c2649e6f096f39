"""Pods of a replay: those of the record as they are in it, and those that replace evicted ones."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import Final

import msgspec

from apps.scheduler.objects import Pod, PodStatus
from apps.scheduler.objects.meta import Condition

_NAMES: Final = uuid.UUID("6f1d1f6e-8f0c-4d0e-9a55-0d4a7f0f3a11")


def place(pod: Pod, node: str, at: float) -> Pod:
    """The pod with a node since `at`."""
    spec = msgspec.structs.replace(pod.spec, node_name=node)
    conditions = tuple(
        Condition(type=kind, status="True", last_transition_time=_time(at))
        for kind in ("PodScheduled", "Ready")
    )
    status = msgspec.structs.replace(
        pod.status, phase="Running", conditions=conditions, nominated_node_name=""
    )
    return msgspec.structs.replace(pod, spec=spec, status=status)


def nominate(pod: Pod, node: str) -> Pod:
    status = msgspec.structs.replace(pod.status, nominated_node_name=node)
    return msgspec.structs.replace(pod, status=status)


def without_node(pod: Pod) -> Pod:
    """A pod of the record, pending and not yet tried, unless its node was given at its creation."""
    return msgspec.structs.replace(pod, status=PodStatus(phase="Pending"))


def as_in_replay(written: Pod, known: Pod) -> Pod:
    """What a user wrote of a pod, with the node and the status that it has in the replay."""
    spec = msgspec.structs.replace(written.spec, node_name=known.spec.node_name)
    return msgspec.structs.replace(written, spec=spec, status=known.status)


def replace(pod: Pod, at: float) -> Pod:
    """The pod that its controller creates for an evicted one; its uid follows from that one's."""
    uid = uuid.uuid5(_NAMES, pod.metadata.uid)
    metadata = msgspec.structs.replace(
        pod.metadata, uid=str(uid), deletion_timestamp=None, creation_timestamp=_time(at)
    )
    spec = msgspec.structs.replace(pod.spec, node_name="")
    return Pod(metadata=metadata, spec=spec, status=PodStatus(phase="Pending"))


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
