"""Finding the node for one pod: filter, stop when enough nodes are feasible, score, choose.

PreFilter and Filter (with extenders) leave the feasible nodes, PreScore and Score (with extenders)
rank them, and one of the best is chosen. Every step writes what it found into the attempt's
decision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np

from apps.scheduler.attempt import Attempt
from apps.scheduler.context import SchedulingContext
from apps.scheduler.framework.diagnosis import (
    NO_NODES_AVAILABLE,
    Diagnosis,
    NodeStatuses,
    fit_error_message,
)
from apps.scheduler.framework.extender import (
    EXTENDER_NAME,
    MAX_EXTENDER_PRIORITY,
    ExtenderError,
)
from apps.scheduler.framework.interface import MAX_NODE_SCORE, PreFilterResult
from apps.scheduler.framework.node_columns import Int64Array
from apps.scheduler.framework.node_search import ScoredNodes, Ties
from apps.scheduler.framework.overlay import MAX_PART, BareNodes
from apps.scheduler.framework.plugin_scores import ScoreColumn
from apps.scheduler.framework.ranking import Ranking
from apps.scheduler.framework.reuse.signed_results import Repetition
from apps.scheduler.framework.reuse.signed_scores import Cycle
from apps.scheduler.framework.runtime import Framework
from apps.scheduler.framework.status import (
    SUCCESS,
    Status,
    StatusError,
    error,
    unresolvable,
    unschedulable,
)
from apps.scheduler.framework.stopwatch import Stopwatch
from apps.scheduler.framework.summary import Summary
from apps.scheduler.framework.verdicts import Passed

#: a smaller cluster is searched completely; in others at least so many feasible nodes are sought
MIN_FEASIBLE_NODES_TO_FIND: Final = 100
MIN_FEASIBLE_NODES_PERCENTAGE: Final = 5
_ADAPTIVE_START_PERCENTAGE: Final = 50
_NODES_PER_PERCENT: Final = 125


def schedule_pod(context: SchedulingContext, attempt: Attempt) -> Status:
    """PreFilter, Filter, PreScore, Score, and the choice; ``decision.node`` on success."""
    snapshot, decision = context.snapshot, attempt.decision
    snapshot.update(context.cache)
    decision.nodes = snapshot.names
    decision.total_nodes = snapshot.total_nodes
    if not snapshot.total_nodes:
        return unresolvable(NO_NODES_AVAILABLE)
    if context.batches and attempt.queued is not None:
        look_for_batch(context, attempt)
    attempt.search = attempt.framework.search_for(attempt.pod, snapshot)
    try:
        ties = attempt.search.find(PodWalk(context, attempt))
    except StatusError as failure:
        attempt.diagnosis = None
        return failure.status
    except ExtenderError as failure:
        attempt.diagnosis = None
        return error(str(failure))
    if ties is None:
        return unschedulable(decision.filter_message)
    if decision.hint is not None and decision.is_batched:
        decision.node = decision.hint.node
    else:
        select_host(context, attempt, ties)
    if context.batches and attempt.queued is not None:
        keep_for_batch(context, attempt)
    return SUCCESS


class PodWalk(msgspec.Struct, eq=False):
    """The cycle of one attempt: see framework.node_search.Walk."""

    context: SchedulingContext
    attempt: Attempt

    def run(self) -> Ties | None:
        context, attempt = self.context, self.attempt
        find_nodes_that_fit_pod(context, attempt)
        if not len(attempt.decision.feasible):
            return None
        return prioritize_nodes(context, attempt) if not attempt.decision.is_batched else ()

    def repeatable(self) -> tuple[Cycle, int] | None:
        context, attempt, snapshot = self.context, self.attempt, self.context.snapshot
        pod, framework = attempt.pod, attempt.framework
        filters = framework.filters
        if pod.pod.status.nominated_node_name or filters.nominated_pods(pod, snapshot) is not None:
            return None
        enough = feasible_nodes_needed(context, framework, snapshot.total_nodes)
        return Cycle(attempt.state, pod, snapshot, filters), enough

    def accept(self, repetition: Repetition) -> Ties | None:
        context, attempt = self.context, self.attempt
        if attempt.continues:
            last = context.snapshot.row_of(attempt.framework.batch.last_node)
            if last >= 0 and repetition.statuses.ids[last] != NodeStatuses.FEASIBLE:
                # The next node of the batch comes first.
                return None
        decision, left, scores = attempt.decision, repetition.passed, repetition.scores
        attempt.diagnosis = diagnosis = Diagnosis(repetition.statuses)
        for status in left.summary.statuses:
            diagnosis.add_plugin(status)
        decision.node_statuses, decision.feasible = repetition.statuses, left.feasible
        count_evaluated(context, attempt, left.feasible.size + left.summary.rejected)
        decision.scores, decision.ranking = scores.columns, scores.ranking
        return scores.ties


def count_evaluated(context: SchedulingContext, attempt: Attempt, nodes: int) -> None:
    """So many nodes were filtered; the next search starts after them."""
    decision = attempt.decision
    decision.start, decision.evaluated = context.next_start_node_index, nodes
    context.next_start_node_index = (decision.start + nodes) % context.snapshot.total_nodes


# -- batches: see framework.batch ----------------------------------------------------------------


def look_for_batch(context: SchedulingContext, attempt: Attempt) -> None:
    """Sign the pod, and see whether it may continue the batch of its profile."""
    batch = attempt.framework.batch
    attempt.signature = batch.sign(attempt.pod)
    if attempt.signature is not None:
        attempt.continues = batch.may_continue(
            attempt.signature, context.queue.scheduling_cycle, context.clock.now()
        )


def take_from_batch(context: SchedulingContext, attempt: Attempt) -> None:
    """``decision.hint``: the next node of the batch, if the pod does not fit on its last one.

    A nominated node comes first; the node of the batch is then lost.
    """
    snapshot, batch = context.snapshot, attempt.framework.batch
    row = snapshot.row_of(batch.last_node)
    if row < 0:
        return
    # As upstream, pods that are nominated to that node do not count.
    part = snapshot.part(np.array([row], dtype=np.int64))
    try:
        last = attempt.framework.filters.run_filter_plugins(attempt.state, attempt.pod, part)
    except StatusError:
        return
    if last.ids[0] == NodeStatuses.FEASIBLE:
        return
    hint = batch.pop(context.tie_breaker.choose_name)
    attempt.hinted = hint.node
    if not attempt.pod.pod.status.nominated_node_name:
        attempt.decision.hint = hint


def keep_for_batch(context: SchedulingContext, attempt: Attempt) -> None:
    """Keep the ranking of the decision, which has a node, for the next pod."""
    batch = attempt.framework.batch
    if attempt.signature is None and batch.kept is None:
        return
    batch.keep(
        attempt.signature,
        attempt.hinted,
        attempt.decision,
        context.queue.scheduling_cycle,
        context.clock.now(),
    )


# -- which nodes fit -----------------------------------------------------------------------------


def find_nodes_that_fit_pod(context: SchedulingContext, attempt: Attempt) -> None:
    """PreFilter and Filter: ``decision.feasible`` and the diagnosis.

    Raises StatusError if a plugin fails; one that rejects the pod or a node is no failure.
    """
    decision, snapshot = attempt.decision, context.snapshot
    attempt.diagnosis = diagnosis = Diagnosis(NodeStatuses.empty(0))
    narrowed, outcome, narrowing = attempt.search.pre_filter(attempt, snapshot)
    diagnosis.unschedulable_plugins |= narrowing
    decision.pre_filter = outcome
    if not outcome.is_success:
        if not outcome.is_rejected:
            raise StatusError(outcome)
        diagnosis.node_statuses = NodeStatuses.empty(len(snapshot))
        diagnosis.node_statuses.absent = outcome
        diagnosis.pre_filter_message = outcome.message
        diagnosis.add_plugin(outcome)
    else:
        decision.pre_filter_nodes = narrowed.node_names
        if attempt.continues:
            take_from_batch(context, attempt)
        refused = evaluate_nominated_node(context, attempt)
        if not len(decision.feasible):
            evaluate_nodes(context, attempt, narrowed, refused)
    if not len(decision.feasible):
        decision.filter_message = fit_error_message(diagnosis, snapshot.total_nodes)


@dataclass(frozen=True, slots=True)
class RefusedNode:
    """A node that was tried before all others, and refused."""

    row: int
    status: Status


def evaluate_nominated_node(context: SchedulingContext, attempt: Attempt) -> RefusedNode | None:
    """Try the node to which the pod is nominated, or that of a batch; if it fits, no other.

    Its refusal counts in the search that follows. None if it fits or could not be evaluated.
    """
    hint = attempt.decision.hint
    nominated = attempt.pod.pod.status.nominated_node_name
    row = context.snapshot.row_of(nominated or (hint.node if hint is not None else ""))
    if row < 0:
        return None
    rows = np.array([row], dtype=np.int64)
    try:
        passed = find_nodes_that_pass_filters(context, attempt, rows)
        note_plugins(attempt, passed.summary)
        statuses = passed.shown()
        feasible = find_nodes_that_pass_extenders(context, attempt, statuses, passed.feasible)
    except (StatusError, ExtenderError):
        return None
    if not len(feasible):
        status = statuses.at(row)
        assert status is not None
        return RefusedNode(row, status)
    attempt.decision.nominated_fast_path = True
    attempt.decision.feasible = feasible
    attempt.decision.evaluated = 1
    note_statuses(attempt, statuses, passed.summary)
    return None


def evaluate_nodes(
    context: SchedulingContext,
    attempt: Attempt,
    narrowed: PreFilterResult,
    refused: RefusedNode | None,
) -> None:
    """Filter the nodes that PreFilter allows, starting where the last search ended."""
    snapshot, decision, diagnosis = context.snapshot, attempt.decision, attempt.diagnosis
    assert diagnosis is not None
    rows: Int64Array | None = None
    if narrowed.node_names is not None:
        rows = np.array(
            sorted(row for name in narrowed.node_names if (row := snapshot.row_of(name)) >= 0),
            dtype=np.int64,
        )
    passed = find_nodes_that_pass_filters(context, attempt, rows)
    feasible, statuses = passed.feasible, passed.shown()
    if rows is not None:
        # As upstream: those that narrowed the nodes, and the one that refused the nominated node.
        plugins = " ".join(sorted(diagnosis.unschedulable_plugins))
        statuses.absent = unresolvable(f"node(s) didn't satisfy plugin(s) [{plugins}]")
    evaluated = len(feasible) + passed.summary.rejected
    note_statuses(attempt, statuses, passed.summary)
    if refused is not None and statuses.ids[refused.row] <= NodeStatuses.FEASIBLE:
        evaluated += 1
        if statuses.ids[refused.row] == NodeStatuses.NOT_EVALUATED:
            statuses.set(refused.row, refused.status)
    count_evaluated(context, attempt, evaluated)
    decision.feasible = find_nodes_that_pass_extenders(context, attempt, statuses, feasible)
    if len(decision.feasible) < len(feasible):
        diagnosis.unschedulable_plugins.add(EXTENDER_NAME)


def note_statuses(attempt: Attempt, statuses: NodeStatuses, summary: Summary) -> None:
    """Enter the filters' answers into the diagnosis and the decision."""
    assert attempt.diagnosis is not None
    attempt.diagnosis.node_statuses = attempt.decision.node_statuses = statuses
    note_plugins(attempt, summary)


def note_plugins(attempt: Attempt, summary: Summary) -> None:
    """Enter the plugins that refused a node into the diagnosis."""
    assert attempt.diagnosis is not None
    for status in summary.statuses:
        attempt.diagnosis.add_plugin(status)


def find_nodes_that_pass_filters(
    context: SchedulingContext, attempt: Attempt, rows: Int64Array | None
) -> Passed:
    """What the filters leave of ``rows`` (None = all).

    When enough feasible nodes are found the others count as not evaluated.
    """
    snapshot, framework = context.snapshot, attempt.framework
    state = attempt.state
    # If a nominated node is refused, a search among all nodes follows: the time of both counts.
    watch = Stopwatch(state, "Filter")
    if rows is None:
        order = snapshot.order
        passed = attempt.search.filter(attempt, snapshot, watch)
    else:
        order, part = rows, snapshot.part(rows)
        run = framework.filters.run_filter_plugins_with_nominated_pods
        answers = run(state, attempt.pod, part, watch)
        passed = spread(answers, rows, len(snapshot))
    watch.stop()
    enough = feasible_nodes_needed(context, framework, len(order))
    if len(passed.feasible) <= enough:
        return passed
    return stop_when_enough(context.next_start_node_index, passed.statuses, order, enough)


def spread(answers: NodeStatuses, rows: Int64Array, size: int) -> Passed:
    """The answers about ``rows``, the i-th about ``rows[i]``, in a table of so many rows."""
    statuses = NodeStatuses.empty(size)
    statuses.statuses, statuses.ids[rows] = answers.statuses, answers.ids
    return Passed(statuses, rows[answers.ids == NodeStatuses.FEASIBLE])


def feasible_nodes_needed(context: SchedulingContext, framework: Framework, nodes: int) -> int:
    """After how many feasible nodes the search of ``nodes`` nodes stops."""
    if not context.samples:
        return nodes
    if not framework.has_score_plugins and not any(
        each.is_prioritizer or each.is_filter for each in context.extenders
    ):
        return 1
    return num_feasible_nodes_to_find(
        nodes, framework.profile.percentage_of_nodes_to_score, context.percentage_of_nodes_to_score
    )


def num_feasible_nodes_to_find(
    nodes: int, profile_percentage: int | None, global_percentage: int | None
) -> int:
    """percentageOfNodesToScore: how many feasible nodes are enough in a cluster of ``nodes`` nodes.

    The profile's percentage comes before the configuration's. 0, or None for both, is adaptive:
    50 %, less 1 for every 125 nodes, at least 5 %.
    """
    if nodes < MIN_FEASIBLE_NODES_TO_FIND:
        return nodes
    percentage = global_percentage if profile_percentage is None else profile_percentage
    if not percentage:
        percentage = max(
            _ADAPTIVE_START_PERCENTAGE - nodes // _NODES_PER_PERCENT, MIN_FEASIBLE_NODES_PERCENTAGE
        )
    return max(nodes * percentage // 100, MIN_FEASIBLE_NODES_TO_FIND)


def stop_when_enough(
    start: int, statuses_of_all: NodeStatuses, order: Int64Array, enough: int
) -> Passed:
    """The first ``enough`` feasible rows in visiting order from ``start`` on.

    As upstream, the search ends at one feasible node too many, which it forgets: what is refused
    before that node counts. All statuses were computed at once; the others are discarded.
    """
    start %= len(order)
    statuses, visited = statuses_of_all.copy(), np.concatenate((order[start:], order[:start]))
    passed = statuses.ids[visited] == NodeStatuses.FEASIBLE
    end = int(np.searchsorted(np.cumsum(passed), enough + 1))
    statuses.ids[visited[end:]] = NodeStatuses.NOT_EVALUATED
    return Passed(statuses, np.sort(visited[:end][passed[:end]]))


def find_nodes_that_pass_extenders(
    context: SchedulingContext, attempt: Attempt, statuses: NodeStatuses, feasible: Int64Array
) -> Int64Array:
    """The rows that pass every interested extender; each is asked about what the last one left."""
    names = context.snapshot.names
    for extender in context.extenders:
        if not len(feasible) or not extender.is_filter or not extender.is_interested(attempt.pod):
            continue
        try:
            verdict = extender.filter(attempt.pod, [names[row] for row in feasible])
        except ExtenderError:
            if extender.is_ignorable:
                continue
            raise
        attempt.scores_bare_nodes |= verdict.has_objects
        passed = np.array([names[row] in verdict.feasible for row in feasible], dtype=np.bool_)
        refusals = {
            row: verdict.refusal(names[row]).by(extender.name) for row in feasible[~passed].tolist()
        }
        statuses.set_all(refusals)
        feasible = feasible[passed]
    return feasible


# -- which of them is best -----------------------------------------------------------------------


def prioritize_nodes(context: SchedulingContext, attempt: Attempt) -> Ties:
    """Score the feasible nodes: ``decision.scores`` and ``decision.ranking``; the best rows."""
    decision, framework = attempt.decision, attempt.framework
    if not framework.has_score_plugins and not context.extenders:
        rows = decision.feasible
        decision.ranking = Ranking(rows, np.ones(len(rows), dtype=np.int64))
        return decision.ties
    nodes = scored_nodes(context, attempt)
    scores = attempt.search.rank(attempt, nodes)
    decision.scores, decision.ranking = scores.columns, scores.ranking
    if not context.extenders:
        return scores.ties
    add_extender_scores(context, attempt)
    return decision.ties


def scored_nodes(context: SchedulingContext, attempt: Attempt) -> ScoredNodes:
    """The feasible nodes, as they are scored.

    As upstream, nodes that an extender sent back are scored as in its answer: without pods.
    """
    snapshot, decision = context.snapshot, attempt.decision
    rows = decision.feasible
    if attempt.scores_bare_nodes:
        return ScoredNodes(snapshot, rows, BareNodes(snapshot, rows), np.arange(len(rows)), None)
    is_part = decision.nominated_fast_path or decision.pre_filter_nodes is not None
    part = snapshot.part(rows) if is_part and len(rows) <= MAX_PART else None
    return ScoredNodes(snapshot, rows, snapshot, rows, part)


def add_extender_scores(context: SchedulingContext, attempt: Attempt) -> None:
    """Add the extenders' scores to the decision; one that fails has no say in the choice."""
    decision, rows = attempt.decision, attempt.decision.feasible
    total = decision.ranking.total.copy()
    names = [decision.nodes[row] for row in rows]
    for extender in context.extenders:
        # As upstream, extenders are not asked to score a single node.
        if len(rows) > 1 and extender.is_prioritizer and extender.is_interested(attempt.pod):
            try:
                priorities = extender.prioritize(attempt.pod, names)
            except ExtenderError:
                continue
            raw = np.array([priorities.get(name, 0) for name in names], dtype=np.int64)
            scaled = raw * (MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY)
            column = decision.scores[extender.name] = ScoreColumn(raw, scaled, extender.weight)
            total += column.weighted
    decision.ranking = Ranking(rows, total)


def select_host(context: SchedulingContext, attempt: Attempt, ties: Ties) -> None:
    """One of the nodes with the greatest total, at random or the first by name.

    ``ties``: their rows, as in ``decision.ties``.
    """
    decision = attempt.decision
    decision.draw = context.tie_breaker.choose_row(ties, context.snapshot.name_rank)
    decision.node = decision.nodes[ties[decision.draw]]
