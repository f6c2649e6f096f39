"""The second opinion: what this scheduler would have decided for a pod that a client has bound.

In a cluster with external scheduling, each binding is reviewed when the loop reads it from the
change log: then cache and nominations are those of the version before it. So is each answer of the
client that no node is feasible. Nothing is assumed, reserved or preempted, so the review leaves no
trace but its row.

    binding ──▶ the state before it ──▶ agrees: stored
                       │
                       └──▶ held until the bindings that were decided before it are read, too
                                └──▶ other orders, earlier states ──▶ one agrees, or none: stored
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from typing import Final

from apps.cluster.log.announce import announcer
from apps.cluster.log.changelog import ObjectChange
from apps.cluster.models import Change, Cluster
from apps.engine.loop.guest_pods import AssumedPod, GuestPods, WaitingPod
from apps.engine.loop.hindsight import Entry, Journal, Order, Others, is_nominated, list_states
from apps.engine.models import SecondOpinion
from apps.engine.opinions import AGREEMENTS, DISAGREEMENTS, list_disagreements
from apps.engine.results.comparison import compare_nodes
from apps.engine.results.scores import score_matrix
from apps.scheduler.attempt import Attempt, new_attempt
from apps.scheduler.decision import Decision, Result
from apps.scheduler.event_handlers import takes_room
from apps.scheduler.failure import finish_decision
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.status import SUCCESS
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import KubeObject, Pod
from apps.scheduler.schedule_pod import feasible_nodes_needed, schedule_pod
from apps.scheduler.scheduler import Scheduler

log = logging.getLogger(__name__)

Verdict = SecondOpinion.Verdict

#: A binding is held so long for others that may have been decided before it.
_HOLD_SECONDS: Final = 5.0
#: HeldAddresses bindings are judged for so long before the loop goes on.
_JUDGE_SECONDS: Final = 0.5
#: All of them are judged when so many are held: the changes since then must be known.
_MOST_HELD: Final = 2000
#: Pods that an explanation names.
_NAMED: Final = 3


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the client has decided: a node, or that there is none, and why."""

    node: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class _Held:
    """An answer that the state before it does not explain."""

    change: ObjectChange
    waiting: WaitingPod
    answer: _Answer
    #: the version in which the client has decided, at the latest
    upto: int
    #: what was decided in that state, if it is known
    first: Decision | None
    since: float


class SecondOpinions:
    """Reviews the bindings of one cluster's clients; `save` stores the reviews."""

    def __init__(self, cluster: Cluster, scheduler: Scheduler, profile_revision: int) -> None:
        self._cluster = cluster
        self._scheduler = scheduler
        self._profile_revision = profile_revision
        self._waiting: list[SecondOpinion] = []
        self._begin()

    def _begin(self) -> None:
        """Follow the changes from now on."""
        cache = self._scheduler.cache
        self._journal = Journal(cache, self._scheduler.queue.nominator)
        self._pods = GuestPods(cache.listers)
        self._held: list[_Held] = []

    def take_in(
        self, kind: str, old: KubeObject | None, new: KubeObject | None, change: ObjectChange
    ) -> None:
        """A change that the scheduler processes next; it is reviewed if it binds a pod.

        Pods of no scheduler profile, and those that this scheduler has bound itself, are skipped.
        """
        if self._cluster.scheduling != Cluster.Scheduling.EXTERNAL:
            if self._journal:
                # what happens now is not noted: the cache cannot be set back any more
                self._begin()
            return
        born = decided = -1
        if isinstance(old, Pod) and isinstance(new, Pod) and _binds(old, new):
            waiting = self._pods.take(old)
            born, decided = waiting.born, waiting.decided or change.version
            if not self._scheduler.cache.is_assumed(change.uid):
                self._review(waiting, _Answer(new.spec.node_name), change)
        else:
            if isinstance(old, Pod) and isinstance(new, Pod) and (why := _rejection(old, new)):
                self._review(self._pods.see(old), _Answer("", why), change)
            self._pods.handle(kind, old, new, change.version)
        if born >= 0 or self._matters(kind, old, new):
            self._journal.add(Entry(change.version, kind, old, new, born, decided))

    def _matters(self, kind: str, old: KubeObject | None, new: KubeObject | None) -> bool:
        """Whether a change may change a decision."""
        if kind != "Pod":
            return kind == "Node" or kind in self._scheduler.cache.listers.by_kind
        assert old is None or isinstance(old, Pod)
        assert new is None or isinstance(new, Pod)
        if old and new and takes_room(old) and takes_room(new):
            return not PodInfo(old).has_same_footprint(PodInfo(new))
        if old and new and is_nominated(old) and is_nominated(new):
            return old.status.nominated_node_name != new.status.nominated_node_name
        return any(takes_room(pod) or is_nominated(pod) for pod in (old, new))

    def _review(self, waiting: WaitingPod, answer: _Answer, change: ObjectChange) -> None:
        first = None
        if not waiting.decided:
            first = decide_in_shadow(self._scheduler, PodInfo(waiting.pod))
            if first is None:
                return
            if self._compare(first, answer) not in DISAGREEMENTS:
                self._add(change, answer, first)
                return
        elif waiting.pod.spec.scheduler_name not in self._scheduler.profiles:
            return
        upto = (waiting.decided or change.version) - 1
        self._held.append(_Held(change, waiting, answer, upto, first, time.monotonic()))

    def save(self, *, quiet: bool = False) -> bool:
        """Store the reviews; True if some are ready but not stored yet.

        One that another worker has stored is not stored again. `quiet`: no binding is expected.
        """
        left = self._judge_held(quiet=quiet) if self._held else False
        if not self._waiting:
            return left
        waiting, self._waiting = sorted(self._waiting, key=attrgetter("version")), []
        users = self._read_users([each.version for each in waiting])
        for opinion in waiting:
            opinion.user = users.get(opinion.version, "")
        self._warn_of_first(waiting)
        SecondOpinion.objects.bulk_create(waiting, ignore_conflicts=True)
        # pages show the opinions, which are not in the change log
        announcer.announce(self._cluster.pk, waiting[-1].version, due=False)
        return left

    def _judge_held(self, *, quiet: bool) -> bool:
        """Judge the bindings for which nothing else is expected; True if the time was too short."""
        oldest, now = self._pods.oldest(), time.monotonic()
        ready: list[_Held] = []
        kept: list[_Held] = []
        for held in self._held:
            is_complete = oldest is None or oldest > held.upto
            is_ready = quiet or is_complete or now - held.since >= _HOLD_SECONDS
            (ready if is_ready else kept).append(held)
        # the cache goes back step by step
        ready.sort(key=lambda each: -each.upto)
        try:
            for number, held in enumerate(ready):
                is_late = time.monotonic() - now > _JUDGE_SECONDS
                if is_late and len(kept) + len(ready) - number < _MOST_HELD:
                    kept += ready[number:]
                    return True
                self._judge(held)
        finally:
            self._held = kept
            self._journal.go_to_end()
        return False

    def _judge(self, held: _Held) -> None:
        """Find out whether any state in which the client can have decided explains its answer."""
        pod, answer, born = held.waiting.pod, held.answer, held.waiting.born
        first, assumed = held.first, [*map(_entry_of, self._pods.assumed())]
        for state in (held.upto, *list_states(self._journal, born, held.upto)):
            self._journal.go_to(state)
            others = Others(self._journal, assumed, pod, born, state)
            ours = first.node if first is not None else ""
            nodes = (answer.node, ours) if ours else (answer.node,)
            for number, order in enumerate(others.list_orders(nodes)):
                decision = self._decide(pod, order)
                first = first or decision
                verdict = self._compare(decision, answer)
                if verdict in DISAGREEMENTS:
                    continue
                # the first is what the log shows
                if verdict in AGREEMENTS and (state < held.upto or number):
                    verdict = Verdict.ORDER if state == held.upto else Verdict.MOVED_ON
                why = _explain(order, nodes, state if state != held.upto else None)
                known = verdict in (Verdict.ORDER, Verdict.MOVED_ON)
                self._add(held.change, answer, decision, verdict, why if known else "")
                return
        assert first is not None
        self._add(held.change, answer, first)

    def _decide(self, pod: Pod, order: Order) -> Decision:
        """What the scheduler would decide if the pods had been bound in another order."""
        cache, nominator = self._scheduler.cache, self._scheduler.queue.nominator
        taken = cache.take_out(
            [cache.pods[e.uid].pod for e in order.without if e.uid in cache.pods]
        )
        added = [each for each in order.beside if each.uid not in cache.pods]
        nominated = [n for each in added if (n := nominator.get(each.uid)) is not None]
        for entry in added:
            # as in a scheduler: an assumed pod is no longer nominated
            nominator.delete(entry.uid)
            cache.add_pod(PodInfo(entry.pod))
        decision = decide_in_shadow(self._scheduler, PodInfo(pod))
        for entry in added:
            cache.remove_pod(entry.uid)
        for nomination in nominated:
            nominator.add(nomination.pod_info, nomination.node_name)
        cache.put_back(taken)
        assert decision is not None
        return decision

    def _add(
        self,
        change: ObjectChange,
        answer: _Answer,
        decision: Decision,
        verdict: Verdict | None = None,
        message: str = "",
    ) -> None:
        node = answer.node
        verdict = verdict or self._compare(decision, answer)
        comparison = None
        if verdict == Verdict.OTHER_NODE:
            comparison = compare_nodes(score_matrix(decision), decision.node, node)
            message = comparison.sentence if comparison else ""
        self._waiting.append(
            SecondOpinion(
                cluster=self._cluster,
                version=change.version,
                at=change.at,
                pod_uid=change.uid,
                namespace=change.namespace,
                name=change.name,
                profile_revision=self._profile_revision,
                scheduler_name=decision.profile,
                verdict=verdict,
                guest_node=node,
                node=decision.node,
                message=message or _describe(decision, verdict, answer),
                comparison=asdict(comparison) if comparison else None,
                nodes=decision.total_nodes,
                feasible_nodes=len(decision.feasible),
                tied_nodes=decision.ranking.tied,
            )
        )

    def _compare(self, decision: Decision, answer: _Answer) -> Verdict:
        context = self._scheduler.context
        framework = context.profiles[decision.profile]
        needed = feasible_nodes_needed(context, framework, decision.total_nodes)
        return find_verdict(decision, answer, may_sample=needed < len(decision.feasible))

    def _warn_of_first(self, waiting: Sequence[SecondOpinion]) -> None:
        """Log the first disagreement of the cluster."""
        first = next((each for each in waiting if each.verdict in DISAGREEMENTS), None)
        if first is not None and not list_disagreements(self._cluster).exists():
            log.warning(
                "cluster %s: %s %s pod %s/%s%s, a second opinion disagrees: %s",
                self._cluster.name,
                first.user or "a client",
                "bound" if first.guest_node else "rejected",
                first.namespace,
                first.name,
                first.guest_node and f" to {first.guest_node}",
                first.message,
            )

    def _read_users(self, versions: list[int]) -> Mapping[int, str]:
        changes = Change.objects.filter(cluster=self._cluster, version__in=versions)
        return dict(changes.values_list("version", "user"))


def _entry_of(assumed: AssumedPod) -> Entry:
    """A pod that is not bound, as if it was bound when that was known, or will be next."""
    version = sys.maxsize if assumed.ended is None else assumed.ended
    return Entry(version, "Pod", None, assumed.pod, assumed.born, assumed.decided)


def _binds(old: Pod, new: Pod) -> bool:
    return bool(new.spec.node_name) and not old.spec.node_name


def _rejection(old: Pod, new: Pod) -> str:
    """The message with which the client has just rejected a pod; "" if it has not."""
    messages = [
        next(
            (
                each.message
                for each in pod.status.conditions
                if each.type == "PodScheduled" and each.reason == "Unschedulable"
            ),
            "",
        )
        for pod in (old, new)
    ]
    return "" if new.spec.node_name or messages[0] == messages[1] else messages[1]


def _begins_with(message: str, reasons: str) -> bool:
    """Whether a message gives these reasons; what PostFilter plugins say follows them."""
    return message.startswith(reasons) and message[len(reasons) :].lstrip()[:1] in ("", ".")


def _explain(order: Order, nodes: Sequence[str], state: int | None) -> str:
    """What the client has not read yet, and what it has decided before."""
    causes = []
    if order.without:
        causes.append(f"before {_name(order.without, nodes)}, bound earlier")
    if order.beside:
        causes.append(f"after {_name(order.beside, nodes)}, bound later")
    order_text = f"Decided {' and '.join(causes)}" if causes else ""
    if state is None:
        return f"{order_text}."
    moved = f"explained by the state at version {state}, before other changes"
    return f"{order_text}; {moved}." if causes else f"{moved[0].upper()}{moved[1:]}."


def _name(entries: Iterable[Entry], nodes: Sequence[str]) -> str:
    """The pods, those on these nodes first."""
    listed = sorted(entries, key=lambda each: each.node not in nodes)
    names = [f"{each.pod.key} on {each.node}" for each in listed[:_NAMED]]
    more = len(listed) - len(names)
    if more:
        return f"{', '.join(names)} and {more} more"
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def decide_in_shadow(scheduler: Scheduler, pod: PodInfo) -> Decision | None:
    """What the scheduler would decide for a pod now; its state is the same afterwards.

    All nodes are looked at: which ones the client has sampled is not known. PostFilter, Reserve and
    Permit are not run. None if no profile has the pod's schedulerName.
    """
    framework = scheduler.profiles.get(pod.pod.spec.scheduler_name)
    if framework is None:
        return None
    context = scheduler.context
    attempt, start = new_attempt(framework, pod), context.next_start_node_index
    context.samples = False
    try:
        status = schedule_pod(context, attempt)
    finally:
        context.samples, context.next_start_node_index = True, start
    finish_decision(attempt)
    _set_result(attempt, status is SUCCESS, status.message, is_rejected=status.is_rejected)
    return attempt.decision


def find_verdict(decision: Decision, answer: _Answer, *, may_sample: bool) -> Verdict:
    """How a shadow decision compares with that of the client.

    `may_sample`: the client need not have looked at all feasible nodes.
    """
    node = answer.node
    if not node:
        if decision.result is Result.SCHEDULED:
            return Verdict.FEASIBLE
        is_same = _begins_with(answer.message, decision.message.rstrip(". "))
        return Verdict.SAME_REASONS if is_same else Verdict.OTHER_REASONS
    if decision.result is not Result.SCHEDULED:
        return Verdict.UNSCHEDULABLE
    if decision.node == node:
        return Verdict.SAME_NODE
    if node in decision.tied_nodes():
        return Verdict.TIE
    row = decision.nodes.index(node) if node in decision.nodes else -1
    statuses = decision.node_statuses
    if row in decision.feasible:
        # the client need not have sampled the node that has more points
        return Verdict.NOT_SAMPLED if may_sample else Verdict.OTHER_NODE
    if statuses is None or row < 0 or statuses.ids[row] == NodeStatuses.NOT_EVALUATED:
        return Verdict.NOT_SAMPLED
    return Verdict.NODE_REJECTED


def _set_result(attempt: Attempt, succeeded: bool, message: str, *, is_rejected: bool) -> None:
    decision = attempt.decision
    if succeeded:
        decision.result = Result.SCHEDULED
        return
    decision.result = Result.UNSCHEDULABLE if is_rejected else Result.ERROR
    decision.message = decision.filter_message or message


def _describe(decision: Decision, verdict: Verdict, answer: _Answer) -> str:
    """The explanation of a disagreement that is not about points; "" for an agreement."""
    node = answer.node
    if verdict == Verdict.FEASIBLE:
        return f"{decision.node} is feasible; rejected with: {answer.message}"
    if verdict == Verdict.OTHER_REASONS:
        return f"{decision.message} Rejected with: {answer.message}"
    if verdict == Verdict.UNSCHEDULABLE:
        return decision.message
    if verdict == Verdict.NODE_REJECTED:
        status = decision.status_of(node)
        assert status is not None
        return f"{node} is rejected by {status.plugin or 'PreFilter'}: {status.message}."
    if verdict == Verdict.NOT_SAMPLED:
        if node in decision.nodes and decision.nodes.index(node) in decision.feasible:
            why = f"has more points than {node}, but the client need not have sampled it"
            return f"{decision.node} {why} (percentageOfNodesToScore)."
        return f"{node} was not looked at."
    return ""
