"""DefaultBinder: requests the binding of the pod to the selected node."""

from __future__ import annotations

from typing import Final

from apps.scheduler.framework import intents
from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.status import Status
from apps.scheduler.framework.types import PodInfo

NAME: Final = "DefaultBinder"


class DefaultBinder:
    name = NAME

    def __init__(self, args: None, handle: Handle) -> None:
        pass

    def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        intents.add(state, intents.Binding(pod.namespace, pod.name, pod.uid, node_name))
        return None
