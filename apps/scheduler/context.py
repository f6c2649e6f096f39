"""What the steps of an attempt work on: the parts of one cluster's scheduler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from apps.scheduler.cache.cache import Cache
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.clock import Clock
from apps.scheduler.framework.client import Client
from apps.scheduler.framework.extender import Extender
from apps.scheduler.framework.runtime import Framework
from apps.scheduler.framework.waiting_pods import WaitingPods
from apps.scheduler.queue.scheduling_queue import PriorityQueue
from apps.scheduler.tie_break import TieBreaker


@dataclass(slots=True, kw_only=True)
class SchedulingContext:
    """Built once by the Scheduler; the scheduling cycle and the binding cycle take it."""

    clock: Clock
    cache: Cache
    #: the nodes as the current cycle sees them; brought up to date when a cycle starts
    snapshot: Snapshot
    queue: PriorityQueue
    #: by schedulerName
    profiles: Mapping[str, Framework]
    #: called in this order, after the profile's plugins
    extenders: Sequence[Extender]
    #: pods held by Permit plugins
    waiting_pods: WaitingPods
    tie_breaker: TieBreaker
    #: of the configuration; a profile's own comes first. 0 and None: adaptive
    percentage_of_nodes_to_score: int | None
    #: whether a search ends at enough feasible nodes; otherwise all are looked at
    samples: bool = True
    #: whether pods take the next nodes of an earlier ranking: see framework.batch
    batches: bool = False
    #: index in the visiting order at which the next search starts
    next_start_node_index: int = 0
    #: to write the status of a PodGroup
    client: Client
    #: runs the slow steps of a binding; None: they run in the scheduler's thread
    executor: Executor | None
    #: called from any thread when a slow step has ended
    on_progress: Callable[[], None]
    #: whether pods are bound; in a simulation they only keep their room
    binds: bool = True
