"""What the admitted pods of a node use, as its kubelet counts them."""

from __future__ import annotations

from collections.abc import Iterable

from apps.scheduler.framework.resources import pod_requests
from apps.scheduler.objects import Pod

_TERMINAL = ("Succeeded", "Failed")


def is_new(pod: Pod) -> bool:
    """Whether the pod is bound and its kubelet has not admitted it yet."""
    if not pod.spec.node_name or pod.metadata.deletion_timestamp:
        return False
    return pod.status.phase in ("", "Pending") and pod.status.start_time is None


class NodeUsage:
    """The pods of one node, with the sum of the requests of those that are admitted."""

    def __init__(self, pods: Iterable[Pod]) -> None:
        #: resource -> milli-CPU, bytes or units
        self.used: dict[str, int] = {}
        #: uids of pods that wait for their admission
        self.new: set[str] = set()
        self._requests: dict[str, dict[str, int]] = {}
        for pod in pods:
            self.add(pod)

    @property
    def pods(self) -> int:
        """The number of admitted pods that have not ended."""
        return len(self._requests)

    def add(self, pod: Pod) -> None:
        """Count a pod that is not counted yet."""
        uid = pod.metadata.uid
        if is_new(pod):
            self.new.add(uid)
        elif pod.status.phase not in _TERMINAL:
            requests = self._requests[uid] = pod_requests(pod, use_status=True)
            for name, amount in requests.items():
                self.used[name] = self.used.get(name, 0) + amount

    def remove(self, pod: Pod) -> None:
        """Undo `add`."""
        uid = pod.metadata.uid
        self.new.discard(uid)
        for name, amount in self._requests.pop(uid, {}).items():
            self.used[name] -= amount
