"""The state that a simulation starts from: the objects of a cluster at one version."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from apps.cluster.models import Cluster, HistoricChange
from apps.engine import queries
from apps.engine.ledger.reading import read
from apps.engine.profiles.schedulers import assemble_scheduler
from apps.engine.queue.past import PastMoment
from apps.scheduler.cache.cache import Cache
from apps.scheduler.cache.node_tree import NodeTree
from apps.scheduler.clock import Clock
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import KubeObject, Node, Pod
from apps.scheduler.scheduler import Scheduler
from apps.scheduler.tie_break import random_draws
from apps.studies.explanations.states import states
from apps.studies.lab.configurations import LabConfiguration
from apps.studies.rebuilding import PastState, rebuild_state_at, rebuild_state_before
from apps.studies.rebuilding.allocating import collections_paused
from apps.studies.rebuilding.following import nominate

#: Called with the number of nodes done, the total, and what comes next.
Progress = Callable[[int, int, str], None]


def ignore_progress(done: int, total: int, message: str) -> None:
    """The default for `progress`: does nothing."""


@dataclass(frozen=True, slots=True)
class LabState:
    """The one state from which everything in the answer follows."""

    cluster: str
    resource_version: int
    #: by the cluster's clock
    at: datetime
    #: the decision whose state this is
    decision: int | None
    #: of the configuration; None for a given one
    revision: int | None
    feature_gates: Mapping[str, bool]


@dataclass(slots=True, repr=False)
class Base:
    """A cluster at one version. Every simulation has its own; the objects in it are shared."""

    cluster: Cluster
    version: int
    #: by the cluster's clock
    at: datetime
    configuration: LabConfiguration
    #: by name, in the order of the rows
    nodes: dict[str, Node]
    #: the order in which nodes are visited
    tree: NodeTree
    #: uid -> pod with a node; its spec names the node
    pods: dict[str, PodInfo]
    #: uid -> pod without a node, of any scheduler
    pending: dict[str, Pod]
    #: (kind, object) of everything else that the scheduler reads
    objects: list[tuple[str, KubeObject]] = field(default_factory=list)
    #: the decision whose state this is
    decision: int | None = None
    #: index in the visiting order at which the first search starts
    start: int = 0

    def on_node(self, name: str) -> list[PodInfo]:
        """The pods on a node, by namespace and name."""
        pods = (pod for pod in self.pods.values() if pod.pod.spec.node_name == name)
        return sorted(pods, key=lambda pod: (pod.namespace, pod.name))


@dataclass(frozen=True, slots=True)
class LabAnswer:
    """What everything that the lab answers has."""

    base: Base

    @property
    def state(self) -> LabState:
        base, configuration = self.base, self.base.configuration
        return LabState(
            base.cluster.name,
            base.version,
            base.at,
            base.decision,
            configuration.revision,
            configuration.feature_gates,
        )


def read_base(cluster: Cluster, moment: PastMoment | None, configuration: LabConfiguration) -> Base:
    """The state at a moment, or the present one; `configuration` is that of the simulation.

    Raises Expired when the change log does not reach back to the moment.
    """
    with _rebuild(cluster, moment, configuration) as state:
        cache = state.scheduler.cache
        base = Base(
            cluster,
            state.version,
            moment.at if moment is not None else cluster.now(),
            configuration,
            nodes={name: info.node for name, info in cache.nodes.items() if info.node is not None},
            tree=copy.deepcopy(cache.node_tree),
            pods={uid: known.pod for uid, known in cache.pods.items()},
            pending={uid: pod for uid, pod in state.pending.items() if uid not in cache.pods},
            objects=[(kind, item) for kind, each in cache.listers.by_kind.items() for item in each],
        )
    if moment is not None and moment.decision is not None:
        base.decision = moment.decision
        base.start = read(queries.decision_numbered(moment.decision, cluster)).decision.start
    return base


@contextmanager
def _rebuild(
    cluster: Cluster, moment: PastMoment | None, configuration: LabConfiguration
) -> Iterator[PastState]:
    """The state, from this process's memory if it has it.

    States in memory show pods by the gates of their own configuration: with other gates, the state
    is rebuilt.
    """
    if configuration.changes_gates:
        if moment is not None and moment.decision is not None:
            row = queries.decision_numbered(moment.decision, cluster)
            yield rebuild_state_before(row, configuration.loaded)
        else:
            version = cluster.resource_version if moment is None else _version_of(cluster, moment)
            yield rebuild_state_at(cluster, version, configuration=configuration.loaded)
    elif moment is None:
        with states.now(cluster) as state:
            yield state
    elif moment.decision is not None:
        with states.before(queries.decision_numbered(moment.decision, cluster)) as state:
            yield state
    else:
        with states.at(cluster, _version_of(cluster, moment)) as state:
            yield state


def _version_of(cluster: Cluster, moment: PastMoment) -> int:
    """The version of a moment that is not a decision: the last change up to its time."""
    if moment.version is not None:
        return moment.version
    changes = HistoricChange.objects.filter(cluster=cluster, at__lte=moment.at)
    last = changes.order_by("-version").values_list("version", flat=True).first()
    return last or 0


def build_scheduler(base: Base, clock: Clock, *, seed: int = 0) -> Scheduler:
    """A scheduler of its own with the nodes and pods of a base; its queue is empty.

    It binds no pods. Extenders get the declared fields of objects, because the objects of a
    simulation are not in the database.
    """
    scheduler = assemble_scheduler(
        base.configuration.loaded,
        clock=clock,
        tie_break=base.cluster.tie_break,
        draws=random_draws(seed),
        binds=False,
    )
    with collections_paused():
        _fill(scheduler.cache, base)
        # the first attempt would do it
        scheduler.snapshot.update(scheduler.cache)
    for waiting in base.pending.values():
        nominate(scheduler, waiting)
    scheduler.context.next_start_node_index = base.start
    return scheduler


def _fill(cache: Cache, base: Base) -> None:
    for kind, item in base.objects:
        cache.listers.by_kind[kind].put(item)
    for node in base.nodes.values():
        cache.add_node(node)
    cache.node_tree = copy.deepcopy(base.tree)
    for pod in base.pods.values():
        cache.add_pod(pod)
