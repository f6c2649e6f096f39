"""The scheduler of one cluster: cache, queue and profiles, and what its owner may ask of it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Literal

from apps.scheduler import event_handlers, schedule_one
from apps.scheduler.attempt import Attempt
from apps.scheduler.cache.cache import Cache
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.clock import Clock
from apps.scheduler.config.types import Configuration, Profile
from apps.scheduler.decision import Decision, Result
from apps.scheduler.framework.events import EVENT_ASSIGNED_POD_DELETE
from apps.scheduler.framework.extender import Extender
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.nodes import Int64Array
from apps.scheduler.framework.runtime import Framework, PluginFactory
from apps.scheduler.framework.status import Status
from apps.scheduler.framework.waiting_pods import WaitingPods
from apps.scheduler.objects import KubeObject, Pod
from apps.scheduler.plugins.registry import IN_TREE
from apps.scheduler.queue.hinting import QueueingHintMap, build_queueing_hint_map
from apps.scheduler.queue.nominator import Nominator
from apps.scheduler.queue.records import Observer
from apps.scheduler.queue.scheduling_queue import PriorityQueue

TieBreak = Literal["random", "first-name"]


class Scheduler:
    """Everything happens in the caller's thread, one pod at a time.

    The owner tells it what changed in the cluster (``handle``), asks for decisions
    (``schedule_one``), writes what they intend, and says how that went (``bound``,
    ``bind_failed``). ``tie_break``: which of several best nodes is taken; random draws come from
    ``seed`` alone, so a run can be repeated.
    """

    def __init__(
        self,
        config: Configuration,
        *,
        clock: Clock,
        tie_break: TieBreak = "random",
        seed: int = 0,
        registry: Mapping[str, PluginFactory] = IN_TREE,
        extenders: Sequence[Extender] = (),
        observer: Observer | None = None,
    ) -> None:
        self.config = config
        self.clock = clock
        self.tie_break = tie_break
        self.extenders = list(extenders)
        self.percentage_of_nodes_to_score = config.percentage_of_nodes_to_score
        self.cache = Cache()
        self.snapshot = Snapshot()
        self.waiting_pods = WaitingPods()
        #: position in the visiting order at which the next search begins
        self.next_start_node_index = 0
        self._random = random.Random(seed)
        #: uid -> attempt, for pods that have a node but are not bound yet
        self._attempts: dict[str, Attempt] = {}
        self.profiles: dict[str, Framework] = {}
        for profile in config.profiles:
            self.profiles[profile.scheduler_name] = self._build(profile, registry)
        self.queue = self._build_queue(observer)
        for framework in self.profiles.values():
            framework.handle.nominator = self.queue.nominator

    def handle(self, kind: str, old: KubeObject | None, new: KubeObject | None) -> None:
        """Something was added (``old`` None), deleted (``new`` None) or modified."""
        event_handlers.handle(self, kind, old, new)

    def schedule_one(self) -> Decision | None:
        """Try the next pod; None when no pod is ready.

        After a success the pod is assumed and reserved, and ``bound`` or ``bind_failed`` must
        follow; after a failure it is back in the queue.
        """
        attempt = schedule_one.schedule_one(self)
        if attempt is None:
            return None
        return self._note(attempt)

    def resolve_waiting(self) -> list[Decision]:
        """Go on with pods that Permit plugins held and now allowed, rejected or let time out."""
        decisions = []
        for waiting in self.waiting_pods:
            attempt = self._attempts[waiting.pod.uid]
            rejection = waiting.outcome(self.clock.now())
            if rejection is not None:
                decisions.append(self._reject_waiting(attempt, rejection))
            elif not waiting.deadlines:
                self.waiting_pods.release(waiting.pod.uid)
                status = schedule_one.binding_cycle(self, attempt)
                if not status.is_success:
                    schedule_one.handle_scheduling_failure(self, attempt, status)
                decisions.append(self._note(attempt))
        return decisions

    def bound(self, decision: Decision) -> None:
        """The decision's intents are written: the binding is done."""
        attempt = self._attempts.pop(decision.pod_uid)
        assert attempt.assumed is not None
        self.cache.finish_binding(decision.pod_uid)
        attempt.framework.run_post_bind_plugins(attempt.state, attempt.assumed, decision.node)
        self.queue.done(decision.pod_uid)

    def bind_failed(self, decision: Decision, status: Status) -> None:
        """Writing failed: give the room back and retry the pod as after an error."""
        attempt = self._attempts.pop(decision.pod_uid)
        assert attempt.assumed is not None
        assumed = attempt.assumed
        schedule_one.unreserve_and_forget(self, attempt)
        self.queue.move_all_to_active_or_backoff_queue(EVENT_ASSIGNED_POD_DELETE, old=assumed.pod)
        schedule_one.note_rejection(attempt, status)
        schedule_one.handle_scheduling_failure(self, attempt, status)

    def draw(self, ties: Int64Array) -> int:
        """Which of the tied rows is taken."""
        if len(ties) == 1:
            return 0
        if self.tie_break == "first-name":
            return int(self.snapshot.name_rank[ties].argmin())
        return self._draw_one_of(len(ties))

    def _draw_one_of(self, choices: int) -> int:
        """The place of one of several things that nothing tells apart, listed by name."""
        if choices == 1 or self.tie_break == "first-name":
            return 0
        return self._random.randrange(choices)

    def validate(self) -> None:
        """Raise AssertionError if the parts contradict each other; for tests."""
        self.cache.validate()
        for uid in self._attempts:
            assert self.cache.find_pod(uid) is not None

    def _note(self, attempt: Attempt) -> Decision:
        decision = attempt.decision
        if decision.result in (Result.SCHEDULED, Result.WAITING):
            self._attempts[decision.pod_uid] = attempt
        else:
            self._attempts.pop(decision.pod_uid, None)
        return decision

    def _reject_waiting(self, attempt: Attempt, rejection: Status) -> Decision:
        assert attempt.assumed is not None
        assumed = attempt.assumed
        schedule_one.unreserve_and_forget(self, attempt)
        schedule_one.note_rejection(attempt, rejection)
        schedule_one.finish_decision(attempt)
        schedule_one.handle_scheduling_failure(self, attempt, rejection)

        def is_another(pod: Pod) -> bool:
            return pod.metadata.uid != assumed.uid

        self.queue.move_all_to_active_or_backoff_queue(
            EVENT_ASSIGNED_POD_DELETE, old=assumed.pod, pre_check=is_another
        )
        return self._note(attempt)

    def _build(self, profile: Profile, registry: Mapping[str, PluginFactory]) -> Framework:
        handle = Handle(
            self.snapshot,
            self.cache.listers,
            Nominator(),
            self.clock,
            waiting_pods=self.waiting_pods,
            extenders=self.extenders,
            find_pod=self.cache.find_pod,
            draw=self._draw_one_of,
        )
        return Framework(profile, registry, handle)

    def _build_queue(self, observer: Observer | None) -> PriorityQueue:
        first = next(iter(self.profiles.values()))
        hints: dict[str, QueueingHintMap] = {
            name: build_queueing_hint_map(framework.registered_events())
            for name, framework in self.profiles.items()
        }
        return PriorityQueue(
            self.clock,
            rank=first.queue_sort_key,
            pre_enqueue={n: f.pre_enqueue_functions() for n, f in self.profiles.items()},
            hints=hints,
            namespace_labels=self._namespace_labels,
            pod_initial_backoff_seconds=self.config.pod_initial_backoff_seconds,
            pod_max_backoff_seconds=self.config.pod_max_backoff_seconds,
            observer=observer,
        )

    def _namespace_labels(self, namespace: str) -> Mapping[str, str]:
        known = self.cache.listers.namespaces.get(namespace)
        return known.metadata.labels if known is not None else {}
