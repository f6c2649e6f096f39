"""Nodes and pods at one version each, reduced to what pages and the API show of them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, TypeAlias

from apps.scheduler import objects
from apps.scheduler.framework.resources import node_allocatable, pod_requests
from apps.scheduler.objects import Node, Pod

log = logging.getLogger(__name__)

FINISHED = ("Succeeded", "Failed")

Uid: TypeAlias = Annotated[str, "uuid"]


@dataclass(frozen=True, slots=True)
class NodeVersion:
    """A node at one version of it."""

    name: str
    uid: Uid
    #: the resourceVersion of the node
    version: int
    ready: bool
    unschedulable: bool
    #: `key=value:Effect`
    taints: Sequence[str]
    labels: Mapping[str, str]
    #: resource -> amount, in milli-CPU, bytes or whole units; `pods` is among them
    allocatable: Mapping[str, int]
    #: by its pods that have not finished; what a list of a snapshot adds
    requested: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PodAt:
    """What a list of differences shows of a pod at one of the moments."""

    uid: Uid
    #: the resourceVersion of the pod
    version: int
    #: empty while it has none
    node: str
    phase: str
    terminating: bool
    priority: int


@dataclass(frozen=True, slots=True)
class PodVersion(PodAt):
    """A pod at one version of it."""

    namespace: str
    name: str
    scheduler_name: str
    labels: Mapping[str, str]
    #: resource -> amount, in milli-CPU, bytes or whole units
    requests: Mapping[str, int]

    ANSWER: ClassVar = (
        *("namespace", "name", "uid", "version", "node", "phase", "terminating"),
        *("priority", "scheduler_name", "labels", "requests"),
    )

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def is_finished(self) -> bool:
        """Whether it no longer uses resources."""
        return self.phase in FINISHED

    @property
    def state(self) -> str:
        """The phase; "Bound" for a pending pod with a node, "Terminating" for a deleted one."""
        if self.terminating:
            return "Terminating"
        return "Bound" if self.phase == "Pending" and self.node else self.phase


def decode_node(version: int, text: str) -> NodeVersion | None:
    """A node from its JSON text; None, with an entry in the log, if it cannot be decoded."""
    node = _decode("Node", text)
    if not isinstance(node, Node):
        return None
    amounts, pods = node_allocatable(node.status.allocatable)
    return NodeVersion(
        node.metadata.name,
        node.metadata.uid,
        version,
        any(each.type == "Ready" and each.status == "True" for each in node.status.conditions),
        node.spec.unschedulable,
        [f"{each.key}={each.value}:{each.effect}".replace("=:", ":") for each in node.spec.taints],
        node.metadata.labels,
        {**amounts, "pods": pods},
    )


def decode_pod(version: int, text: str) -> PodVersion | None:
    """A pod from its JSON text; None, with an entry in the log, if it cannot be decoded."""
    pod = _decode("Pod", text)
    if not isinstance(pod, Pod):
        return None
    return PodVersion(
        pod.metadata.uid,
        version,
        pod.spec.node_name,
        pod.status.phase,
        pod.metadata.deletion_timestamp is not None,
        pod.spec.priority or 0,
        pod.metadata.namespace,
        pod.metadata.name,
        pod.spec.scheduler_name,
        pod.metadata.labels,
        pod_requests(pod, use_status=True),
    )


def _decode(kind: str, text: str) -> object:
    try:
        return objects.decode_json(kind, text)
    except objects.DecodeError:
        log.exception("cannot decode a %s", kind)
        return None
