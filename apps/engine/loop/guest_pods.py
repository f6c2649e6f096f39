"""The pods that a client is about to bind, and when it has decided at the latest."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from apps.scheduler.cache.listers import Listers
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import (
    KubeObject,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    ResourceClaim,
)
from apps.scheduler.plugins.volumebinding.pod_volume_claims import selected_node, waits_for_consumer

_CLAIMS: Final = ("PersistentVolume", "PersistentVolumeClaim", "ResourceClaim")
#: Pods that were not bound in the end, as many as are remembered.
_MOST_ENDED: Final = 1000


@dataclass(slots=True)
class WaitingPod:
    """A pod without a node."""

    #: the version at which it was created; 0 if that is not known
    born: int
    #: as the client knew it when it decided; the newest version if it has not
    pod: Pod
    #: the version of the first write that shows that the client has decided; 0 if there is none
    decided: int = 0
    #: the node that this write names; "" if it names none
    node: str = ""
    #: whether the client could not place it
    is_rejected: bool = False


@dataclass(frozen=True, slots=True)
class AssumedPod:
    """A pod that a client has counted on a node without having bound it."""

    pod: Pod
    born: int
    decided: int
    #: the version in which it was deleted, or known not to fit; None: it may still be bound
    ended: int | None = None


class GuestPods:
    """Follows the pods without a node, and what a client writes for them before it binds them.

    Before a scheduler binds a pod, it may choose volumes for its claims, reserve devices for it, or
    announce its node. It has decided before the first of these.
    """

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._waiting: dict[str, WaitingPod] = {}
        #: (namespace, name) of a claim -> uids of the pods that use it
        self._users: dict[tuple[str, str], dict[str, None]] = {}
        self._ended: deque[AssumedPod] = deque(maxlen=_MOST_ENDED)

    def oldest(self) -> int | None:
        """The version at which the oldest pod was created that is still expected to be bound."""
        expected = (e for e in self._waiting.values() if not (e.is_rejected or e.node))
        return next((each.born for each in expected), None)

    def assumed(self) -> Iterator[AssumedPod]:
        """The pods that are not bound, or were not, although their nodes are known."""
        yield from self._ended
        for each in self._waiting.values():
            if each.node:
                yield _assume(each)

    def take(self, pod: Pod) -> WaitingPod:
        """A pod that is bound now; `pod` is its last version before."""
        known = self._waiting.pop(pod.metadata.uid, None)
        self._forget_claims(pod)
        return known or WaitingPod(0, pod)

    def see(self, pod: Pod) -> WaitingPod:
        """A pod as it is known now, which is not bound yet; `pod` is its last version before."""
        known = self._waiting.get(pod.metadata.uid)
        return WaitingPod(0, pod) if known is None else replace(known)

    def handle(
        self, kind: str, old: KubeObject | None, new: KubeObject | None, version: int
    ) -> None:
        """A change that is not a binding."""
        if isinstance(new, Pod) and not new.spec.node_name:
            self._follow(new, version, is_new=old is None)
        elif isinstance(old, Pod) and new is None:
            known = self._waiting.pop(old.metadata.uid, None)
            if known is not None:
                self._end(known, version)
            self._forget_claims(old)
        elif new is not None and kind in _CLAIMS:
            for uid, node in self._chosen_for(old, new):
                waiting = self._waiting.get(uid)
                if waiting is not None:
                    waiting.decided = waiting.decided or version
                    waiting.node = waiting.node or node

    def _follow(self, pod: Pod, version: int, *, is_new: bool) -> None:
        waiting = self._waiting.get(pod.metadata.uid)
        if waiting is None:
            self._waiting[pod.metadata.uid] = WaitingPod(version if is_new else 0, pod)
            for name in PodInfo(pod).claim_names:
                users = self._users.setdefault((pod.metadata.namespace, name), {})
                users[pod.metadata.uid] = None
            return
        is_rejected = _is_rejected(pod)
        before, node = waiting.pod.status.nominated_node_name, pod.status.nominated_node_name
        if is_rejected and pod.status.conditions != waiting.pod.status.conditions:
            # this attempt has failed
            self._end(waiting, version)
            waiting.decided, waiting.node = 0, ""
        elif node not in ("", before) and not waiting.decided:
            # it keeps the version that was decided about
            waiting.decided, waiting.node = version, node
        waiting.is_rejected = is_rejected
        if not waiting.decided:
            waiting.pod = pod

    def _end(self, waiting: WaitingPod, version: int) -> None:
        if waiting.node:
            self._ended.append(_assume(waiting, version))

    def _forget_claims(self, pod: Pod) -> None:
        for name in PodInfo(pod).claim_names:
            users = self._users.get((pod.metadata.namespace, name), {})
            users.pop(pod.metadata.uid, None)
            if not users:
                self._users.pop((pod.metadata.namespace, name), None)

    def _chosen_for(self, old: KubeObject | None, new: KubeObject) -> Iterator[tuple[str, str]]:
        """(uid, node or "") of the pods for which a client has chosen what a change shows."""
        if isinstance(new, ResourceClaim):
            before = old.status.reserved_for if isinstance(old, ResourceClaim) else ()
            known = {each.uid for each in before}
            yield from ((e.uid, "") for e in new.status.reserved_for if e.uid not in known)
        elif isinstance(new, PersistentVolumeClaim):
            had = isinstance(old, PersistentVolumeClaim) and selected_node(old) is not None
            node = selected_node(new)
            if node is not None and not had:
                users = self._users.get((new.metadata.namespace, new.metadata.name), {})
                # which one of several was decided about is not known
                yield from ((uid, node if len(users) == 1 else "") for uid in users)
        elif isinstance(new, PersistentVolume):
            had = isinstance(old, PersistentVolume) and old.spec.claim_ref is not None
            ref = new.spec.claim_ref
            if ref is None or had:
                return
            claim = self._listers.persistent_volume_claims.get(ref.name, ref.namespace)
            if claim is not None and waits_for_consumer(claim, self._listers):
                yield from ((uid, "") for uid in self._users.get((ref.namespace, ref.name), ()))


def _assume(waiting: WaitingPod, ended: int | None = None) -> AssumedPod:
    spec = msgspec.structs.replace(waiting.pod.spec, node_name=waiting.node)
    pod = msgspec.structs.replace(waiting.pod, spec=spec)
    return AssumedPod(pod, waiting.born, waiting.decided, ended)


def _is_rejected(pod: Pod) -> bool:
    return any(
        condition.type == "PodScheduled" and condition.status == "False"
        for condition in pod.status.conditions
    )
