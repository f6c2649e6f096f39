"""The pools of devices that a node can reach, in the order in which they are searched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from apps.scheduler.objects import Device, Node, NodeSelector, ResourceSlice
from apps.scheduler.plugins.dynamicresources.capacity import nanos
from apps.scheduler.plugins.dynamicresources.node_matching import matches_node


@dataclass(slots=True)
class Pool:
    driver: str
    name: str
    #: fewer or more slices than it says: nothing is allocated from it
    incomplete: bool = False
    #: contradicts itself: nothing is allocated from it
    invalid: bool = False
    #: slices with devices for the node, by name
    slices: Sequence[ResourceSlice] = ()
    #: slices of the pool for other nodes: their devices consume the same counters
    elsewhere: Sequence[ResourceSlice] = ()
    #: set -> counter -> nano units
    counters: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.driver}/{self.name}"


class Slices:
    """All slices, indexed by the node they belong to and by pool."""

    def __init__(self, slices: Iterable[ResourceSlice]) -> None:
        self._of_node: dict[str, list[ResourceSlice]] = {}
        self._shared: list[ResourceSlice] = []
        self._of_pool: dict[tuple[str, str], list[ResourceSlice]] = {}
        #: the slices with counters of each pool, which every node sees
        self._counters: dict[tuple[str, str], list[ResourceSlice]] = {}
        for each in sorted(slices, key=lambda item: item.metadata.name):
            self._of_pool.setdefault(_pool_id(each), []).append(each)
            if each.spec.shared_counters:
                _add(self._counters, each)
            elif each.spec.node_name:
                self._of_node.setdefault(each.spec.node_name, []).append(each)
            else:
                self._shared.append(each)
        #: name of a pool -> how many drivers have such a pool
        self._names = Counter(name for _, name in self._of_pool)
        self._unusable: list[Pool] | None = None
        #: some device takes resources of its node
        self.have_mapped_devices = any(
            device.node_allocatable_resource_mappings
            for of_pool in self._of_pool.values()
            for device in devices_of(of_pool)
        )

    def gather(self, node: Node) -> list[Pool]:
        """The pools for the node, in the order of the search.

        Pools of which the node sees only the counters matter if nothing can be allocated from them.
        """
        by_pool: dict[tuple[str, str], list[ResourceSlice]] = {}
        for each in (*self._of_node.get(node.metadata.name, ()), *self._shared):
            if has_devices_for(each, node):
                _add(by_pool, each)
        for pool_id in by_pool:
            for each in self._counters.get(pool_id, ()):
                _add(by_pool, each)
        pools = [self._pool(pool_id, slices) for pool_id, slices in by_pool.items()]
        pools += [pool for pool in self._unusable_ones() if (pool.driver, pool.name) not in by_pool]
        present = [pool for pool in pools if pool is not None]
        return sorted(present, key=lambda pool: (_has_conditions(pool), pool.driver, pool.name))

    def own_pools(self, node: Node) -> list[Pool] | None:
        """The same for a node with usable pools that no other node sees; None for others."""
        name = node.metadata.name
        if any(has_devices_for(each, node) for each in self._shared):
            return None
        for pool_id in {_pool_id(each) for each in self._of_node.get(name, ())}:
            if self._names[pool_id[1]] > 1 or not all(
                each.spec.node_name == name and not each.spec.per_device_node_selection
                for each in self._of_pool[pool_id]
            ):
                return None
        pools = self.gather(node)
        usable = not any(each.incomplete or each.invalid or each.elsewhere for each in pools)
        return pools if usable else None

    @property
    def has_unusable_pools(self) -> bool:
        """Whether every node sees a pool from which nothing can be allocated."""
        return bool(self._unusable_ones())

    def _unusable_ones(self) -> list[Pool]:
        """The incomplete and invalid pools with counters, as nodes without devices see them."""
        if self._unusable is None:
            pools = (self._pool(pool_id, slices) for pool_id, slices in self._counters.items())
            self._unusable = [
                pool for pool in pools if pool is not None and (pool.incomplete or pool.invalid)
            ]
        return self._unusable

    def _pool(self, pool_id: tuple[str, str], slices: list[ResourceSlice]) -> Pool | None:
        """None if a newer generation, without devices for this node, replaces the pool."""
        about = slices[0].spec.pool
        everything = slices
        if len(slices) != about.resource_slice_count:
            known = self._of_pool[pool_id]
            if any(each.spec.pool.generation > about.generation for each in known):
                return None
            everything = [each for each in known if each.spec.pool.generation == about.generation]
            if len(everything) != about.resource_slice_count:
                return Pool(*pool_id, incomplete=True)
        return _build(pool_id, slices, everything)


def _pool_id(each: ResourceSlice) -> tuple[str, str]:
    return each.spec.driver, each.spec.pool.name


def _add(by_pool: dict[tuple[str, str], list[ResourceSlice]], each: ResourceSlice) -> None:
    slices = by_pool.setdefault(_pool_id(each), [])
    generation = each.spec.pool.generation
    if slices and generation < slices[0].spec.pool.generation:
        return
    if slices and generation > slices[0].spec.pool.generation:
        slices.clear()
    slices.append(each)


def has_devices_for(each: ResourceSlice, node: Node) -> bool:
    spec = each.spec
    if spec.node_name or spec.all_nodes or spec.node_selector is not None:
        return is_for(node, spec.node_name, spec.all_nodes, spec.node_selector)
    if spec.per_device_node_selection:
        return any(device_is_for(device, node) for device in spec.devices)
    return False


def device_is_for(device: Device, node: Node) -> bool:
    return is_for(node, device.node_name, device.all_nodes, device.node_selector)


def is_for(
    node: Node, node_name: str | None, all_nodes: bool | None, selector: NodeSelector | None
) -> bool:
    if node_name:
        return node.metadata.name == node_name
    return bool(all_nodes) or (selector is not None and matches_node(selector, node))


def _build(
    pool_id: tuple[str, str], slices: list[ResourceSlice], everything: list[ResourceSlice]
) -> Pool:
    devices = [each for each in slices if not each.spec.shared_counters]
    names = {each.metadata.name for each in slices}
    elsewhere = [each for each in everything if each.metadata.name not in names]
    counters = _counters(slices)
    if counters is None or _repeats_a_name(devices):
        return Pool(*pool_id, invalid=True)
    if not all(_counters_exist(each, counters) for each in (*slices, *elsewhere)):
        return Pool(*pool_id, invalid=True)
    return Pool(*pool_id, slices=devices, elsewhere=elsewhere, counters=counters)


def _repeats_a_name(slices: Iterable[ResourceSlice]) -> bool:
    names = [device.name for each in slices for device in each.spec.devices]
    return len(set(names)) != len(names)


def _counters(slices: Iterable[ResourceSlice]) -> dict[str, dict[str, int]] | None:
    """The counter sets of a pool; None if one is there twice."""
    sets: dict[str, dict[str, int]] = {}
    for each in slices:
        for counter_set in each.spec.shared_counters:
            if counter_set.name in sets:
                return None
            sets[counter_set.name] = {
                name: nanos(counter.value) for name, counter in counter_set.counters.items()
            }
    return sets


def _counters_exist(each: ResourceSlice, sets: Mapping[str, Mapping[str, int]]) -> bool:
    return all(
        name in sets.get(consumption.counter_set, {})
        for device in each.spec.devices
        for consumption in device.consumes_counters
        for name in consumption.counters
    ) and all(
        consumption.counter_set in sets
        for device in each.spec.devices
        for consumption in device.consumes_counters
    )


def _has_conditions(pool: Pool) -> bool:
    return any(device.binding_conditions for device in devices_of(pool.slices))


def devices_of(slices: Iterable[ResourceSlice]) -> Iterator[Device]:
    for each in slices:
        yield from each.spec.devices
