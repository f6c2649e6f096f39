"""The scheduler of one cluster: cache, queue and profiles, and the interface for its owner."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager

from apps.scheduler import binding_cycle
from apps.scheduler.attempt import Attempt, new_attempt
from apps.scheduler.cache.cache import Cache
from apps.scheduler.cache.snapshot import Snapshot
from apps.scheduler.clock import Clock
from apps.scheduler.config.types import Configuration, Profile
from apps.scheduler.context import SchedulingContext
from apps.scheduler.decision import Decision, Result
from apps.scheduler.event_handlers import EventHandlers
from apps.scheduler.extenders.bodies import ObjectBodies, declared_fields
from apps.scheduler.extenders.http import http_extenders
from apps.scheduler.failure import handle_binding_cycle_error, note_failure
from apps.scheduler.framework import activation
from apps.scheduler.framework.client import Client
from apps.scheduler.framework.extender import Extender
from apps.scheduler.framework.extender_calls import record_calls
from apps.scheduler.framework.gated_fields import view_of_pods
from apps.scheduler.framework.handle import Handle
from apps.scheduler.framework.intents import Intent
from apps.scheduler.framework.profile_plugins import PluginFactory
from apps.scheduler.framework.runtime import Framework
from apps.scheduler.framework.status import Status
from apps.scheduler.framework.waiting_pods import WaitingPods
from apps.scheduler.metrics.series import MetricsRegistry
from apps.scheduler.objects import KubeObject, Pod
from apps.scheduler.outgoing.rules import PERSONAL, OutgoingRules
from apps.scheduler.plugins.registry import BUILT_IN
from apps.scheduler.queue.backoff_queue import BackoffRules
from apps.scheduler.queue.hinting import QueueingHintMap, build_queueing_hint_map
from apps.scheduler.queue.nominator import Nominator
from apps.scheduler.queue.records import Observer
from apps.scheduler.queue.scheduling_queue import PriorityQueue, QueuePlugins
from apps.scheduler.schedule_next import schedule_next
from apps.scheduler.schedule_one import end_cycle
from apps.scheduler.tie_break import Draw, TieBreak, TieBreaker, random_draws


class Scheduler:
    """Everything happens in the caller's thread, one pod at a time.

    The owner reports what changed in the cluster (``handle``), asks for decisions
    (``schedule_one``, and ``resolve_waiting`` for those that are not final at once), writes their
    intents, and reports how that went (``bound``, ``bind_failed``). ``tie_break``: which of
    several best nodes is chosen; ``draws`` gives the random numbers for it, by default the same
    ones for each scheduler, so that a run can be repeated.

    ``executor`` runs the slow steps of a binding: extenders, and the PreBind and Bind of plugins
    that are not in the tree; without one, these too run in the caller's thread, which then waits.
    ``on_progress`` is called, from any thread, when ``resolve_waiting`` or ``take_intents`` has
    something new. Objects are sent to extenders as ``bodies`` has them, if ``outgoing`` allows
    their addresses.
    Without ``binds`` a pod with a node only keeps its room: PreBind, Bind and PostBind plugins and
    the ``bind`` of extenders, which may act on something else, are not called.
    ``hurries_groups``: as upstream, a group that does not fit is tried again without a pause while
    nothing else is ready; by default after its backoff.
    """

    def __init__(
        self,
        config: Configuration,
        *,
        clock: Clock,
        tie_break: TieBreak = "random",
        draws: Draw | None = None,
        registry: Mapping[str, PluginFactory] = BUILT_IN,
        bodies: ObjectBodies = declared_fields,
        outgoing: OutgoingRules = PERSONAL,
        executor: Executor | None = None,
        on_progress: Callable[[], None] = lambda: None,
        observer: Observer | None = None,
        hurries_groups: bool = False,
        binds: bool = True,
    ) -> None:
        self.config = config
        self.clock = clock
        self.metrics = MetricsRegistry()
        self.gates = config.gates
        self._view = view_of_pods(self.gates)
        self._registry = registry
        self.cache = Cache(self._view)
        self.snapshot = Snapshot()
        self._http_extenders = http_extenders(config.extenders, self.snapshot, bodies, outgoing)
        #: a replay puts recorded ones in their place
        self.extenders: list[Extender] = [*self._http_extenders]
        self.waiting_pods = WaitingPods(on_progress)
        self._client = Client(on_progress)
        self._nominator = Nominator()
        self._tie_breaker = TieBreaker(tie_break, draws or random_draws(0))
        self.profiles: dict[str, Framework] = {
            profile.scheduler_name: self._build_framework(profile) for profile in config.profiles
        }
        self.queue = self._build_queue(observer, hurries_groups)
        for framework in self.profiles.values():
            framework.handle.activator = self.queue
        #: what the scheduling and the binding cycle work on
        self.context = self._build_context(executor, on_progress, binds=binds)
        self._event_handlers = EventHandlers(
            self.cache,
            self.queue,
            self.metrics,
            profiles=self.profiles,
            pod_deleted=self._pod_deleted,
            completes_gangs=self.gates.enabled("GangScheduling"),
        )
        #: attempts with members of a group that ``schedule_one`` has still to return
        self._of_group: deque[Attempt] = deque()
        #: uid -> attempt, for pods that have a node but are not bound yet
        self._attempts: dict[str, Attempt] = {}
        #: those of them that wait for a slow step of their binding
        self._bindings: dict[str, Attempt] = {}

    def handle(
        self,
        kind: str,
        old: KubeObject | None,
        new: KubeObject | None,
        at: float | None = None,
    ) -> None:
        """An object was created (``old`` None), deleted (``new`` None) or updated.

        ``at`` is the time of the change, in seconds since the epoch; None for now.
        """
        self._event_handlers.handle(kind, old, new, at)

    def schedule_one(self) -> Decision | None:
        """Try the next pod; None when no pod is ready.

        The pods of a group are tried together, and their decisions returned one after the other.

        After a success the pod is assumed and reserved, and ``bound`` or ``bind_failed`` must
        follow; after a failure it is back in the queue. A result that is not final (``WAITING``,
        ``BINDING``) becomes so later: the same decision then comes out of ``resolve_waiting``.
        """
        if not self._of_group:
            self._of_group.extend(schedule_next(self.context))
        return self._note(self._of_group.popleft()) if self._of_group else None

    def schedule_by_hand(
        self, pod: Pod, cycle: Callable[[SchedulingContext, Attempt], Status]
    ) -> Decision | None:
        """Try this pod with another scheduling cycle; None if it is not in the queue, or gated.

        Its backoff does not count. Afterwards everything is as after ``schedule_one``.
        """
        framework = self.profiles.get(pod.spec.scheduler_name)
        queued = self.queue.pop_specific(pod) if framework is not None else None
        if framework is None or queued is None:
            return None
        attempt = new_attempt(framework, queued.pod_info, queued)
        with record_calls(attempt.decision.extender_calls):
            status = cycle(self.context, attempt)
        end_cycle(self.context, attempt, status)
        return self._note(attempt)

    @contextmanager
    def with_profile(self, profile: Profile) -> Iterator[None]:
        """Use ``profile`` in place of the one of that name, until the block ends.

        Attempts in the block use its plugins; the queue still uses those of the known profile.
        """
        name = profile.scheduler_name
        known = self.profiles[name]
        with self._nominator.dropping_listeners():
            changed = self._build_framework(profile)
            changed.handle.activator = self.queue
            self.profiles[name] = changed
            try:
                yield
            finally:
                self.profiles[name] = known

    @property
    def is_within_group(self) -> bool:
        """Whether the next decisions are those of other members of the last pod's group."""
        return bool(self._of_group)

    def resolve_waiting(self) -> list[Decision]:
        """Continue with all held pods that can continue; returns the decisions that are final now.

        These are pods that Permit plugins held and have allowed, rejected or let time out, and
        pods for which a slow step of the binding has ended.
        """
        ended = []
        for waiting in self.waiting_pods:
            attempt = self._attempts[waiting.pod.uid]
            if binding_cycle.resolve_permit(self.context, attempt, waiting):
                ended.append(attempt)
        for attempt in list(self._bindings.values()):
            if binding_cycle.resume_binding(self.context, attempt):
                ended.append(attempt)
        decisions = [self._note(attempt) for attempt in ended]
        return [decision for decision in decisions if decision.result.is_final]

    def assumed_pods(self) -> list[tuple[str, str]]:
        """(uid, node) of the pods that have a node but are not bound yet, oldest first."""
        return [(uid, attempt.decision.node) for uid, attempt in self._attempts.items()]

    def next_deadline(self) -> float | None:
        """When ``resolve_waiting`` has to be called at the latest; None if no pod is held."""
        times = [each.asked_again_at for each in self._bindings.values() if each.running is None]
        permitted = self.waiting_pods.next_deadline()
        return min([*times, permitted] if permitted is not None else times, default=None)

    @property
    def bindings_under_way(self) -> int:
        """Number of pods whose binding runs a step in another thread, or that PreBind holds."""
        return len(self._bindings)

    @property
    def is_binding(self) -> bool:
        """Whether steps of bindings are running in other threads."""
        return any(attempt.running is not None for attempt in self._bindings.values())

    def _pod_deleted(self, uid: str) -> None:
        """End the pod's attempt if it is held by Permit or being bound."""
        waiting = self.waiting_pods.get(uid)
        if waiting is not None:
            waiting.reject("", "removed")
        if uid in self._bindings:
            self._bindings[uid].called_off = binding_cycle.POD_DELETED

    def _call_off_binding(self, uid: str, reason: str) -> bool:
        """Cancel the pod's binding while its PreBind plugins run; False if they do not."""
        attempt = self._bindings.get(uid)
        if attempt is None or attempt.is_prebound:
            return False
        attempt.called_off = reason
        self.context.on_progress()
        return True

    def take_intents(self) -> tuple[Intent, ...]:
        """The writes that plugins requested without a decision, since the last call."""
        return self._client.take()

    def bound(self, decision: Decision) -> None:
        """The decision's intents are written: the binding is done."""
        attempt = self._attempts.pop(decision.pod_uid)
        assert attempt.assumed is not None
        if self.context.binds:
            attempt.framework.run_post_bind_plugins(attempt.state, attempt.assumed, decision.node)
        self.queue.activate(activation.take(attempt.state))
        self.queue.done(decision.pod_uid)

    def bind_failed(self, decision: Decision, status: Status) -> None:
        """The write failed: undo the assumption and retry the pod as after an error."""
        attempt = self._attempts.pop(decision.pod_uid)
        note_failure(attempt, status)
        handle_binding_cycle_error(self.cache, self.queue, attempt, status)

    def close(self) -> None:
        """Close the connections to extenders; the scheduler cannot be used afterwards."""
        for extender in self._http_extenders:
            extender.close()

    def validate(self) -> None:
        """Raise AssertionError if the parts contradict each other; for tests."""
        self.cache.validate()
        for uid in self._attempts:
            assert self.cache.find_pod(uid) is not None

    def _note(self, attempt: Attempt) -> Decision:
        """Store an attempt until it has ended."""
        decision, uid = attempt.decision, attempt.pod.uid
        if decision.result in (Result.UNSCHEDULABLE, Result.ERROR):
            self._attempts.pop(uid, None)
        else:
            self._attempts[uid] = attempt
        if decision.result is Result.BINDING:
            self._bindings[uid] = attempt
        else:
            self._bindings.pop(uid, None)
        return decision

    def _build_framework(self, profile: Profile) -> Framework:
        handle = Handle(
            self.snapshot,
            self.cache.listers,
            self._nominator,
            self.clock,
            waiting_pods=self.waiting_pods,
            client=self._client,
            extenders=self.extenders,
            find_pod=self.cache.find_pod,
            replaced_pods=self.cache.replaced_pods,
            pod_groups=self.cache.pod_groups,
            draw=self._tie_breaker.choose,
            call_off_binding=self._call_off_binding,
            gates=self.gates,
            view=self._view,
        )
        slow = self._registry.keys() - BUILT_IN.keys()
        return Framework(profile, self._registry, handle, slow=slow)

    def _build_context(
        self, executor: Executor | None, on_progress: Callable[[], None], *, binds: bool
    ) -> SchedulingContext:
        return SchedulingContext(
            clock=self.clock,
            cache=self.cache,
            snapshot=self.snapshot,
            queue=self.queue,
            profiles=self.profiles,
            extenders=self.extenders,
            waiting_pods=self.waiting_pods,
            tie_breaker=self._tie_breaker,
            percentage_of_nodes_to_score=self.config.percentage_of_nodes_to_score,
            client=self._client,
            batches=self.gates.enabled("OpportunisticBatching"),
            executor=executor,
            on_progress=on_progress,
            binds=binds,
        )

    def _build_queue(self, observer: Observer | None, hurries_groups: bool) -> PriorityQueue:
        first = next(iter(self.profiles.values()))
        hints: dict[str, QueueingHintMap] = {
            name: build_queueing_hint_map(framework.registered_events())
            for name, framework in self.profiles.items()
        }
        plugins = QueuePlugins(
            rank=first.queue_sort_key,
            pre_enqueue={n: f.pre_enqueue_functions() for n, f in self.profiles.items()},
            awaited={n: f.awaited_functions() for n, f in self.profiles.items()},
            hints=hints,
        )
        backoff = BackoffRules(
            initial_seconds=self.config.pod_initial_backoff_seconds,
            max_seconds=self.config.pod_max_backoff_seconds,
            pops_early=self.gates.enabled("SchedulerPopFromBackoffQ"),
            hurries_groups=hurries_groups,
        )
        return PriorityQueue(
            self.clock,
            plugins,
            backoff=backoff,
            observer=observer,
            metrics=self.metrics,
            nominator=self._nominator,
            view=self._view,
        )
