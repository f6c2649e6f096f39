"""Out-of-tree plugins that delay pods, for the tests of the loop."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from apps.scheduler.framework.cycle_state import CycleState
from apps.scheduler.framework.events import ClusterEventWithHint
from apps.scheduler.framework.per_node import PerNodePlugin
from apps.scheduler.framework.status import Code, Status, unresolvable
from apps.scheduler.framework.types import PodInfo


class Gatekeeper(PerNodePlugin):
    """Holds pods whose name begins with "held" for up to a minute."""

    name = "Gatekeeper"

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return ()

    def permit(
        self, state: CycleState, pod: PodInfo, node_name: str
    ) -> tuple[Status | None, float]:
        if not pod.name.startswith("held"):
            return None, 0.0
        self.handle.client.event(pod, "Held", f"held on its way to {node_name}", action="Permit")
        return Status(Code.WAIT), 60.0


class Budget(PerNodePlugin):
    """Keeps pods whose name begins with "dear" out of the queue."""

    name = "Budget"

    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        return ()

    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        return unresolvable("the budget is spent") if pod.name.startswith("dear") else None


class Preparer(PerNodePlugin):
    """Blocks in PreBind for pods whose name begins with "slow", until `go` is set."""

    name = "Preparer"
    go = threading.Event()

    def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        if pod.name.startswith("slow"):
            self.go.wait()
        return None


class Unbuildable(PerNodePlugin):
    """Cannot be built without the argument `must`."""

    name = "Unbuildable"

    def __init__(self, args: dict[str, str] | None, handle: object) -> None:
        if not args or "must" not in args:
            raise ValueError("args.must is required")

    def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        return None
