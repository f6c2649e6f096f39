"""The order in which nodes are evaluated: zones in turn, so that neighbors differ in zone."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from apps.scheduler.objects import Node

_ZONE: Final = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
_REGION: Final = ("topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/region")


class NodeTree:
    """Node names by zone, zones and nodes in the order in which they were added."""

    def __init__(self) -> None:
        self._zones: dict[str, dict[str, None]] = {}
        self._zone_of: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._zone_of)

    def add(self, node: Node) -> bool:
        """Add the node, or move it if its zone has changed; False if nothing changed."""
        name, zone = node.metadata.name, zone_of(node)
        if self._zone_of.get(name) == zone:
            return False
        self.remove(name)
        self._zone_of[name] = zone
        self._zones.setdefault(zone, {})[name] = None
        return True

    def remove(self, name: str) -> None:
        zone = self._zone_of.pop(name, None)
        if zone is not None:
            del self._zones[zone][name]
            if not self._zones[zone]:
                del self._zones[zone]

    def only(self, names: Collection[str]) -> NodeTree:
        """These nodes alone, in the same order."""
        tree = NodeTree()
        tree._zone_of = {name: zone for name, zone in self._zone_of.items() if name in names}
        for zone, nodes in self._zones.items():
            if left := {name: None for name in nodes if name in names}:
                tree._zones[zone] = left
        return tree

    def __iter__(self) -> Iterator[str]:
        """All names: the first of each zone, then the second of each, and so on."""
        rounds = zip_longest(*self._zones.values())
        return (name for name in chain.from_iterable(rounds) if name is not None)


def zone_of(node: Node) -> str:
    """Region and zone of a node as one text, "" if it has neither."""
    labels = node.metadata.labels
    region = next((labels[key] for key in _REGION if key in labels), "")
    zone = next((labels[key] for key in _ZONE if key in labels), "")
    return f"{region}:\x00:{zone}" if region or zone else ""
