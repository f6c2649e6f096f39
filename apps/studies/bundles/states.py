"""The state of a decision as documents, and a scheduler with the same state from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from apps.cluster import limits
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.engine.profiles import plugins
from apps.engine.profiles.schedulers import assemble_scheduler
from apps.scheduler.cache.cache import Cache
from apps.scheduler.cache.node_tree import NodeTree
from apps.scheduler.clock import VirtualClock
from apps.scheduler.config import ConfigError, Configuration, load
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import KINDS, KubeObject, Node, Pod, ResourceClaim
from apps.scheduler.objects.decoding import decode_as
from apps.studies.bundles.contents import Bundle, BundledState
from apps.studies.bundles.pruning import Pruning
from apps.studies.bundles.sizes import check_tables
from apps.studies.bundles.tables import Document, build_table, pack_array, read_array, read_table
from apps.studies.rebuilding import PastState
from apps.studies.rebuilding.draws import RecordedDraws

T = TypeVar("T", bound=KubeObject)


def capture(
    state: PastState, pod: PodInfo, pruning: Pruning | None, *, names: bool
) -> BundledState:
    """The state of a decision about `pod`; None for `pruning` retains everything.

    `names`: with the names of other pods. The state is not changed.
    """
    cache = state.scheduler.cache
    infos = [info for info in cache.nodes.values() if info.node is not None]
    objects = dict(_objects(cache, pruning))
    nominated = [
        (_document(each.pod), node)
        for node, each in state.scheduler.queue.nominator
        if each.uid != pod.uid
    ]
    own = [node for node, each in state.scheduler.queue.nominator if each.uid == pod.uid]
    others = [other for info in infos for other in info.pods.values()]
    if pruning is not None:
        affinities = [
            _document(each.pod)["spec"]["affinity"] for each in others if each.has_pod_affinity
        ]
        spec = _document(pod.pod).get("spec")
        pruning.read_words([spec, nominated, affinities, *objects.values()])
    nodes = [_document(info.node) for info in infos]
    rows = {info.name: row for row, info in enumerate(infos)}
    return BundledState(
        nodes=build_table(nodes if pruning is None else [pruning.prune_node(n) for n in nodes]),
        order=pack_array([rows[name] for name in cache.node_tree]),
        pods=build_table([_pod(each, pruning, names=names) for each in others]),
        pods_of_nodes=pack_array([len(info.pods) for info in infos]),
        images={
            name: image.size
            for name, image in cache.image_states.items()
            if pruning is None or pruning.has_image(name)
        },
        pod=_document(pod.pod),
        nominated=[*nominated, *((_document(pod.pod), node) for node in own)],
        objects={kind: build_table(documents) for kind, documents in objects.items()},
        assumed=list(_assumed(cache, pruning)),
        in_flight=[_document(each) for each in cache.listers.device_claims.reservations()],
    )


def rebuild(bundle: Bundle, version: int, at: float) -> PastState:
    """The state in a bundle, for `decide_again` and explanations.

    Raises BadRequest if the configuration needs a plugin that this installation does not have, and
    errors of any kind for contents that contradict each other.
    """
    stored, draws = bundle.state, RecordedDraws()
    check_tables([stored.nodes, stored.pods, *stored.objects.values()])
    scheduler = assemble_scheduler(
        _load(bundle), clock=VirtualClock(at), tie_break=bundle.tie_break, draws=draws
    )
    cluster = Cluster(name=bundle.cluster, tie_break=bundle.tie_break)
    state = PastState(cluster, version, scheduler, draws)
    cache = scheduler.cache
    nodes = [decode_as(Node, each) for each in read_table(stored.nodes)]
    for node in nodes:
        cache.add_node(node)
    for name, image in cache.image_states.items():
        image.size = stored.images.get(name, image.size)
    cache.node_tree = _order(nodes, stored)
    _add_objects(cache, stored)
    for each in _pods(nodes, stored):
        cache.add_pod(each)
    pod = decode_as(Pod, stored.pod)
    state.pending[pod.metadata.uid] = pod
    for document, node_name in stored.nominated:
        nominated = decode_as(Pod, document)
        state.pending[nominated.metadata.uid] = nominated
        scheduler.queue.add_nominated_pod(PodInfo(nominated), node_name)
    return state


def _load(bundle: Bundle) -> Configuration:
    if not limits.BUNDLE_CONFIGURATION.admits(len(bundle.configuration)):
        most = limits.BUNDLE_CONFIGURATION.highest
        raise BadRequest(f"bundle: its configuration has more than {most:,} characters")
    try:
        return load(bundle.configuration, plugins.known_plugins(), legacy=bundle.is_legacy)
    except ConfigError as error:
        raise BadRequest(
            f"bundle: its configuration does not work in this installation: {error}"
        ) from error


def _order(nodes: list[Node], stored: BundledState) -> NodeTree:
    tree = NodeTree()
    for row in read_array(stored.order, len(nodes)).tolist():
        tree.add(nodes[row])
    return tree


def _pods(nodes: list[Node], stored: BundledState) -> Iterator[PodInfo]:
    """The pods on the nodes; pods without a name or uid get those of their position."""
    documents = iter(enumerate(read_table(stored.pods)))
    counts = read_array(stored.pods_of_nodes, len(nodes)).tolist()
    for node, count in zip(nodes, counts, strict=True):
        for _ in range(count):
            number, document = next(documents)
            metadata = document.setdefault("metadata", {})
            metadata.setdefault("name", f"unnamed-{number}")
            metadata.setdefault("uid", f"unnamed-{number}")
            document.setdefault("spec", {})["nodeName"] = node.metadata.name
            yield PodInfo(decode_as(Pod, document))


def _add_objects(cache: Cache, stored: BundledState) -> None:
    listers = cache.listers
    for kind, table in stored.objects.items():
        for document in read_table(table):
            listers.by_kind[kind].put(decode_as(KINDS[kind], document))
    for kind, document in stored.assumed:
        item: Any = decode_as(KINDS[kind], document)
        if kind == "PersistentVolume":
            listers.assumed_volumes.assume(item)
        elif kind == "PersistentVolumeClaim":
            listers.assumed_claims.assume(item)
        else:
            listers.device_claims.assume(item)
    for document in stored.in_flight:
        listers.device_claims.reserve(decode_as(ResourceClaim, document), "")


def _objects(cache: Cache, pruning: Pruning | None) -> Iterator[tuple[str, list[Document]]]:
    for kind, lister in cache.listers.by_kind.items():
        if pruning is None:
            documents = [_document(item) for item in lister]
        elif pruning.has_kind(kind):
            documents = [
                pruning.prune_object(kind, _document(item))
                for item in lister
                if pruning.has_object(kind, item)
            ]
        else:
            continue
        if documents:
            yield kind, documents


def _assumed(cache: Cache, pruning: Pruning | None) -> Iterator[tuple[str, Document]]:
    listers = cache.listers
    sources: Mapping[str, list[Any]] = {
        "PersistentVolume": listers.assumed_volumes.assumptions(),
        "PersistentVolumeClaim": listers.assumed_claims.assumptions(),
        "ResourceClaim": listers.device_claims.assumptions(),
    }
    for kind, items in sources.items():
        if pruning is None or pruning.has_kind(kind):
            yield from ((kind, _document(item)) for item in items)


def _pod(pod: PodInfo, pruning: Pruning | None, *, names: bool) -> Document:
    document = _document(pod.pod)
    document.get("spec", {}).pop("nodeName", None)
    return document if pruning is None else pruning.prune_pod(pod, document, names=names)


def _document(item: object) -> Document:
    document: Document = msgspec.to_builtins(item)
    return document
