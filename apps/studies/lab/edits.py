"""Changes of a rebuilt state, each of which can be undone: to decide a recorded decision again."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from apps.cluster import kinds
from apps.cluster.admission.fields import check_fields
from apps.cluster.errors import BadRequest, Invalid
from apps.cluster.merge_patch import merge
from apps.quantity import QuantityError
from apps.scheduler.cache.node_tree import zone_of
from apps.scheduler.objects import KubeObject, Node, Pod
from apps.scheduler.objects.decoding import DecodeError, decode_as
from apps.studies.rebuilding import PastState

T = TypeVar("T", bound=KubeObject)
Patch = Mapping[str, Any]
Undo = Callable[[], None]
#: Applies a change to a state, and returns how to undo it.
Edit = Callable[[PastState], Undo]

#: What a patch of a pod or a node may change, by the field below which it is.
_EDITABLE = {"Pod": ("metadata", "spec"), "Node": ("metadata", "spec", "status")}


@dataclass(frozen=True, slots=True)
class Edits:
    """What a question changes before its decision is made again."""

    #: a merge patch (RFC 7386) of the pod
    pod: Patch | None = None
    #: name -> a merge patch of the node
    nodes: Mapping[str, Patch] | None = None
    #: "namespace/name" of pods on nodes that are deleted
    delete_pods: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.pod or self.nodes or self.delete_pods)

    def edits(self, uid: str) -> Iterator[Edit]:
        """The changes, in the order in which they are applied; `uid` is that of the pod."""
        if self.pod:
            yield patch_pod(uid, self.pod)
        for name, patch in (self.nodes or {}).items():
            yield patch_node(name, patch)
        for key in self.delete_pods:
            yield delete_pod(key)


@contextmanager
def edited(state: PastState, edits: Iterable[Edit]) -> Iterator[None]:
    """Apply changes, and undo them in reverse order; BadRequest names one that is impossible."""
    undone: list[Undo] = []
    try:
        for edit in edits:
            undone.append(edit(state))
        yield
    finally:
        for undo in reversed(undone):
            undo()


def patch_pod(uid: str, patch: Patch) -> Edit:
    """Change the pod of the decision; the edit raises BadRequest if it was not pending."""

    def edit(state: PastState) -> Undo:
        known = state.pending.get(uid)
        if known is None:
            raise BadRequest("pod: it was not pending at that version")
        changed = _patched(Pod, known, patch, "pod")
        if changed.spec.scheduler_name != known.spec.scheduler_name:
            raise BadRequest("pod.spec.schedulerName: cannot be changed here")
        state.pending[uid] = changed
        return lambda: state.pending.update({uid: known})

    return edit


def patch_node(name: str, patch: Patch) -> Edit:
    """Change a node; its pods stay. The edit raises BadRequest if there is no such node."""

    def edit(state: PastState) -> Undo:
        info = state.scheduler.cache.nodes.get(name)
        if info is None or info.node is None:
            raise BadRequest(f"nodes: there was no node {name} at the time of the decision")
        known, cache = info.node, state.scheduler.cache
        changed = _patched(Node, known, patch, f"nodes[{name}]")
        # their order is that of the changes: a node that comes back would be the last one
        tree = copy.deepcopy(cache.node_tree) if zone_of(changed) != zone_of(known) else None
        other_images = changed.status.images != known.status.images
        images = copy.deepcopy(cache.image_states) if other_images else None
        cache.add_node(changed)

        def undo() -> None:
            cache.add_node(known)
            if tree is not None:
                cache.node_tree = tree
            if images is not None:
                cache.image_states = images

        return undo

    return edit


def delete_pod(key: str) -> Edit:
    """Delete a pod ("namespace/name") from its node; the edit raises BadRequest if on none."""

    def edit(state: PastState) -> Undo:
        cache = state.scheduler.cache
        pod = next((info.pods[key] for info in cache.nodes.values() if key in info.pods), None)
        if pod is None:
            raise BadRequest(f"delete_pods: {key} was on no node at the time of the decision")
        node = pod.pod.spec.node_name
        order = list(cache.nodes[node].pods)
        cache.remove_pod(pod.uid)

        def undo() -> None:
            cache.add_pod(pod)
            cache.nodes[node].reorder_pods(order)

        return undo

    return edit


def _patched(kind: type[T], known: T, patch: Patch, field: str) -> T:
    name = kind.__name__
    for part in patch:
        if part not in _EDITABLE[name]:
            raise BadRequest(f"{field}.{part}: only {', '.join(_EDITABLE[name])} can be changed")
    try:
        check_fields(kinds.by_name(name), patch)
    except Invalid as refusal:
        causes = (f"{field}.{cause.field}: {cause.message}" for cause in refusal.causes)
        raise BadRequest("; ".join(causes)) from refusal
    body = merge(msgspec.to_builtins(known), dict(patch))
    try:
        changed = decode_as(kind, body)
    except DecodeError as error:
        raise BadRequest(f"{field}.{error}") from error
    except QuantityError as error:
        raise BadRequest(f"{field}: {error}") from error
    meta, old = changed.metadata, known.metadata
    if (meta.name, meta.namespace, meta.uid) != (old.name, old.namespace, old.uid):
        raise BadRequest(f"{field}.metadata: name, namespace and uid cannot be changed")
    return changed
