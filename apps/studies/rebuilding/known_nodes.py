"""The nodes as an engine knew them: their rows, the visiting order, the sizes of their images.

All of these depend on the order in which nodes were added, so the log is replayed from the version
at which the engine was loaded.
"""

from __future__ import annotations

from collections.abc import Sequence

from apps.cluster import kinds
from apps.cluster.log.changelog import changes_after
from apps.cluster.models import Cluster
from apps.engine.loop.informer import decode
from apps.scheduler.cache.cache import Cache
from apps.scheduler.objects import Node
from apps.studies.rebuilding.past_objects import read_objects_at, sort_by_creation

_BATCH = 2000


def fill_nodes(
    cache: Cache, cluster: Cluster, *, loaded_at: int, version: int, rows: Sequence[str]
) -> None:
    """Fill an empty cache with the nodes at `version`; `rows` are the node names by row."""
    replayed = _replay(cluster, loaded_at, version)
    named = [name for name in rows if name in replayed.nodes]
    for name in dict.fromkeys([*named, *replayed.nodes]):
        node = replayed.nodes[name].node
        assert node is not None
        cache.add_node(node)
    cache.node_tree, cache.image_states = replayed.node_tree, replayed.image_states


def _replay(cluster: Cluster, loaded_at: int, version: int) -> Cache:
    cache = Cache()
    start = max(loaded_at, cluster.forgotten_version)
    for each in sort_by_creation(
        cluster, read_objects_at(cluster, min(start, version), [kinds.NODE])
    ):
        assert isinstance(each.item, Node)
        cache.add_node(each.item)
    while start < version:
        changes = changes_after(cluster.pk, start, kinds=[kinds.NODE.name], limit=_BATCH)
        for change in changes:
            if change.version > version:
                return cache
            _apply(cache, change.name, change.type, change.object)
        if len(changes) < _BATCH:
            break
        start = changes[-1].version
    return cache


def _apply(cache: Cache, name: str, change: str, body: dict[str, object]) -> None:
    node = decode("Node", body) if change != "DELETED" else None
    if isinstance(node, Node):
        cache.add_node(node)
    elif name in cache.nodes:
        cache.remove_node(name)
