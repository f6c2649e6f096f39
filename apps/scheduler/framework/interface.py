"""The extension points of a scheduling profile: what a plugin may implement.

A plugin is a class with a ``name`` and any of the methods below; the Protocols say which, in the
order of a scheduling cycle. Columns go in and columns come out: a method about nodes gets
NodeColumns and answers for all of their rows at once. ``None`` in place of a Status is Success, and
in place of Verdicts "every node passes".

NodeColumns are either the whole snapshot or an Overlay: one to a few of its rows, possibly with
pods added or removed. Filter must be right for both, since it is called again for modified nodes:

- *nominated pods*: a row to which pods of equal or higher priority are nominated must pass twice,
  with these pods added and without them;
- *preemption's dry run*: pods of lower priority are removed from a row, and are added again one by
  one as long as the filters pass.

Each time the per-cycle state of plugins that use more than the row itself (topology domains, claims
in use) has to be updated: CycleState is cloned, and AddPod/RemovePod of PreFilterExtensions are
called on the clone for every pod that is added to the overlay or removed from it. Filter then
combines the (cloned) state with its rows. A filter whose plugin has no PreFilterExtensions depends
on nothing but the row, so many rows may be filtered in one overlay; if any active plugin has them,
rows are filtered one at a time, each with its own clone of the state.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from apps.scheduler.framework.cycle_state import CycleState
    from apps.scheduler.framework.diagnosis import Diagnosis, NodeStatuses
    from apps.scheduler.framework.events import ClusterEventWithHint
    from apps.scheduler.framework.node_columns import Int64Array, NodeColumns, UInt16Array
    from apps.scheduler.framework.status import Status
    from apps.scheduler.framework.types import PodInfo
    from apps.scheduler.queue.queued_pod_info import QueuedPodInfo

MAX_NODE_SCORE = 100
MIN_NODE_SCORE = 0


@dataclass(frozen=True, slots=True)
class Verdicts:
    """A filter's answer for every row of a table."""

    #: (n,) uint16, index into ``statuses``; 0 = the node passes
    ids: UInt16Array
    #: entry 0 means success and is never read; there may be unused entries
    statuses: Sequence[Status | None]


@dataclass(frozen=True, slots=True)
class PreFilterResult:
    """Narrows the search: only these nodes can pass. ``node_names`` None = all nodes."""

    node_names: frozenset[str] | None = None

    def merge(self, other: PreFilterResult) -> PreFilterResult:
        """The nodes that both allow."""
        if self.node_names is None:
            return other
        if other.node_names is None:
            return self
        return PreFilterResult(self.node_names & other.node_names)


@dataclass(frozen=True, slots=True)
class NominatingInfo:
    """The new value of the pod's ``status.nominatedNodeName``; "" clears it."""

    nominated_node: str = ""


@dataclass(frozen=True, slots=True)
class Victims:
    """The pods to evict from a node to make room there, the most important first."""

    pods: tuple[PodInfo, ...]
    #: how many of the evictions violate a PodDisruptionBudget
    pdb_violations: int = 0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node on which evicting ``victims`` (keys, the most important first) would make room."""

    node: str
    victims: tuple[str, ...]
    pdb_violations: int = 0
    #: what the node was ranked by, in the order of preemption.ranking.CRITERIA
    figures: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PostFilterResult:
    """The result of PostFilter. ``nominating`` None = do not change the nomination."""

    nominating: NominatingInfo | None = None
    victims: tuple[PodInfo, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    #: the reasons for rows that are no candidates
    node_statuses: NodeStatuses | None = None
    #: names of the equally good candidates, sorted
    ties: tuple[str, ...] = ()
    #: the criterion that decided for the chosen candidate: see preemption.ranking
    decided_by: str = ""
    #: index of the start of the search among the nodes where preemption may help
    offset: int = 0
    #: pods of lower priority that lose their nomination to the chosen node
    displaced: tuple[PodInfo, ...] = ()


class Plugin(Protocol):
    @property
    def name(self) -> str: ...


@runtime_checkable
class EnqueueExtensions(Plugin, Protocol):
    def events_to_register(self) -> Sequence[ClusterEventWithHint]:
        """Events that may make a pod schedulable that this plugin rejected."""


@runtime_checkable
class PreEnqueuePlugin(Plugin, Protocol):
    def pre_enqueue(self, pod: PodInfo) -> Status | None:
        """Anything but success keeps the pod out of activeQ; it is gated by this plugin."""


#: (resource of an event, namespace, name)
AwaitedObject = tuple[str, str, str]


@runtime_checkable
class AwaitingPlugin(PreEnqueuePlugin, Protocol):
    """A PreEnqueue plugin whose answer depends on the pod and on a few objects that it names."""

    def awaited(self, pod: PodInfo) -> frozenset[AwaitedObject]:
        """The objects without whose events PreEnqueue would repeat its answer for this pod."""


@runtime_checkable
class QueueSortPlugin(Plugin, Protocol):
    def sort_key(self, pod: QueuedPodInfo) -> Any:
        """Pods are popped in ascending order of this (totally ordered) key."""


@runtime_checkable
class PreFilterPlugin(Plugin, Protocol):
    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns
    ) -> tuple[PreFilterResult | None, Status | None]:
        """Compute per-cycle data; may narrow the nodes.

        Skip = neither Filter nor AddPod/RemovePod of this plugin are called in this cycle.
        A rejection ends the cycle for all nodes.
        """


@runtime_checkable
class PreFilterExtensions(Plugin, Protocol):
    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, nodes: NodeColumns) -> None:
        """``added`` is now on row 0 of ``nodes`` (an overlay of one row): update ``state``."""

    def remove_pod(
        self, state: CycleState, pod: PodInfo, removed: PodInfo, nodes: NodeColumns
    ) -> None:
        """``removed`` is no longer on row 0 of ``nodes`` (an overlay of one row)."""


class SignPlugin(Plugin, Protocol):
    """A plugin whose pods may be batched: see framework.batch.

    Not inherited. A plugin that filters or scores without ``sign_pod`` ends the batching of all
    pods of its profile. Unlike ``sign``, it has to tell pods apart as kube-scheduler does.
    """

    def sign_pod(self, pod: PodInfo) -> Hashable | None:
        """Equal for pods with the same answers in the same state; None: the pod is not batched."""


@runtime_checkable
class FilterPlugin(Plugin, Protocol):
    def filter(self, state: CycleState, pod: PodInfo, nodes: NodeColumns) -> Verdicts | None:
        """Which rows can take the pod. See the module's docstring for what ``nodes`` may be.

        ``nodes`` contains rows that another plugin rejected before; the answer for them is ignored.
        """


@runtime_checkable
class RowFilter(Plugin, Protocol):
    """A filter that is asked only about rows that no filter before it refused.

    For filters whose cost grows with the number of rows; see framework.per_node.
    """

    def filter_rows(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Verdicts:
        """As FilterPlugin.filter, for ``rows`` only; the answer for other rows is ignored."""


class MeasuringFilter(FilterPlugin, Protocol):
    """A filter that only compares amounts of the row, so that it need not run for each pod there.

    Like ``sign``, ``room`` is not inherited.
    """

    def room(self, state: CycleState, nodes: NodeColumns) -> tuple[Int64Array, Int64Array]:
        """How much of some amounts each row may hold beside the pod.

        Returns (m,) int64, the indices of these amounts as in framework.pod_change.amounts_of, and
        (m, n) int64, the room; a row passes if none of it is negative. Only for a pod that passes
        on some row.
        """


@runtime_checkable
class PostFilterPlugin(Plugin, Protocol):
    def post_filter(
        self, state: CycleState, pod: PodInfo, diagnosis: Diagnosis
    ) -> tuple[PostFilterResult | None, Status]:
        """No node passed: try to make room. Success = a node was nominated; no other is run."""


@runtime_checkable
class PreScorePlugin(Plugin, Protocol):
    def pre_score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Status | None:
        """Compute per-cycle data for scoring ``rows`` of ``nodes``; Skip = no Score."""


@runtime_checkable
class ScorePlugin(Plugin, Protocol):
    def score(
        self, state: CycleState, pod: PodInfo, nodes: NodeColumns, rows: Int64Array
    ) -> Int64Array:
        """(len(rows),) int64: the raw score of each feasible row.

        ``rows`` is ascending. Without NormalizeScore the scores must be in 0..100. The array is
        never changed by the framework and must not be changed by the plugin afterwards. An internal
        error is raised as StatusError.
        """


@runtime_checkable
class NormalizeScorePlugin(Plugin, Protocol):
    def normalize_score(self, state: CycleState, pod: PodInfo, scores: Int64Array) -> Int64Array:
        """The scores of all feasible nodes, normalized to 0..100; a new array or ``scores``."""


@runtime_checkable
class ReservePlugin(Plugin, Protocol):
    """A class with ``is_idle_when_skipped`` promises that its Reserve and PreBind do nothing.

    That is if its PreFilter has returned Skip: then they need not be called. Not inherited.
    """

    def reserve(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """The (assumed) pod will run on the node. After a failure all plugins are unreserved."""

    def unreserve(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """Undo ``reserve``; called in reverse order, also if ``reserve`` was not called."""


@runtime_checkable
class PermitPlugin(Plugin, Protocol):
    def permit(
        self, state: CycleState, pod: PodInfo, node_name: str
    ) -> tuple[Status | None, float]:
        """Allow, reject, or WAIT, for at most so many seconds, to be allowed or rejected."""


@runtime_checkable
class PreBindPlugin(Plugin, Protocol):
    def pre_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Add what has to be written before the binding: ``intents.add(state, ...)``.

        Nothing is written here; the owner of the scheduler commits the decision's intents and the
        binding in one transaction and then calls ``Scheduler.bound`` or ``bind_failed``. A plugin
        from outside the tree may be slow: its PreBind and Bind run in a thread of their own.
        """


@runtime_checkable
class BindPlugin(Plugin, Protocol):
    def bind(self, state: CycleState, pod: PodInfo, node_name: str) -> Status | None:
        """Bind the pod by adding an intent; Skip leaves it to the next bind plugin."""


@runtime_checkable
class PostBindPlugin(Plugin, Protocol):
    def post_bind(self, state: CycleState, pod: PodInfo, node_name: str) -> None:
        """The pod is bound: clean up."""


#: configuration's name of an extension point -> the Protocol a plugin must satisfy for it
EXTENSION_POINTS: Mapping[str, type[Any]] = {
    "preEnqueue": PreEnqueuePlugin,
    "queueSort": QueueSortPlugin,
    "preFilter": PreFilterPlugin,
    "filter": FilterPlugin,
    "postFilter": PostFilterPlugin,
    "preScore": PreScorePlugin,
    "score": ScorePlugin,
    "reserve": ReservePlugin,
    "permit": PermitPlugin,
    "preBind": PreBindPlugin,
    "bind": BindPlugin,
    "postBind": PostBindPlugin,
}


def implements(plugin: object, protocol: Any) -> bool:
    """`isinstance`, which takes a tenth of a millisecond for a protocol before Python 3.12.

    A scheduler is built with a hundred such questions.
    """
    return all(hasattr(plugin, name) for name in _members(protocol))


@cache
def _members(protocol: Any) -> frozenset[str]:
    """The names of the methods and properties that a protocol declares."""
    declaring = [each for each in protocol.__mro__ if getattr(each, "_is_protocol", False)]
    return frozenset(
        name
        for each in declaring
        for name in (*vars(each), *vars(each).get("__annotations__", ()))
        if not name.startswith("_") and each is not Protocol
    )


def implemented_points(plugin: type[Any]) -> frozenset[str]:
    """The extension points whose methods a plugin class has, as configurations name them."""
    return frozenset(
        point
        for point, protocol in EXTENSION_POINTS.items()
        if all(
            callable(getattr(plugin, name, None))
            for name, member in vars(protocol).items()
            if callable(member) and not name.startswith("_")
        )
    )
