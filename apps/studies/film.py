"""A span of a cluster's life as a film: nodes, queue and what happened, frame by frame.

Starts from the state at the first frame, and applies the changes of nodes and pods and the moves of
the queue that follow. Each frame has only what differs from the one before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from apps.cluster.errors import BadRequest
from apps.cluster.log import changelog
from apps.cluster.log.changelog import LoggedChange
from apps.cluster.log.versions import version_before
from apps.cluster.models import Change, Cluster
from apps.engine.models import QueueMove
from apps.engine.periods import Period, wrong
from apps.engine.queue.past import PARTS, count_past_queue
from apps.studies.history.milestones import read_milestones
from apps.studies.past.past_version import read_life
from apps.studies.past.snapshots import Snapshot, snapshots
from apps.studies.past.versions import (
    FINISHED,
    NodeVersion,
    PodVersion,
    decode_node,
    decode_pod,
)

#: Frames of a film at most; no frame is shorter than a second.
FRAMES: Final = 240
#: Changes of nodes and pods, and moves in the queue, that a film has at most.
MOST_CHANGES: Final = 20_000
MOST_MOVES: Final = 100_000
_BATCH: Final = 1_000
#: A node that does not exist in a frame, and one that has none of the resource.
ABSENT: Final = -2
_NONE: Final = -1
_MOST_SHARE: Final = 9_999
_ZONE: Final = "topology.kubernetes.io/zone"


@dataclass(frozen=True, slots=True)
class FilmLine:
    """One thing that the narration says, by the change, operation or revision that it is about."""

    at: datetime
    text: str
    user: str = ""
    kind: str = ""
    version: int | None = None
    operation: int | None = None
    revision: int | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """The state at the end of a step; `cells` are those that differ from the frame before."""

    at: datetime
    version: int
    #: (index of the node, share of the resource in thousandths or ABSENT, state) where the state
    #: is 1 for cordoned plus 2 for not ready
    cells: Sequence[tuple[int, int, int]]
    #: pods on nodes, and pods without one
    bound: int
    pending: int
    #: the parts of the queue, in the order of PARTS
    queue: Sequence[int]
    lines: Sequence[FilmLine]


@dataclass(frozen=True, slots=True)
class Film:
    """The frames of a span, and the nodes that their cells are about."""

    since: datetime
    until: datetime
    #: zone and number of its nodes, in the order of `names`
    groups: Sequence[tuple[str, int]]
    names: Sequence[str]
    parts: Sequence[str]
    frames: Sequence[Frame]


@dataclass(slots=True)
class _State:
    """The state between two frames."""

    nodes: dict[str, NodeVersion]
    pods: dict[str, PodVersion]
    resource: str
    #: node name -> what its pods request of the resource
    requested: Counter[str] = field(default_factory=Counter)
    #: names of nodes that may differ since the last frame
    touched: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, snapshot: Snapshot, resource: str) -> _State:
        state = cls(dict(snapshot.nodes), {}, resource)
        for pod in snapshot.pods.values():
            state.put_pod(pod)
        return state

    def put_pod(self, pod: PodVersion) -> None:
        self.drop_pod(pod.uid)
        self.pods[pod.uid] = pod
        self._count(pod, 1)

    def drop_pod(self, uid: str) -> None:
        if (old := self.pods.pop(uid, None)) is not None:
            self._count(old, -1)

    def _count(self, pod: PodVersion, sign: int) -> None:
        if pod.node and not pod.is_finished:
            amount = 1 if self.resource == "pods" else pod.requests.get(self.resource, 0)
            self.requested[pod.node] += sign * amount
            self.touched.add(pod.node)

    def put_node(self, node: NodeVersion) -> None:
        self.nodes[node.uid] = node
        self.touched.add(node.name)

    def drop_node(self, uid: str) -> None:
        if (old := self.nodes.pop(uid, None)) is not None:
            self.touched.add(old.name)

    def cell(self, node: NodeVersion) -> tuple[int, int]:
        """Its share, and its state."""
        state = int(node.unschedulable) + 2 * (not node.ready)
        allocatable, requested = node.allocatable.get(self.resource, 0), self.requested[node.name]
        if not (allocatable or requested):
            return _NONE, state
        share = 1000 * requested // allocatable if allocatable else _MOST_SHARE
        return min(_MOST_SHARE, share), state


def read_film(cluster: Cluster, period: Period, *, resource: str = "cpu") -> Film:
    """The film of a period, which has a start.

    It starts with the first state that is known. Raises BadRequest for a period with too much in
    it.
    """
    now = cluster.now()
    since, until = period.since, min(period.until or now, now)
    if since is None:
        raise wrong("since", "is required: when the film starts")
    since = min(max(since, read_life(cluster).first.at), until)
    first = version_before(cluster.pk, since, top=cluster.resource_version)
    state = _State.of(snapshots.at(cluster, first), resource)
    changes = list(_read_changes(cluster, first, until))
    length = max((until - since) / FRAMES, timedelta(seconds=1))
    ends = [since]
    while ends[-1] < until:
        ends.append(min(ends[-1] + length, until))
    names, groups = _arrange(state, changes)
    queue = _read_queue(cluster, since, ends)
    told = _read_lines(cluster, since, until)
    frames = list(_draw(state, names, ends, changes, queue, told, first))
    return Film(since, until, groups, names, [part.label for part in PARTS], frames)


def _read_changes(cluster: Cluster, version: int, until: datetime) -> Iterator[LoggedChange]:
    """The changes of nodes and pods after a version, until a time."""
    number = 0
    while True:
        batch = changelog.changes_after(cluster.pk, version, kinds=("Node", "Pod"), limit=_BATCH)
        for change in batch:
            if change.at >= until:
                return
            number += 1
            if number > MOST_CHANGES:
                raise BadRequest(
                    f"until: a film has at most {MOST_CHANGES:,} changes of nodes and pods; "
                    f"this one has as many until {change.at:%Y-%m-%dT%H:%M:%SZ}: end it there"
                )
            yield change
        if len(batch) < _BATCH:
            return
        version = batch[-1].version


def _arrange(
    state: _State, changes: Sequence[LoggedChange]
) -> tuple[list[str], list[tuple[str, int]]]:
    """The names of all nodes of the film by zone, and the zones with their sizes."""
    nodes = {node.name: node.labels.get(_ZONE, "") for node in state.nodes.values()}
    for change in changes:
        if change.kind == "Node" and change.type == Change.Type.ADDED:
            labels = change.object["metadata"].get("labels") or {}
            nodes[change.name] = labels.get(_ZONE, "")
    ordered = sorted(nodes, key=lambda name: (nodes[name], name))
    sizes = Counter(nodes.values())
    return ordered, [(zone or "no zone", sizes[zone]) for zone in sorted(sizes)]


def _read_queue(
    cluster: Cluster, since: datetime, ends: Sequence[datetime]
) -> list[tuple[int, ...]]:
    """The sizes of the parts of the queue at each time."""
    sizes, _ = count_past_queue(cluster, since)
    counted = Counter({part.value: size for part, size in sizes.items()})
    moves = QueueMove.objects.filter(cluster=cluster, at__gt=since, at__lt=ends[-1])
    rows = list(moves.order_by("at", "id").values_list("at", "source", "target")[:MOST_MOVES])
    found, place = [], 0
    for end in ends:
        while place < len(rows) and rows[place][0] <= end:
            _, source, target = rows[place]
            counted[source] -= 1
            counted[target] += 1
            place += 1
        found.append(tuple(max(0, counted[part.value]) for part in PARTS))
    return found


def _read_lines(cluster: Cluster, since: datetime, until: datetime) -> list[FilmLine]:
    found = read_milestones(cluster, Period(since, until)).milestones
    return [
        FilmLine(
            each.at, each.text, each.user, each.kind, each.version, each.operation, each.revision
        )
        for each in found
        if each.at >= since
    ]


def _draw(
    state: _State,
    names: Sequence[str],
    ends: Sequence[datetime],
    changes: Sequence[LoggedChange],
    queue: Sequence[tuple[int, ...]],
    told: Sequence[FilmLine],
    version: int,
) -> Iterator[Frame]:
    places = {name: place for place, name in enumerate(names)}
    drawn: dict[int, tuple[int, int]] = {}
    state.touched = set(names)
    at_change, at_line = 0, 0
    for end, sizes in zip(ends, queue, strict=True):
        started = at_change
        lines = []
        while at_line < len(told) and told[at_line].at <= end:
            lines.append(told[at_line])
            at_line += 1
        happened: dict[str, list[LoggedChange]] = {}
        while at_change < len(changes) and changes[at_change].at <= end:
            _apply(state, changes[at_change], happened)
            at_change += 1
        if at_change > started:
            version = changes[at_change - 1].version
        lines += [_tell(text, about) for text, about in happened.items()]
        cells = list(_differing(state, places, drawn))
        bound = sum(bool(pod.node) for pod in state.pods.values() if not pod.is_finished)
        pending = sum(not pod.node for pod in state.pods.values() if not pod.is_finished)
        lines.sort(key=lambda line: line.at)
        yield Frame(end, version, cells, bound, pending, sizes, lines)


def _differing(
    state: _State, places: dict[str, int], drawn: dict[int, tuple[int, int]]
) -> Iterator[tuple[int, int, int]]:
    """The cells that differ from what was drawn, which they become."""
    nodes = {node.name: node for node in state.nodes.values()}
    for name in sorted(state.touched & places.keys()):
        cell = state.cell(nodes[name]) if name in nodes else (ABSENT, 0)
        if drawn.get(places[name]) != cell:
            drawn[places[name]] = cell
            yield places[name], *cell
    state.touched = set()


def _apply(state: _State, change: LoggedChange, happened: dict[str, list[LoggedChange]]) -> None:
    """Apply a change; what it means for a pod is added to `happened`."""
    gone = change.type == Change.Type.DELETED
    if change.kind == "Node":
        if gone:
            state.drop_node(change.uid)
        elif isinstance(node := decode_node(change.version, change.text), NodeVersion):
            state.put_node(node)
        return
    before = state.pods.get(change.uid)
    after = None if gone else decode_pod(change.version, change.text)
    if after is None and not gone:
        return
    if text := _describe(change, before, after):
        happened.setdefault(text, []).append(change)
    if after is None:
        state.drop_pod(change.uid)
    else:
        state.put_pod(after)


def _describe(change: LoggedChange, before: PodVersion | None, after: PodVersion | None) -> str:
    """What happened to the pod: a verb with its place, the same for pods to which it happened."""
    if after is None:
        return "" if before is None or before.terminating else "deleted"
    if before is None:
        return "created"
    if after.terminating and not before.terminating:
        where = f" from {after.node}" if after.node else ""
        return f"{_ENDS.get(_reason(change.object), 'ended')}{where}"
    if after.node and not before.node:
        return "bound"
    if after.phase in FINISHED and before.phase not in FINISHED:
        return after.phase.lower()
    return ""


#: The reason of the condition DisruptionTarget -> what happened.
_ENDS: Final = {
    "DeletionByTaintManager": "evicted by a taint",
    "PreemptionByScheduler": "preempted",
    "EvictionByEvictionAPI": "evicted",
    "TerminationByKubelet": "evicted by the kubelet",
    "DeletionByPodGC": "deleted with their node",
}


def _reason(body: dict[str, Any]) -> str:
    conditions = (body.get("status") or {}).get("conditions") or []
    reasons = [each.get("reason") for each in conditions if each["type"] == "DisruptionTarget"]
    return str(reasons[0] or "") if reasons else ""


def _tell(text: str, about: Sequence[LoggedChange]) -> FilmLine:
    first = about[0]
    subject = f"{len(about):,} pods" if len(about) > 1 else f"pod {first.namespace}/{first.name}"
    return FilmLine(first.at, f"{subject} {text}", first.user, version=first.version)
