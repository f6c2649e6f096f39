"""The state of one attempt to schedule a pod."""

from __future__ import annotations

from collections.abc import Hashable
from concurrent.futures import Future
from time import perf_counter_ns

import msgspec

from apps.scheduler.decision import Decision
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.diagnosis import Diagnosis
from apps.scheduler.framework.node_search import PLAIN, NodeSearch
from apps.scheduler.framework.runtime import Framework
from apps.scheduler.framework.status import Status
from apps.scheduler.framework.steps import Steps
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.queue.queued_pod_info import QueuedPodInfo


class Attempt(msgspec.Struct, eq=False):
    """One attempt while it is running; ``decision`` holds what is known so far."""

    pod: PodInfo
    framework: Framework
    decision: Decision
    #: None if the pod did not come from the queue
    queued: QueuedPodInfo | None = None
    state: CycleState = msgspec.field(default_factory=CycleState)
    diagnosis: Diagnosis | None = None
    #: how the nodes for the pod are found
    search: NodeSearch = PLAIN
    #: an extender has answered with nodes as objects: they are scored without their pods
    scores_bare_nodes: bool = False
    #: what a batch knows the pod by; None if it is not batched
    signature: Hashable | None = None
    #: whether the pod continues a batch if it does not fit on the last node of it
    continues: bool = False
    #: the node that came from a batch, "" without one
    hinted: str = ""
    #: the pod with its node, from Reserve on
    assumed: PodInfo | None = None
    #: the binding cycle, once it has started, and the step it waits for
    binding: Steps | None = None
    running: Future[Status] | None = None
    #: the plugin whose PreBind waits for something in the cluster; it is asked again from
    #: ``asked_again_at`` on, by the scheduler's clock, and whenever the cluster changes
    held_by: str = ""
    asked_again_at: float = 0.0
    #: PreBind has finished: from now on the binding cannot be canceled by preemption
    is_prebound: bool = False
    #: why the binding was canceled; "" if it was not
    called_off: str = ""


def new_attempt(framework: Framework, pod: PodInfo, queued: QueuedPodInfo | None = None) -> Attempt:
    if queued is None:
        # The queue has done this.
        pod = framework.handle.view(pod)
    decision = Decision(
        pod_key=pod.key,
        pod_uid=pod.uid,
        pod_version=pod.pod.metadata.resource_version,
        workload=pod.pod.metadata.workload,
        profile=framework.name,
        attempt=queued.attempts if queued is not None else 1,
        began_ns=perf_counter_ns(),
    )
    if queued is not None:
        decision.initial_attempt_at = queued.initial_attempt_timestamp
        decision.after_flush = queued.was_flushed_from_unschedulable
    return Attempt(pod, framework, decision, queued)
