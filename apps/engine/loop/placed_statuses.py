"""The statuses of pods that are bound, and started at once, in the same second.

Pods of one workload have equal specs and statuses until then. What they get is built once, and only
the addresses and ids of each pod are filled in.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from typing import Any, Final

import msgspec

from apps.cluster.writing.binding import bound_status
from apps.cluster.writing.placement import StoredPod
from apps.controllers.kubelet.status import RunningStatus
from apps.scheduler import objects
from apps.scheduler.objects import Container, Pod, PodStatus

Body = dict[str, Any]


class PlacedStatus:
    """The status of pods with equal specs and statuses that are bound in the same second."""

    def __init__(self, pod: Pod, stored: StoredPod, bound_at: datetime, now: datetime) -> None:
        self._pod = pod
        self._now = now
        self._bound = bound_status(msgspec.json.decode(stored.status) or {}, bound_at)
        #: JSON text
        self.bound_text = msgspec.json.encode(self._bound)
        self.bound = _decode(self._bound)

    @cached_property
    def running(self) -> PodStatus:
        """What the scheduler reads of the status after the kubelet has started the pod."""
        return _decode(self._running.status)

    def running_text(self, uid: str, node: str) -> bytes:
        """The status in JSON after the kubelet has started the pod."""
        return self._running.text(uid, node)

    @cached_property
    def _running(self) -> RunningStatus:
        return RunningStatus({"spec": _outline(self._pod), "status": self._bound}, self._now)


#: Statuses of one second to remember; a trace has a few hundred kinds of pods.
_MOST: Final = 1000


class PlacedStatuses:
    """The statuses of pods whose kubelets start them at `now`; batches of one second share them."""

    def __init__(self) -> None:
        self._now: datetime | None = None
        self._known: dict[tuple[bytes, bytes, datetime], PlacedStatus] = {}

    def of(self, pod: Pod, stored: StoredPod, bound_at: datetime, now: datetime) -> PlacedStatus:
        """The status of a pending pod that is bound at `bound_at`; both in whole seconds."""
        if now != self._now or len(self._known) > _MOST:
            self._now, self._known = now, {}
        key = (stored.spec, stored.status, bound_at)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = PlacedStatus(pod, stored, bound_at, now)
        return known


def _decode(status: Body) -> PodStatus:
    return objects.decode_as(Pod, {"status": status}).status


def _outline(pod: Pod) -> Body:
    """The fields of a spec that the kubelet's report depends on."""
    return {
        "hostNetwork": pod.spec.host_network,
        "containers": [_container(each) for each in pod.spec.containers],
        "initContainers": [_container(each) for each in pod.spec.init_containers],
    }


def _container(container: Container) -> Mapping[str, Any]:
    return {
        "name": container.name,
        "image": container.image,
        "restartPolicy": container.restart_policy,
    }
