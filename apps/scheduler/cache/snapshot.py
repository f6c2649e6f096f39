"""The nodes as one scheduling cycle sees them: columns, updated row by row."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from apps.scheduler.cache.domains import Domains, by_label
from apps.scheduler.cache.interning import Interner, RowLog
from apps.scheduler.cache.label_index import LabelIndex
from apps.scheduler.cache.memo import Memos
from apps.scheduler.cache.mount_index import MountIndex
from apps.scheduler.cache.ports import PortIndex
from apps.scheduler.cache.term_index import TermIndex
from apps.scheduler.framework.node_columns import (
    CPU,
    MEMORY,
    AmountsName,
    BoolArray,
    Depends,
    ImageColumn,
    Int32Array,
    Int64Array,
    LabelColumn,
    NodeColumns,
)
from apps.scheduler.framework.overlay import MAX_PART, Overlay, RecomputingOverlay
from apps.scheduler.framework.resources import CPU as CPU_NAME
from apps.scheduler.framework.resources import EPHEMERAL_STORAGE as EPHEMERAL_STORAGE_NAME
from apps.scheduler.framework.resources import MEMORY as MEMORY_NAME
from apps.scheduler.framework.resources import wrap
from apps.scheduler.framework.reuse.changed_rows import ChangedRows
from apps.scheduler.objects import Taint

if TYPE_CHECKING:
    from apps.scheduler.cache.cache import Cache, Changes, ImageState
    from apps.scheduler.framework.mounts import Mount
    from apps.scheduler.framework.types import HostPort, NodeInfo, PodInfo

T = TypeVar("T")

#: of all snapshots and of what they show for a while: none is given twice
_versions = itertools.count(1)
_SPARE = 64
#: groupings by a node label at most; the oldest one is dropped first
_MAX_DOMAINS = 256
#: distinct amounts of rows that are numbered at once
_MAX_AMOUNTS = 65_536


class Snapshot(NodeColumns):
    """All nodes. ``update`` brings it to the state of the cache; it does not change in between.

    A row is a stable slot: a node has it until it is removed, then a later node may get it.
    ``order`` is the order in which nodes are evaluated.
    """

    def __init__(self) -> None:
        self._resources = Interner(CPU_NAME, MEMORY_NAME, EPHEMERAL_STORAGE_NAME)
        self._taint_sets: Interner[tuple[Taint, ...]] = Interner(())
        self.taint_sets = self._taint_sets.values
        self._store: dict[str, NDArray[Any]] = {}
        self._capacity = 0
        self._used = 0
        self._free: list[int] = []
        self._row_of: dict[str, int] = {}
        self._infos: list[NodeInfo | None] = []
        self._labels: dict[str, tuple[Interner[str], Int32Array]] = {}
        self._image_states: Mapping[str, ImageState] = {}
        self._images: dict[str, ImageColumn | None] = {}
        self._images_version = -1
        self._order_version = -1
        self._node_log = RowLog()
        self._pods_log = RowLog()
        self._memos = Memos()
        self._ports = PortIndex()
        #: by row: the number of what the node allows, and see ``amounts_of``
        self._allowed: list[int] = []
        self._amounts: list[int] = []
        self._allowances: Interner[tuple[Hashable, ...]] = Interner()
        #: amounts -> their number; a number is never given again
        self._amount_numbers: dict[Hashable, int] = {}
        self._amount_number = itertools.count(1)
        #: the last answer of ``changes_since``, and for which states of the snapshot it is right
        self._changes: tuple[tuple[int, int, int], ChangedRows] | None = None
        self._domains: dict[Hashable, Domains] = {}
        #: pods by (namespace, labels, terminating): what label selectors distinguish
        self.pods_by_labels = LabelIndex()
        #: pods by their inter-pod (anti-)affinity terms
        self.pods_by_term = TermIndex()
        #: rows by the volumes that pods there mount
        self.mounts = MountIndex()
        #: (nodes,) int64, rows in visiting order: zones in turn
        self.order: Int64Array = np.empty(0, dtype=np.int64)
        #: names by row; "" where the row is dead
        self.names: tuple[str, ...] = ()
        #: (n,) int64, rank of each row's name among all names; dead rows come last
        self.name_rank: Int64Array = np.empty(0, dtype=np.int64)
        self.total_nodes = 0
        #: increases with every update that changed anything
        self.version = 0
        #: another one when anything but the pods of a row changed: nodes, images, rows, resources
        self.node_version = 0
        self._grow(_SPARE)
        self._show()

    # -- what plugins use ----------------------------------------------------------------------

    def __len__(self) -> int:
        return self._used

    def info(self, row: int) -> NodeInfo:
        info = self._infos[row]
        if info is None:
            raise KeyError(f"row {row} is not a node")
        return info

    def row_of(self, name: str) -> int:
        return self._row_of.get(name, -1)

    def resource_index(self, name: str) -> int:
        return self._resources.find(name)

    @property
    def resource_names(self) -> Sequence[str]:
        """Resource names by resource_index."""
        return self._resources.values

    def label(self, key: str) -> LabelColumn:
        known = self._labels.get(key)
        if known is None:
            known = self._labels[key] = self._read_label(key, Interner())
        interner, ids = known
        return LabelColumn(ids[: self._used], interner.values, interner.find)

    def image(self, name: str) -> ImageColumn | None:
        if name not in self._images:
            self._images[name] = self._read_image(name)
        return self._images[name]

    def port_conflicts(self, wanted: Sequence[HostPort]) -> BoolArray:
        return self._ports.conflicts(wanted, self._used)

    def mounted(self, mounts: Collection[Mount]) -> BoolArray:
        return self.mounts.mounted(mounts, self._used)

    @property
    def modified_rows(self) -> Collection[int]:
        return ()

    def memo(
        self,
        key: Hashable,
        compute: Callable[[NodeColumns], NDArray[Any]],
        *,
        depends: Depends,
    ) -> NDArray[Any]:
        log = self._node_log if depends == "node" else self._pods_log
        return self._memos.get(key, compute, self, log)

    def amounts_at(self, name: AmountsName, rows: Int64Array) -> Int64Array:
        # NumPy would copy all of a slice to take from it.
        return self._store[name].take(rows, axis=1)

    def select(self, rows: Int64Array) -> Overlay:
        return Overlay(self, rows)

    def part(self, rows: Int64Array) -> Overlay:
        """These rows, for a search among them alone.

        If they are few, columns are computed for them, and those of the snapshot are left alone: to
        update one for a single row copies all of it.
        """
        return RecomputingOverlay(self, rows) if len(rows) <= MAX_PART else Overlay(self, rows)

    @property
    def pods_position(self) -> int:
        """Counts the changes of rows; for ``rows_changed_since``."""
        return self._pods_log.position

    def rows_changed_since(self, position: int) -> list[int] | None:
        """The rows that changed since ``pods_position`` was ``position``, ascending.

        None if they are not known any more or too many to be worth treating one by one.
        """
        return self._pods_log.since(position, limit=self._used // 4)

    def changes_since(self, position: int) -> ChangedRows:
        """``rows_changed_since`` as a table; all rows if they are not known or too many."""
        state = (position, self._pods_log.position, self.node_version)
        if self._changes is None or self._changes[0] != state:
            self._changes = (state, ChangedRows(self, self.rows_changed_since(position)))
        return self._changes[1]

    def only_change_since(self, position: int) -> int | None:
        """The row of the only change since then; None if there were others, or none."""
        log = self._pods_log
        return log.last if log.position == position + 1 else None

    def amounts_of_row(self, row: int) -> int:
        """As ``amounts_of``."""
        return self._amounts[row]

    def amounts_of(self, rows: Iterable[int]) -> list[int]:
        """Rows with equal values have equal allocatable and requested amounts and pod counts.

        A value is never given to other amounts.
        """
        amounts = self._amounts
        return [amounts[row] for row in rows]

    def fork(self, rows: Int64Array) -> Overlay:
        """The same as ``select``: no pod is added or removed in a snapshot itself."""
        return Overlay(self, rows)

    def domains(
        self,
        topology_key: str,
        *,
        among: tuple[Hashable, BoolArray] | None = None,
        absent_is_empty: bool = False,
    ) -> Domains:
        """The rows grouped by a label; the same object until a Node object changes.

        ``among``: only these rows (a column that depends on nothing but Node objects and a name
        for it). ``absent_is_empty`` is explained at ``cache.domains.by_label``.
        """
        name = (topology_key, among[0] if among is not None else None, absent_is_empty)
        known = self._domains.get(name)
        if known is None:
            known = self._domains[name] = by_label(
                name,
                self.label(topology_key),
                self.alive,
                among=among[1] if among is not None else None,
                absent_is_empty=absent_is_empty,
            )
            if len(self._domains) > _MAX_DOMAINS:
                del self._domains[next(iter(self._domains))]
        return known

    # -- updates -------------------------------------------------------------------------------

    def update(self, cache: Cache) -> None:
        """Apply everything that changed in ``cache`` since the last update."""
        changes = cache.take_changes()
        if not changes.nodes:
            return
        self.version += 1
        if not self._update_pods(cache, changes):
            self._update_nodes(cache, changes)

    @contextmanager
    def narrowed(self, cache: Cache, names: Collection[str]) -> Iterator[None]:
        """Only the nodes ``names`` exist in the block, here and in ``cache``.

        Each is in the row that it has; the other rows are dead. See ``Cache.narrowed``. What was
        computed from all nodes is right again after the block.
        """
        self.update(cache)
        rows = {name: row for name, row in self._row_of.items() if name in names}
        if len(rows) == len(self._row_of):
            yield
            return
        whole = vars(self).copy()
        with cache.narrowed(names):
            self._hide_all_but(rows, cache)
            try:
                yield
            finally:
                version, labels = self.version, self._labels
                vars(self).update(whole)
                self.version = version + 1
                self._take_over(labels)

    def _hide_all_but(self, rows: dict[str, int], cache: Cache) -> None:
        """Replace all that depends on the nodes; the ids of values stay what they are."""
        kept = np.array(list(rows.values()), dtype=np.int64)
        self._row_of, self._infos = rows, _only(self._infos, rows.values(), None)
        self._store = {name: _only_rows(column, kept, 0) for name, column in self._store.items()}
        self._labels = {
            key: (values, _only_rows(ids, kept, -1)) for key, (values, ids) in self._labels.items()
        }
        self._allowed = _only(self._allowed, rows.values(), -1)
        self._amounts = _only(self._amounts, rows.values(), -1)
        self._node_log, self._pods_log = RowLog(), RowLog()
        self._memos, self._ports, self._changes, self._domains = Memos(), PortIndex(), None, {}
        self._images, self._image_states = {}, cache.image_states
        self.pods_by_labels, self.pods_by_term = LabelIndex(), TermIndex()
        self.mounts = MountIndex(self.mounts.log)
        self.mounts.log.forget()
        self._show()
        for row in rows.values():
            info = self.info(row)
            if info.used_ports:
                self._ports.replace(row, info.used_ports)
            for pod in info.pods.values():
                self._index(pod, row, 1)
        self._reorder(cache)

    def _take_over(self, labels: Mapping[str, tuple[Interner[str], Int32Array]]) -> None:
        """After the block of ``narrowed``: what was numbered there keeps its number."""
        self.mounts.log.forget()
        self._reserve_resources(())
        for key, (values, _) in labels.items():
            if key not in self._labels:
                self._labels[key] = self._read_label(key, values)

    def _update_pods(self, cache: Cache, changes: Changes) -> bool:
        """Apply ``changes`` if no Node object is among them; False if nothing was applied."""
        nodes, row_of = changes.nodes, self._row_of
        if any(nodes.values()) or not nodes.keys() <= row_of.keys():
            return False
        for pod, node_name, sign in changes.pods:
            self._index(pod, row_of[node_name], sign)
        for name in nodes:
            row = row_of[name]
            self._write_pods(row, cache.nodes[name])
            self._pods_log.append(row)
        return True

    def _update_nodes(self, cache: Cache, changes: Changes) -> None:
        before = self._node_log.position, self._images_version, self._order_version
        self._image_states = cache.image_states
        if cache.images_version != self._images_version:
            self._images.clear()
            self._images_version = cache.images_version
        for pod, node_name, sign in changes.pods:
            row = self._row_of.get(node_name)
            if row is not None:
                self._index(pod, row, sign)
        if not self._used:
            self._add_first_nodes(cache, changes.nodes)
        else:
            if not self._row_of:
                self._add_free_rows(cache)
            for name, node_changed in changes.nodes.items():
                self._update_node(name, cache.nodes.get(name), node_changed)
        if cache.order_version != self._order_version:
            self._reorder(cache)
            self._order_version = cache.order_version
        if self._node_log.position != before[0]:
            self._domains.clear()
        if (self._node_log.position, self._images_version, self._order_version) != before:
            self.node_version = next(_versions)

    def _update_node(self, name: str, info: NodeInfo | None, node_changed: bool) -> None:
        row = self._row_of.get(name)
        if info is None or info.node is None:
            if row is not None:
                self._remove_row(name, row, info)
            return
        if row is None:
            row = self._add_row(name, info)
            node_changed = True
        if self._infos[row] is not info:
            # A node's amounts are only added to, but this may be another node of that name.
            self.requested[:, row] = 0
            self._infos[row] = info
        if node_changed:
            self._write_node(row, info)
            self._node_log.append(row)
        self._write_pods(row, info)
        self._pods_log.append(row)

    def _add_free_rows(self, cache: Cache) -> None:
        """Rows for many nodes: to show the columns for each of them takes too long."""
        count = sum(info.node is not None for info in cache.nodes.values()) - len(self._free)
        if count > 0:
            first = self._used
            self._add_rows(count)
            # the row that is used next is the last one
            self._free[:0] = range(self._used - 1, first - 1, -1)

    def _add_first_nodes(self, cache: Cache, names: Iterable[str]) -> None:
        """Rows for the first nodes, written column by column: there may be thousands."""
        known = (cache.nodes.get(name) for name in names)
        infos = [info for info in known if info is not None and info.node is not None]
        self._reserve_resources(
            name for info in infos for name in (*info.allocatable, *info.requested)
        )
        self._add_rows(len(infos))
        self._infos[:] = infos
        self._row_of = {info.name: row for row, info in enumerate(infos)}
        self.alive[:] = True
        for name, index in self._resources.ids.items():
            self.allocatable[index] = [info.allocatable.get(name, 0) for info in infos]
        self.allowed_pods[:] = [info.allowed_pods for info in infos]
        for row, info in enumerate(infos):
            self._write_spec(row, info)
            self._write_pods(row, info)
            for pod in info.pods.values():
                self._index(pod, row, 1)
            self._node_log.append(row)
            self._pods_log.append(row)

    def _add_rows(self, count: int) -> None:
        if self._used + count > self._capacity:
            self._grow(max(2 * self._capacity, self._used + count, _SPARE))
        self._used += count
        self._infos += [None] * count
        self._allowed += [-1] * count
        self._amounts += [-1] * count
        self._show()

    def _add_row(self, name: str, info: NodeInfo) -> int:
        if not self._free:
            self._free.append(self._used)
            self._add_rows(1)
        row = self._row_of[name] = self._free.pop()
        for pod in info.pods.values():
            self._index(pod, row, 1)
        return row

    def _remove_row(self, name: str, row: int, info: NodeInfo | None) -> None:
        for pod in info.pods.values() if info is not None else ():
            self._index(pod, row, -1)
        del self._row_of[name]
        self._infos[row] = None
        self._free.append(row)
        for column in self._store.values():
            column[..., row] = 0
        for _, ids in self._labels.values():
            ids[row] = -1
        self._ports.replace(row, {})
        self._amounts[row] = -1
        self._node_log.append(row)
        self._pods_log.append(row)

    def _write_node(self, row: int, info: NodeInfo) -> None:
        self._reserve_resources(info.allocatable)
        self.alive[row] = True
        self.allocatable[:, row] = 0
        for name, amount in info.allocatable.items():
            self.allocatable[self._resources.id(name), row] = amount
        self.allowed_pods[row] = info.allowed_pods
        self._write_spec(row, info)

    def _write_spec(self, row: int, info: NodeInfo) -> None:
        """What is not a number, and which amounts count as equal."""
        node = info.node
        assert node is not None
        self._allowed[row] = self._allowances.id(
            (info.allowed_pods, *info.allocatable, *info.allocatable.values())
        )
        self.unschedulable[row] = node.spec.unschedulable
        taints = tuple(map(_without_time, node.spec.taints))
        self.taint_ids[row] = self._taint_sets.id(taints)
        for key, (interner, ids) in self._labels.items():
            value = node.metadata.labels.get(key)
            ids[row] = -1 if value is None else interner.id(value)

    def _write_pods(self, row: int, info: NodeInfo) -> None:
        indices, amounts = self._resources.ids, info.requested
        if not amounts.keys() <= indices.keys():
            self._reserve_resources(amounts)
        requested, nonzero, count = self.requested, self.nonzero_requested, len(info.pods)
        cpu, memory = info.nonzero_cpu, info.nonzero_memory
        try:
            for name, amount in amounts.items():
                requested[indices[name], row] = amount
            nonzero[CPU, row] = cpu
            nonzero[MEMORY, row] = memory
        except OverflowError:
            self._write_wrapped(row, info)
        self.pod_count[row] = count
        if info.used_ports or row in self._ports.rows:
            self._ports.replace(row, info.used_ports)
        key = (self._allowed[row], count, cpu, memory, *amounts, *amounts.values())
        number = self._amount_numbers.get(key)
        self._amounts[row] = self._number(key) if number is None else number

    def _write_wrapped(self, row: int, info: NodeInfo) -> None:
        """Write sums that do not fit into 64 bits as Go computes them."""
        for name, amount in info.requested.items():
            self.requested[self._resources.ids[name], row] = wrap(amount)
        self.nonzero_requested[CPU, row] = wrap(info.nonzero_cpu)
        self.nonzero_requested[MEMORY, row] = wrap(info.nonzero_memory)

    def _number(self, amounts: Hashable) -> int:
        if len(self._amount_numbers) >= _MAX_AMOUNTS:
            self._amount_numbers.clear()
        number = self._amount_numbers[amounts] = next(self._amount_number)
        return number

    def _index(self, pod: PodInfo, row: int, sign: int) -> None:
        self.pods_by_labels.change(pod, row, sign)
        if pod.terms.carried:
            self.pods_by_term.change(pod, row, sign)
        if pod.mounts:
            self.mounts.change(pod, row, sign)

    def _reorder(self, cache: Cache) -> None:
        self.order = np.array([self._row_of[name] for name in cache.node_tree], dtype=np.int64)
        self.total_nodes = len(self.order)
        names = [info.name if info is not None else "" for info in self._infos]
        self.names = tuple(names)
        self.name_rank = np.full(self._used, len(names), dtype=np.int64)
        by_name = sorted((name, row) for name, row in self._row_of.items())
        for rank, (_, row) in enumerate(by_name):
            self.name_rank[row] = rank
        self._images.clear()

    # -- storage -------------------------------------------------------------------------------

    def _reserve_resources(self, amounts: Iterable[str]) -> None:
        """Give every resource an index; a new resource makes the matrices taller."""
        for name in amounts:
            self._resources.id(name)
        if len(self._resources) > len(self._store["allocatable"]):
            for column in ("allocatable", "requested"):
                old = self._store[column]
                taller = np.zeros((len(self._resources), self._capacity), dtype=np.int64)
                taller[: len(old)] = old
                self._store[column] = taller
            self._show()

    def _grow(self, capacity: int) -> None:
        for name, (lead, dtype) in self._layout().items():
            grown = np.zeros((*lead, capacity), dtype=dtype)
            if name in self._store:
                grown[..., : self._capacity] = self._store[name]
            self._store[name] = grown
        for key, (interner, ids) in self._labels.items():
            more = np.full(capacity, -1, dtype=np.int32)
            more[: len(ids)] = ids
            self._labels[key] = (interner, more)
        self._capacity = capacity

    def _layout(self) -> dict[str, tuple[tuple[int, ...], Any]]:
        resources = len(self._resources)
        return {
            "alive": ((), np.bool_),
            "allocatable": ((resources,), np.int64),
            "requested": ((resources,), np.int64),
            "nonzero_requested": ((2,), np.int64),
            "pod_count": ((), np.int64),
            "allowed_pods": ((), np.int64),
            "unschedulable": ((), np.bool_),
            "taint_ids": ((), np.int32),
        }

    def _show(self) -> None:
        """Set the public columns to the rows in use."""
        for name, column in self._store.items():
            setattr(self, name, column[..., : self._used])
        self.snapshot_rows = np.arange(self._used, dtype=np.int64)
        self.pods_by_labels.resize(self._used)
        self.pods_by_term.resize(self._used)
        self._memos.clear()
        self.node_version = next(_versions)

    def _read_label(self, key: str, interner: Interner[str]) -> tuple[Interner[str], Int32Array]:
        ids = np.full(self._capacity, -1, dtype=np.int32)
        for row, info in enumerate(self._infos):
            if info is not None and info.node is not None:
                value = info.node.metadata.labels.get(key)
                if value is not None:
                    ids[row] = interner.id(value)
        return interner, ids

    def _read_image(self, name: str) -> ImageColumn | None:
        state = self._image_states.get(name)
        if state is None:
            return None
        present = np.zeros(self._used, dtype=np.bool_)
        rows = [self._row_of[node] for node in state.nodes if node in self._row_of]
        present[rows] = True
        return ImageColumn(state.size, len(state.nodes), present)


def _only(values: list[T], rows: Iterable[int], dead: T) -> list[T]:
    """The values of these rows; ``dead`` for the others."""
    left = [dead] * len(values)
    for row in rows:
        left[row] = values[row]
    return left


def _only_rows(column: NDArray[Any], rows: Int64Array, dead: int) -> NDArray[Any]:
    """A column with these rows; ``dead`` in the others."""
    left = np.full_like(column, dead)
    left[..., rows] = column[..., rows]
    return left


def _without_time(taint: Taint) -> Taint:
    """The taint without its timeAdded, which would make the taints of every node distinct."""
    return Taint(key=taint.key, value=taint.value, effect=taint.effect)
