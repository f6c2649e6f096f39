"""All nodes and the pods on them, assumed pods included.

    Initial -- add_pod ------------------------------> Added -- remove_pod --> Deleted
       |                                              ^  | ^
       |                                     add_pod  |  +-+ update_pod
       +-- assume_pod --> Assumed --------------------+
                             |
                             +-- forget_pod --> Initial

An assumed pod counts on its node at once, before its binding is written; the pod that is then seen
with a node name confirms it. Assumed pods do not expire: they are forgotten when binding fails and
removed when the pod is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec

from apps.scheduler.cache.change_log import ChangeLog
from apps.scheduler.cache.listers import Listers
from apps.scheduler.cache.node_tree import NodeTree
from apps.scheduler.cache.pod_groups import PodGroups
from apps.scheduler.framework.types import NodeInfo, PodInfo
from apps.scheduler.objects import Node, Pod


class CacheError(Exception):
    """A call that the state machine of the cache does not allow: a bug in the caller."""


@dataclass(slots=True)
class ImageState:
    """A container image on some nodes."""

    #: bytes, as reported by the first node that had it; later reports are ignored
    size: int
    nodes: set[str] = field(default_factory=set)


class PodState(msgspec.Struct, eq=False):
    """A pod that is assumed or bound."""

    pod: PodInfo
    node_name: str
    assumed: bool = False


class Changes(msgspec.Struct, eq=False):
    """What happened since the snapshot was last updated."""

    #: node name -> whether the Node object itself changed, not only its pods
    nodes: dict[str, bool] = {}
    #: (pod, node name, +1 added or -1 removed), in order
    pods: list[tuple[PodInfo, str, int]] = []


class Cache:
    """See the module's docstring. Pods are identified by uid.

    ``view`` returns a pod without the fields that the scheduler ignores.
    """

    def __init__(self, view: Callable[[PodInfo], PodInfo] = lambda pod: pod) -> None:
        self._view = view
        self.nodes: dict[str, NodeInfo] = {}
        self.pods: dict[str, PodState] = {}
        #: how many of them are assumed
        self.assumed_pods = 0
        self.node_tree = NodeTree()
        self.image_states: dict[str, ImageState] = {}
        self.listers = Listers()
        self.pod_groups = PodGroups()
        #: increase with every change of ``node_tree`` and of ``image_states``
        self.order_version = 0
        self.images_version = 0
        #: names of nodes with a pod of which only such parts changed as no column is computed from
        self.replaced_pods: ChangeLog[str] = ChangeLog()
        self._changes = Changes()
        #: the changes that were taken in the block of ``narrowed``; None outside of it
        self._taken: list[Changes] | None = None

    # -- nodes -----------------------------------------------------------------------------------

    def add_node(self, node: Node) -> NodeInfo:
        """Add the node, or its new version; its pods may have been added before it."""
        name = node.metadata.name
        info = self.nodes.get(name)
        if info is None:
            info = self.nodes[name] = NodeInfo(name)
        old = info.node
        if old is None or old.status.images != node.status.images:
            if old is not None:
                self._remove_images(old)
            self._add_images(node)
        if self.node_tree.add(node):
            self.order_version += 1
        info.set_node(node)
        self._changes.nodes[name] = True
        return info

    def remove_node(self, name: str) -> None:
        """Remove the node; pods on it stay until they are removed. Raises CacheError if unknown."""
        info = self.nodes.get(name)
        if info is None or info.node is None:
            raise CacheError(f"node {name} is not in the cache")
        self._remove_images(info.node)
        self.node_tree.remove(name)
        self.order_version += 1
        info.set_node(None)
        self._changes.nodes[name] = True
        self._drop_if_empty(info)

    # -- pods ------------------------------------------------------------------------------------

    def assume_pod(self, pod: PodInfo, node_name: str) -> None:
        """Count ``pod`` (its spec names the node) on its node.

        Raises CacheError if it is in the cache.
        """
        if pod.uid in self.pods:
            raise CacheError(f"pod {pod.key} is in the cache, so it cannot be assumed")
        self._put(PodState(self._view(pod), node_name, assumed=True))

    def forget_pod(self, uid: str) -> PodInfo:
        """Undo an assumption; returns the assumed pod. Raises CacheError if it is not assumed."""
        state = self.pods.get(uid)
        if state is None or not state.assumed:
            raise CacheError(f"pod {uid} was not assumed, so it cannot be forgotten")
        self._pop(uid)
        return state.pod

    def add_pod(self, pod: PodInfo) -> None:
        """Add a bound pod, or its new version; it confirms or corrects an assumption.

        Most pods are bound as they were assumed: then no column has to change.
        """
        pod = self._view(pod)
        known = self.pods.get(pod.uid)
        if known is not None and known.pod.has_same_footprint(pod):
            known.pod = known.pod.with_pod(pod.pod)
            self.assumed_pods -= known.assumed
            known.assumed = False
            self.nodes[known.node_name].replace_pod(known.pod)
            self.replaced_pods.append(known.node_name)
            return
        if known is None:
            self._put(PodState(pod, pod.pod.spec.node_name))
        elif known.pod.takes_same_room(pod):
            self._relabel(known, pod)
        else:
            self._replace(known, pod)

    def update_pod(self, pod: PodInfo) -> None:
        """A new version of a bound pod."""
        self.add_pod(pod)

    def remove_pod(self, uid: str) -> PodInfo | None:
        """Remove a pod that is finished or deleted; returns it, None if it is unknown."""
        state = self.pods.get(uid)
        if state is None:
            return None
        self._pop(uid)
        return state.pod

    def is_assumed(self, uid: str) -> bool:
        state = self.pods.get(uid)
        return state is not None and state.assumed

    def find_pod(self, uid: str) -> PodInfo | None:
        """The pod if it is assumed or bound, else None."""
        state = self.pods.get(uid)
        return state.pod if state is not None else None

    # -- for a while -----------------------------------------------------------------------------

    @contextmanager
    def narrowed(self, names: Collection[str]) -> Iterator[None]:
        """Only the nodes ``names`` exist in the block; afterwards all nodes do, as before.

        No node is added or removed in the block, and pods of other nodes stay. What it does to the
        pods of the nodes that it sees stays; ``take_changes`` returns it in the block, and again
        afterwards. For the snapshot: see ``Snapshot.narrowed``.
        """
        whole = self.nodes, self.node_tree, self.image_states
        seen = {name: info for name, info in self.nodes.items() if name in names}
        self.nodes, self.node_tree = seen, self.node_tree.only(names)
        self.image_states = _images_of(seen.values(), self.image_states)
        outer, taken = self._taken, list[Changes]()
        self._taken = taken
        try:
            yield
        finally:
            self.nodes, self.node_tree, self.image_states = whole
            missed, self._taken = [*taken, self._changes], outer
            self._changes = Changes()
            for each in missed:
                self._changes.nodes.update(each.nodes)
                self._changes.pods.extend(each.pods)

    def take_out(self, pods: Iterable[PodInfo]) -> list[PodState]:
        """Take assumed or bound pods out of the cache, to see what fits without them."""
        states = [self.pods[pod.uid] for pod in pods]
        for state in states:
            self._pop(state.pod.uid)
        return states

    def put_back(self, states: Iterable[PodState]) -> None:
        """Undo ``take_out``; the pods are the last ones of their nodes."""
        for state in states:
            self._put(state)

    @contextmanager
    def order_kept(self, node_names: Collection[str]) -> Iterator[None]:
        """After the block, the pods that were on these nodes before are listed as before."""
        before = {name: dict.fromkeys(self.nodes[name].pods) for name in node_names}
        try:
            yield
        finally:
            for name, keys in before.items():
                info = self.nodes[name]
                later = [key for key in info.pods if key not in keys]
                info.reorder_pods([*(key for key in keys if key in info.pods), *later])

    def take_changes(self) -> Changes:
        """The changes since the last call; for the one snapshot that follows this cache."""
        changes, self._changes = self._changes, Changes()
        if self._taken is not None:
            self._taken.append(changes)
        return changes

    def validate(self) -> None:
        """Raise AssertionError if the parts contradict each other; for tests."""
        for name, info in self.nodes.items():
            assert info.node is not None or info.pods, f"empty NodeInfo {name}"
            fresh = NodeInfo(name)
            for pod in info.pods.values():
                assert self.pods[pod.uid].node_name == name
                fresh.add_pod(pod)
            requested = {key: amount for key, amount in info.requested.items() if amount}
            assert requested == {key: amount for key, amount in fresh.requested.items() if amount}
            assert (info.nonzero_cpu, info.nonzero_memory) == (
                fresh.nonzero_cpu,
                fresh.nonzero_memory,
            )
            assert info.used_ports.keys() <= fresh.used_ports.keys()
        assert self.assumed_pods == sum(state.assumed for state in self.pods.values())
        assert sum(len(info.pods) for info in self.nodes.values()) == len(self.pods)
        assert set(self.node_tree) == {n for n, info in self.nodes.items() if info.node}

    # -- inside ----------------------------------------------------------------------------------

    def _put(self, state: PodState) -> None:
        name = state.node_name
        info = self.nodes.get(name)
        if info is None:
            info = self.nodes[name] = NodeInfo(name)
        info.add_pod(state.pod)
        self.pods[state.pod.uid] = state
        self.pod_groups.place(state.pod.pod)
        self.assumed_pods += state.assumed
        self._note_pod(state.pod, name, 1)

    def _relabel(self, known: PodState, pod: PodInfo) -> None:
        """Replace a pod by a version of it that takes the same room.

        Each pod that is bound to a node with a zone gets the labels of its topology.
        """
        pod.take_over(known.pod.share())
        self._note_pod(known.pod, known.node_name, -1)
        known.pod = pod
        self.assumed_pods -= known.assumed
        known.assumed = False
        self.nodes[known.node_name].replace_pod(pod)
        self._note_pod(pod, known.node_name, 1)

    def _replace(self, known: PodState, pod: PodInfo) -> None:
        """Replace a pod without changing its place in the node's list of pods."""
        before = list(self.nodes[known.node_name].pods)
        self._pop(pod.uid)
        self._put(PodState(pod, pod.pod.spec.node_name))
        if known.node_name == pod.pod.spec.node_name and known.pod.key == pod.key:
            self.nodes[known.node_name].reorder_pods(before)

    def _pop(self, uid: str) -> None:
        state = self.pods.pop(uid)
        self.assumed_pods -= state.assumed
        info = self.nodes[state.node_name]
        info.remove_pod(state.pod.key)
        self.pod_groups.displace(state.pod.pod)
        self._note_pod(state.pod, state.node_name, -1)
        self._drop_if_empty(info)

    def _note_pod(self, pod: PodInfo, node_name: str, sign: int) -> None:
        self._changes.nodes.setdefault(node_name, False)
        self._changes.pods.append((pod, node_name, sign))

    def _drop_if_empty(self, info: NodeInfo) -> None:
        if info.node is None and not info.pods:
            del self.nodes[info.name]

    def _add_images(self, node: Node) -> None:
        for image in node.status.images:
            for name in image.names:
                state = self.image_states.setdefault(name, ImageState(image.size_bytes))
                state.nodes.add(node.metadata.name)
                self.images_version += 1

    def _remove_images(self, node: Node) -> None:
        for name in {name for image in node.status.images for name in image.names}:
            state = self.image_states[name]
            state.nodes.discard(node.metadata.name)
            self.images_version += 1
            if not state.nodes:
                del self.image_states[name]


def _images_of(infos: Iterable[NodeInfo], known: Mapping[str, ImageState]) -> dict[str, ImageState]:
    """The images on these nodes, each with the size that is ``known``."""
    images: dict[str, ImageState] = {}
    for info in infos:
        for image in info.node.status.images if info.node is not None else ():
            for name in image.names:
                state = images.get(name)
                if state is None:
                    state = images[name] = ImageState(known[name].size)
                state.nodes.add(info.name)
    return images


def is_terminal(pod: Pod) -> bool:
    """Whether the pod has finished: it no longer uses resources."""
    return pod.status.phase in ("Succeeded", "Failed")
