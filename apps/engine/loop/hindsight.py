"""The states in which a client can have decided, from what the change log shows afterwards.

A scheduler decides for one pod after the other, and binds them concurrently. So the log has the
bindings in another order than that of the decisions: a decision may have counted pods that were
bound after its own pod, and may not have counted some that were bound before. A scheduler also
reads changes later than they are written. What is certain:

- who has read the creation of a pod has decided before about every pod that was bound, or for
  which something else was written that follows from a decision, before that creation;
- who has written for a pod has decided about it.

    ... created ......... decided ......... bound ........... now
           |   others decided    |   others that existed at this
           |   here may not have |   time, and are decided later,
           |   been counted      |   may have been counted
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, combinations
from operator import attrgetter
from typing import Final, NamedTuple

from apps.scheduler.cache.cache import Cache
from apps.scheduler.event_handlers import takes_room
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import KubeObject, Node, Pod
from apps.scheduler.queue.nominator import Nominator

#: Changes that can be undone; a client is not that far behind.
MOST_CHANGES: Final = 10_000
#: With so few pods, every order is tried.
_FEW_PODS: Final = 5
#: Earlier states that are tried.
_MOST_STATES: Final = 12


class Entry(NamedTuple):
    """A change of something that a decision may depend on."""

    version: int
    kind: str
    old: KubeObject | None
    new: KubeObject | None
    #: of a binding: the versions at which the pod was created, and of the first write that shows
    #: that its node was chosen; -1 for any other change
    born: int = -1
    decided: int = -1

    @property
    def pod(self) -> Pod:
        """The pod of a binding."""
        assert isinstance(self.new, Pod)
        return self.new

    @property
    def node(self) -> str:
        return self.pod.spec.node_name

    @property
    def uid(self) -> str:
        return self.pod.metadata.uid

    @property
    def rank(self) -> tuple[int, int]:
        """The place of its pod in a queue: by priority, then by age."""
        return rank_of(self.pod, self.born)


def rank_of(pod: Pod, born: int) -> tuple[int, int]:
    """The place of a pod in a queue, lower first."""
    return -pod.spec.priority, born


class Order(NamedTuple):
    """How the pods that a decision has counted differ from those bound up to a version."""

    #: bindings before it that were not counted
    without: tuple[Entry, ...] = ()
    #: bindings after it that were counted
    beside: tuple[Entry, ...] = ()


class Journal:
    """The newest changes of a cache and of nominations, so that both can be set back."""

    def __init__(self, cache: Cache, nominator: Nominator) -> None:
        self._cache = cache
        self._nominator = nominator
        self._entries: list[Entry] = []
        #: how many of them are applied
        self._applied = 0

    def add(self, entry: Entry) -> None:
        """Note a change that is applied next; all changes before are."""
        self._entries.append(entry)
        self._applied += 1
        if len(self._entries) >= 2 * MOST_CHANGES:
            del self._entries[:MOST_CHANGES]
            self._applied -= MOST_CHANGES

    def __bool__(self) -> bool:
        return bool(self._entries)

    def go_to(self, version: int) -> None:
        """Set cache and nominations back, or forward, to a version, as far as changes are known."""
        wanted = self._count(version)
        while self._applied > wanted:
            self._applied -= 1
            entry = self._entries[self._applied]
            self._put(entry.kind, entry.new, entry.old)
        while self._applied < wanted:
            entry = self._entries[self._applied]
            self._put(entry.kind, entry.old, entry.new)
            self._applied += 1

    def go_to_end(self) -> None:
        """Undo `go_to`."""
        if self._entries:
            self.go_to(self._entries[-1].version)

    def between(self, after: int, upto: int | None = None) -> Sequence[Entry]:
        """The changes after a version, up to another one or the last, in order."""
        end = len(self._entries) if upto is None else self._count(upto)
        return self._entries[self._count(after) : end]

    def _count(self, version: int) -> int:
        return bisect_right(self._entries, version, key=attrgetter("version"))

    def _put(self, kind: str, old: KubeObject | None, new: KubeObject | None) -> None:
        """Replace an object."""
        if kind == "Pod":
            assert old is None or isinstance(old, Pod)
            assert new is None or isinstance(new, Pod)
            self._put_pod(old, new)
        elif kind == "Node":
            if new is not None:
                assert isinstance(new, Node)
                self._cache.add_node(new)
            elif old is not None:
                self._cache.remove_node(old.metadata.name)
        elif new is not None:
            self._cache.listers.by_kind[kind].put(new)
        elif old is not None:
            self._cache.listers.by_kind[kind].remove(old)

    def _put_pod(self, old: Pod | None, new: Pod | None) -> None:
        if old is not None:
            self._nominator.delete(old.metadata.uid)
            if takes_room(old) and not takes_room(new):
                self._cache.remove_pod(old.metadata.uid)
        if new is None:
            return
        if takes_room(new):
            self._cache.add_pod(PodInfo(new))
        elif is_nominated(new):
            self._nominator.add(PodInfo(new))


def is_nominated(pod: Pod | None) -> bool:
    """Whether room is kept for a pod that has no node."""
    return pod is not None and not pod.spec.node_name and bool(pod.status.nominated_node_name)


def list_states(journal: Journal, born: int, decided: int) -> Iterator[int]:
    """Earlier versions at which something else than a binding changed, the newest first.

    The last one is that at which the pod was created.
    """
    others = [each for each in journal.between(born, decided) if each.born < 0]
    for entry in others[: -_MOST_STATES - 1 : -1]:
        yield entry.version - 1
    if others:
        yield born


class Others:
    """The other pods that were bound around a decision about a pod.

    It was created at the version `born`, and the client has decided about it up to `upto`.
    """

    def __init__(
        self, journal: Journal, assumed: Iterable[Entry], pod: Pod, born: int, upto: int
    ) -> None:
        """`assumed` are pods that are not bound, each at the version in which that was known."""
        uid = pod.metadata.uid
        later = chain(journal.between(upto), (e for e in assumed if e.version > upto))
        bound = [each for each in journal.between(born, upto) if each.born >= 0]
        coming = [each for each in later if 0 <= each.born < upto and each.uid != uid]
        self._rank = rank_of(pod, born)
        self._upto = upto
        #: bound later, but certainly decided before
        self._certain = [each for each in coming if each.decided <= born]
        #: decided before or after: in the log before it, and after it
        self._before = bound + [each for each in coming if born < each.decided <= upto]
        self._after = [each for each in coming if each.decided > upto]

    def list_orders(self, nodes: Sequence[str]) -> Iterator[Order]:
        """The orders in which the client can have decided, each once, likely ones first.

        The first is that in which the log shows the decisions. Where there are too many orders,
        those remain in which the chosen node, the first of `nodes`, is as empty or as full as it
        can have been compared with the others.
        """
        known = set()
        for counted in chain(
            [{each.uid for each in self._before}],
            self._in_order_of_the_queue(),
            self._with_a_delay(),
            self._around_nodes(nodes),
            self._all_of_a_few(),
        ):
            key = frozenset(counted)
            if key not in known and self._is_possible(counted):
                known.add(key)
                yield self._order(counted)

    def _order(self, counted: Collection[str]) -> Order:
        """`counted` are the uids of pods of which it is uncertain whether the client knew them."""
        both = [*self._before, *self._after]
        return Order(
            tuple(e for e in both if e.uid not in counted and e.version <= self._upto),
            (*self._certain, *(e for e in both if e.uid in counted and e.version > self._upto)),
        )

    def _in_order_of_the_queue(self) -> Iterator[set[str]]:
        """The pod at its place in the queue, and then further and further away from it."""
        line = sorted(chain(self._before, self._after), key=attrgetter("rank", "version"))
        place = bisect_right(line, self._rank, key=attrgetter("rank"))
        for distance in _distances(len(line)):
            for end in (place + distance, place - distance):
                yield {each.uid for each in line[: max(end, 0)]}

    def _with_a_delay(self) -> Iterator[set[str]]:
        """The last bindings were not read yet."""
        for distance in _distances(len(self._before)):
            yield {each.uid for each in self._before[: len(self._before) - distance]}

    def _around_nodes(self, nodes: Sequence[str]) -> Iterator[set[str]]:
        """The bindings to these nodes, more and more of them, in favor of the first one."""
        whole = {each.uid for each in self._before}
        for favors_empty in (True, False):

            def is_out(entry: Entry, wanted: bool = favors_empty) -> bool:
                return (entry.node == nodes[0]) is wanted

            out = [e.uid for e in reversed(self._before) if e.node in nodes and is_out(e)]
            more = [e.uid for e in self._after if e.node in nodes and not is_out(e)]
            # few pods name the cause best
            for distance in _distances(max(len(out), len(more))):
                yield whole.difference(out[:distance]).union(more[:distance])
            yield whole.union(more)
            yield whole.difference(out)
            yield {e.uid for e in chain(self._before, self._after) if not is_out(e)}

    def _all_of_a_few(self) -> Iterator[set[str]]:
        both = [each.uid for each in chain(self._before, self._after)]
        if len(both) <= _FEW_PODS:
            for size in range(len(both) + 1):
                yield from map(set, combinations(both, size))

    def _is_possible(self, counted: Collection[str]) -> bool:
        """Whether no pod is counted whose creation shows that one was decided that is not."""
        missing = [each.decided for each in self._before if each.uid not in counted]
        first = min(missing, default=self._upto)
        both = chain(self._before, self._after)
        return all(each.born < first for each in both if each.uid in counted)


def _distances(most: int) -> Iterator[int]:
    """0, 1, 2, 4, ... and `most`."""
    yield 0
    distance = 1
    while distance < most:
        yield distance
        distance *= 2
    yield most
