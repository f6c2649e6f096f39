"""Going on with a state: later changes of the log, without a queue."""

from __future__ import annotations

from collections.abc import MutableMapping

from apps.cluster.log.changelog import LoggedChange
from apps.controlplane.loop.informer import WATCHED, decode
from apps.scheduler.cache.cache import is_terminal
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import KubeObject, Node, Pod
from apps.scheduler.scheduler import Scheduler

_WATCHED = frozenset(kind.name for kind in WATCHED)


def take_in(scheduler: Scheduler, pending: MutableMapping[str, Pod], change: LoggedChange) -> None:
    """Bring cache, listers and nominations up to one change."""
    if change.kind not in _WATCHED:
        return
    item = decode(change.kind, change.object)
    if item is None:
        return
    gone = change.type == "DELETED"
    if isinstance(item, Pod):
        _take_in_pod(scheduler, pending, item, gone=gone)
    elif isinstance(item, Node):
        _take_in_node(scheduler, item, gone=gone)
    else:
        _take_in_other(scheduler, change.kind, item, gone=gone)


def nominate(scheduler: Scheduler, pod: Pod) -> None:
    """What was promised is in the pod's status; a gated pod was never promised anything."""
    if pod.spec.scheduler_name in scheduler.profiles and not pod.spec.scheduling_gates:
        scheduler.queue.add_nominated_pod(PodInfo(pod))


def _take_in_pod(
    scheduler: Scheduler, pending: MutableMapping[str, Pod], pod: Pod, *, gone: bool
) -> None:
    uid = pod.metadata.uid
    if pending.pop(uid, None) is not None:
        scheduler.queue.delete_nominated_pod(PodInfo(pod))
    if gone or is_terminal(pod):
        scheduler.cache.remove_pod(uid)
    elif pod.spec.node_name:
        scheduler.cache.add_pod(PodInfo(pod))
    else:
        scheduler.cache.remove_pod(uid)
        pending[uid] = pod
        nominate(scheduler, pod)


def _take_in_node(scheduler: Scheduler, node: Node, *, gone: bool) -> None:
    cache, name = scheduler.cache, node.metadata.name
    if not gone:
        cache.add_node(node)
    elif name in cache.nodes and cache.nodes[name].node is not None:
        cache.remove_node(name)


def _take_in_other(scheduler: Scheduler, kind: str, item: KubeObject, *, gone: bool) -> None:
    lister = scheduler.cache.listers.by_kind.get(kind)
    if lister is not None:
        (lister.remove if gone else lister.put)(item)
