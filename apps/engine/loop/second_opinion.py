"""The second opinion: what this scheduler would have decided for a pod that a client has bound.

In a cluster with external scheduling, each binding is reviewed when the loop reads it from the
change log: then cache and nominations are those of the version before it. Nothing is assumed,
reserved or preempted, so the review leaves no trace but its row.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from apps.cluster.log.announce import announcer
from apps.cluster.log.changelog import ObjectChange
from apps.cluster.models import Change, Cluster
from apps.engine.models import SecondOpinion
from apps.engine.opinions import DISAGREEMENTS, list_disagreements
from apps.engine.results.comparison import compare_nodes
from apps.engine.results.scores import score_matrix
from apps.scheduler.attempt import Attempt, new_attempt
from apps.scheduler.decision import Decision, Result
from apps.scheduler.failure import finish_decision
from apps.scheduler.framework.diagnosis import NodeStatuses
from apps.scheduler.framework.status import SUCCESS
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import Pod
from apps.scheduler.schedule_pod import schedule_pod
from apps.scheduler.scheduler import Scheduler

log = logging.getLogger(__name__)

Verdict = SecondOpinion.Verdict


class SecondOpinions:
    """Reviews the bindings of one cluster's clients; `save` stores the reviews."""

    def __init__(self, cluster: Cluster, scheduler: Scheduler, profile_revision: int) -> None:
        self._cluster = cluster
        self._scheduler = scheduler
        self._profile_revision = profile_revision
        self._waiting: list[SecondOpinion] = []

    def review(self, pod: Pod, bound: Pod, change: ObjectChange) -> None:
        """Decide for a pod that `change` binds; the scheduler has not processed the change yet.

        Pods of no scheduler profile, and those that this scheduler has bound itself, are skipped.
        """
        if self._cluster.scheduling != Cluster.Scheduling.EXTERNAL:
            return
        if self._scheduler.cache.is_assumed(pod.metadata.uid):
            return
        decision = decide_in_shadow(self._scheduler, PodInfo(pod))
        if decision is None:
            return
        node = bound.spec.node_name
        verdict = find_verdict(decision, node)
        comparison = None
        if verdict == Verdict.OTHER_NODE:
            comparison = compare_nodes(score_matrix(decision), decision.node, node)
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
                message=comparison.sentence if comparison else _describe(decision, verdict, node),
                comparison=asdict(comparison) if comparison else None,
                nodes=decision.total_nodes,
                feasible_nodes=len(decision.feasible),
                tied_nodes=decision.ranking.tied,
            )
        )

    def save(self) -> None:
        """Store the reviews; one that another worker has stored is not stored again."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        users = self._read_users([each.version for each in waiting])
        for opinion in waiting:
            opinion.user = users.get(opinion.version, "")
        self._warn_of_first(waiting)
        SecondOpinion.objects.bulk_create(waiting, ignore_conflicts=True)
        # pages show the opinions, which are not in the change log
        announcer.announce(self._cluster.pk, waiting[-1].version, due=False)

    def _warn_of_first(self, waiting: Sequence[SecondOpinion]) -> None:
        """Log the first disagreement of the cluster."""
        first = next((each for each in waiting if each.verdict in DISAGREEMENTS), None)
        if first is not None and not list_disagreements(self._cluster).exists():
            log.warning(
                "cluster %s: %s bound pod %s/%s to %s, a second opinion disagrees: %s",
                self._cluster.name,
                first.user or "a client",
                first.namespace,
                first.name,
                first.guest_node,
                first.message,
            )

    def _read_users(self, versions: list[int]) -> Mapping[int, str]:
        changes = Change.objects.filter(cluster=self._cluster, version__in=versions)
        return dict(changes.values_list("version", "user"))


def decide_in_shadow(scheduler: Scheduler, pod: PodInfo) -> Decision | None:
    """What the scheduler would decide for a pod now; its state is the same afterwards.

    PostFilter, Reserve and Permit are not run. None if no profile has the pod's schedulerName.
    """
    framework = scheduler.profiles.get(pod.pod.spec.scheduler_name)
    if framework is None:
        return None
    context = scheduler.context
    attempt, start = new_attempt(framework, pod), context.next_start_node_index
    status = schedule_pod(context, attempt)
    context.next_start_node_index = start
    finish_decision(attempt)
    _set_result(attempt, status is SUCCESS, status.message, is_rejected=status.is_rejected)
    return attempt.decision


def find_verdict(decision: Decision, node: str) -> Verdict:
    """How a shadow decision compares with the node that the client selected."""
    if decision.result is not Result.SCHEDULED:
        return Verdict.UNSCHEDULABLE
    if decision.node == node:
        return Verdict.SAME_NODE
    if node in decision.tied_nodes():
        return Verdict.TIE
    row = decision.nodes.index(node) if node in decision.nodes else -1
    if row in decision.feasible:
        return Verdict.OTHER_NODE
    statuses = decision.node_statuses
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


def _describe(decision: Decision, verdict: Verdict, node: str) -> str:
    """The explanation of a disagreement that is not about points; "" for an agreement."""
    if verdict == Verdict.UNSCHEDULABLE:
        return decision.message
    if verdict == Verdict.NODE_REJECTED:
        status = decision.status_of(node)
        assert status is not None
        return f"{node} is rejected by {status.plugin or 'PreFilter'}: {status.message}."
    if verdict == Verdict.NOT_SAMPLED:
        return f"{node} is not among the nodes that were sampled (percentageOfNodesToScore)."
    return ""
