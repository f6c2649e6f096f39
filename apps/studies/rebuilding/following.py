"""Applies later changes of the log to a rebuilt state, without a queue."""

from __future__ import annotations

from collections.abc import MutableMapping

from apps.cluster.log.changelog import LoggedChange
from apps.engine.loop.informer import WATCHED, decode
from apps.scheduler.cache.cache import is_terminal
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import KubeObject, Node, Pod
from apps.scheduler.scheduler import Scheduler

_WATCHED = frozenset(kind.name for kind in WATCHED)


def apply_change(
    scheduler: Scheduler, pending: MutableMapping[str, Pod], change: LoggedChange
) -> None:
    """Apply one change to cache, listers and nominations."""
    if change.kind not in _WATCHED:
        return
    item = decode(change.kind, change.object)
    if item is None:
        return
    deleted = change.type == "DELETED"
    if isinstance(item, Pod):
        _apply_pod(scheduler, pending, item, deleted=deleted)
    elif isinstance(item, Node):
        _apply_node(scheduler, item, deleted=deleted)
    else:
        _apply_other(scheduler, change.kind, item, deleted=deleted)


def nominate(scheduler: Scheduler, pod: Pod) -> None:
    """Add the nomination in the pod's status; gated pods have none."""
    if pod.spec.scheduler_name in scheduler.profiles and not pod.spec.scheduling_gates:
        scheduler.queue.add_nominated_pod(PodInfo(pod))


def _apply_pod(
    scheduler: Scheduler, pending: MutableMapping[str, Pod], pod: Pod, *, deleted: bool
) -> None:
    uid = pod.metadata.uid
    if pending.pop(uid, None) is not None:
        scheduler.queue.delete_nominated_pod(PodInfo(pod))
    if deleted or is_terminal(pod):
        scheduler.cache.remove_pod(uid)
    elif pod.spec.node_name:
        scheduler.cache.add_pod(PodInfo(pod))
    else:
        scheduler.cache.remove_pod(uid)
        pending[uid] = pod
        nominate(scheduler, pod)


def _apply_node(scheduler: Scheduler, node: Node, *, deleted: bool) -> None:
    cache, name = scheduler.cache, node.metadata.name
    if not deleted:
        cache.add_node(node)
    elif name in cache.nodes and cache.nodes[name].node is not None:
        cache.remove_node(name)


def _apply_other(scheduler: Scheduler, kind: str, item: KubeObject, *, deleted: bool) -> None:
    lister = scheduler.cache.listers.by_kind.get(kind)
    if lister is not None:
        (lister.remove if deleted else lister.put)(item)
