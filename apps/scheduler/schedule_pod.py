"""Finding the node for one pod: filter, stop when enough nodes are feasible, score, choose.

PreFilter and Filter (with extenders) leave the feasible nodes, PreScore and Score (with extenders)
rank them, and one of the best is chosen. Every step writes what it found into the attempt's
decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

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
    Extender,
    ExtenderError,
)
from apps.scheduler.framework.interface import MAX_NODE_SCORE, PreFilterResult
from apps.scheduler.framework.nodes import Int64Array, NodeColumns
from apps.scheduler.framework.overlay import MAX_PART, BareNodes
from apps.scheduler.framework.ranking import Ranking
from apps.scheduler.framework.reuse.signed_scores import Cycle
from apps.scheduler.framework.runtime import Framework
from apps.scheduler.framework.scoring import ScoreColumn
from apps.scheduler.framework.status import (
    SUCCESS,
    Status,
    StatusError,
    error,
    unresolvable,
    unschedulable,
)
from apps.scheduler.framework.stopwatch import Stopwatch
from apps.scheduler.framework.summary import Summary, summarize

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
    if context.reuses_results and not context.extenders:
        attempt.results = attempt.framework.signing.results_for(attempt.pod, snapshot)
    try:
        ties = repeat_cycle(context, attempt)
        if ties is None:
            find_nodes_that_fit_pod(context, attempt)
            if not len(decision.feasible):
                return unschedulable(decision.filter_message)
            ties = prioritize_nodes(context, attempt) if not decision.is_batched else ()
    except StatusError as failure:
        attempt.diagnosis = None
        return failure.status
    except ExtenderError as failure:
        attempt.diagnosis = None
        return error(str(failure))
    if decision.hint is not None and decision.is_batched:
        decision.node = decision.hint.node
    else:
        select_host(context, attempt, ties)
    if context.batches and attempt.queued is not None:
        keep_for_batch(context, attempt)
    return SUCCESS


def repeat_cycle(context: SchedulingContext, attempt: Attempt) -> Sequence[int] | Int64Array | None:
    """The best rows by what is known for pods of this signature; None if that is too little.

    Nothing is different from the last such pod but the rows that have changed since.
    """
    results, snapshot = attempt.results, context.snapshot
    if results is None or not results.is_repeatable or attempt.decision.hint is not None:
        return None
    pod, filters = attempt.pod, attempt.framework.filters
    if pod.pod.status.nominated_node_name or filters.nominated_pods(pod, snapshot) is not None:
        return None
    most = feasible_nodes_needed(context, attempt.framework, snapshot.total_nodes)
    found = results.repeat(Cycle(attempt.state, pod, snapshot, filters), most)
    if found is None:
        return None
    if attempt.continues:
        last = snapshot.row_of(attempt.framework.batch.last_node)
        if last >= 0 and found.statuses.ids[last] != NodeStatuses.FEASIBLE:
            return None
    decision, left, scores = attempt.decision, found.passed, found.scores
    attempt.diagnosis = diagnosis = Diagnosis(found.statuses)
    for status in left.summary.statuses:
        diagnosis.add_plugin(status)
    decision.node_statuses, decision.feasible = found.statuses, left.feasible
    count_evaluated(context, attempt, len(left.feasible) + left.summary.rejected)
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
    """PreFilter and Filter: ``decision.feasible`` and the diagnosis."""
    decision, snapshot = attempt.decision, context.snapshot
    attempt.diagnosis = diagnosis = Diagnosis(NodeStatuses.empty(0))
    narrowed, outcome, narrowing = attempt.framework.run_pre_filter_plugins(
        attempt.state, attempt.pod, snapshot, attempt.results
    )
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
    statuses = NodeStatuses.empty(len(context.snapshot))
    try:
        feasible = find_nodes_that_pass_filters(context, attempt, statuses, rows)
        note_plugins(attempt, statuses)
        feasible = find_nodes_that_pass_extenders(context, attempt, statuses, feasible)
    except (StatusError, ExtenderError):
        return None
    if not len(feasible):
        status = statuses.at(row)
        assert status is not None
        return RefusedNode(row, status)
    attempt.decision.nominated_fast_path = True
    attempt.decision.feasible = feasible
    attempt.decision.evaluated = 1
    note_statuses(attempt, statuses)
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
    statuses = NodeStatuses.empty(len(snapshot) if narrowed.node_names is not None else 0)
    rows: Int64Array | None = None
    if narrowed.node_names is not None:
        rows = np.array(
            sorted(row for name in narrowed.node_names if (row := snapshot.row_of(name)) >= 0),
            dtype=np.int64,
        )
        # As upstream: those that narrowed the nodes, and the one that refused the nominated node.
        plugins = " ".join(sorted(diagnosis.unschedulable_plugins))
        statuses.absent = unresolvable(f"node(s) didn't satisfy plugin(s) [{plugins}]")
    feasible = find_nodes_that_pass_filters(context, attempt, statuses, rows)
    evaluated = len(feasible) + summary_of(attempt, statuses).rejected
    note_statuses(attempt, statuses)
    if refused is not None and statuses.ids[refused.row] <= NodeStatuses.FEASIBLE:
        evaluated += 1
        if statuses.ids[refused.row] == NodeStatuses.NOT_EVALUATED:
            statuses.set(refused.row, refused.status)
    count_evaluated(context, attempt, evaluated)
    decision.feasible = find_nodes_that_pass_extenders(context, attempt, statuses, feasible)
    if len(decision.feasible) < len(feasible):
        diagnosis.unschedulable_plugins.add(EXTENDER_NAME)


def note_statuses(attempt: Attempt, statuses: NodeStatuses) -> None:
    """Enter the filters' answers into the diagnosis and the decision."""
    assert attempt.diagnosis is not None
    attempt.diagnosis.node_statuses = attempt.decision.node_statuses = statuses
    note_plugins(attempt, statuses)


def note_plugins(attempt: Attempt, statuses: NodeStatuses) -> None:
    """Enter the plugins that refused a node into the diagnosis."""
    assert attempt.diagnosis is not None
    if len(statuses.statuses) == 1:
        return
    for status in summary_of(attempt, statuses).statuses:
        attempt.diagnosis.add_plugin(status)


def summary_of(attempt: Attempt, statuses: NodeStatuses) -> Summary:
    """What the filters refused."""
    if attempt.results is None:
        return summarize(statuses)
    return attempt.results.verdicts.summary_by(statuses)


def find_nodes_that_pass_filters(
    context: SchedulingContext, attempt: Attempt, statuses: NodeStatuses, rows: Int64Array | None
) -> Int64Array:
    """The rows (ascending) of ``rows`` (None = all) that pass; refusals go to ``statuses``.

    When enough feasible nodes are found the others count as not evaluated.
    """
    snapshot, framework = context.snapshot, attempt.framework
    # If a nominated node is refused, a search among all nodes follows: the time of both counts.
    watch = Stopwatch(attempt.state, "Filter")
    if attempt.results is not None and rows is None:
        answers = framework.filters.run_signed_filter_plugins(
            attempt.state, attempt.pod, snapshot, watch, attempt.results
        )
    else:
        nodes = snapshot if rows is None else snapshot.part(rows)
        answers = framework.filters.run_filter_plugins_with_nominated_pods(
            attempt.state, attempt.pod, nodes, watch
        )
    watch.stop()
    statuses.statuses = answers.statuses
    feasible: Int64Array
    if rows is not None:
        statuses.ids[rows] = answers.ids
        feasible, order = rows[answers.ids == NodeStatuses.FEASIBLE], rows
    else:
        statuses.ids, order = answers.ids, snapshot.order
        if attempt.results is not None:
            feasible = attempt.results.verdicts.feasible_by(statuses)
        else:
            feasible = np.flatnonzero(statuses.ids == NodeStatuses.FEASIBLE)
    enough = feasible_nodes_needed(context, framework, len(order))
    if len(feasible) <= enough:
        return feasible
    if not statuses.ids.flags.writeable:
        statuses.ids = statuses.ids.copy()
    return stop_when_enough(context.next_start_node_index, statuses, order, enough)


def feasible_nodes_needed(context: SchedulingContext, framework: Framework, nodes: int) -> int:
    """After how many feasible nodes the search of ``nodes`` nodes stops."""
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
    start: int, statuses: NodeStatuses, order: Int64Array, enough: int
) -> Int64Array:
    """The first ``enough`` feasible rows (ascending) in visiting order from ``start`` on.

    As upstream, the search ends at one feasible node too many, which it forgets: what is refused
    before that node counts. All statuses were computed at once; the others are discarded.
    """
    start %= len(order)
    visited = np.concatenate((order[start:], order[:start]))
    passed = statuses.ids[visited] == NodeStatuses.FEASIBLE
    end = int(np.searchsorted(np.cumsum(passed), enough + 1))
    statuses.ids[visited[end:]] = NodeStatuses.NOT_EVALUATED
    return np.sort(visited[:end][passed[:end]])


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


def prioritize_nodes(context: SchedulingContext, attempt: Attempt) -> Sequence[int] | Int64Array:
    """Score the feasible nodes: ``decision.scores`` and ``decision.ranking``; the best rows."""
    decision, framework = attempt.decision, attempt.framework
    state, pod, rows = attempt.state, attempt.pod, decision.feasible
    if not framework.has_score_plugins and not context.extenders:
        decision.ranking = Ranking(rows, np.ones(len(rows), dtype=np.int64))
        return decision.ties
    # The columns of a signature are worth updating for a search of many nodes only.
    is_part = decision.nominated_fast_path or decision.pre_filter_nodes is not None
    is_small = is_part and len(rows) <= MAX_PART
    results = attempt.results if not is_small else None
    nodes, places = scored_nodes(context, attempt)
    status = framework.run_pre_score_plugins(state, pod, nodes, places, results)
    if not status.is_success:
        raise StatusError(status)
    if results is not None:
        found = framework.run_signed_score_plugins(state, pod, context.snapshot, rows, results)
        decision.scores, decision.ranking = found.columns, found.ranking
        results.end(state)
        return found.ties
    part = context.snapshot.part(rows) if is_small and nodes.has_pods else None
    decision.scores = framework.run_score_plugins(state, pod, nodes, places, part)
    for extender in context.extenders:
        # As upstream, extenders are not asked to score a single node.
        if len(rows) > 1 and extender.is_prioritizer and extender.is_interested(pod):
            add_extender_scores(attempt, extender)
    total = np.zeros(len(rows), dtype=np.int64)
    for column in decision.scores.values():
        total += column.normalized if column.weight == 1 else column.weighted
    decision.ranking = Ranking(rows, total)
    return decision.ties


def scored_nodes(context: SchedulingContext, attempt: Attempt) -> tuple[NodeColumns, Int64Array]:
    """The table in which the feasible nodes are scored, and their rows in it.

    As upstream, nodes that an extender sent back are scored as in its answer: without pods.
    """
    snapshot, rows = context.snapshot, attempt.decision.feasible
    if attempt.scores_bare_nodes:
        return BareNodes(snapshot, rows), np.arange(len(rows))
    return snapshot, rows


def add_extender_scores(attempt: Attempt, extender: Extender) -> None:
    """Add the extender's scores to the decision; one that fails has no say in the choice."""
    decision = attempt.decision
    names = [decision.nodes[row] for row in decision.feasible]
    try:
        priorities = extender.prioritize(attempt.pod, names)
    except ExtenderError:
        return
    raw = np.array([priorities.get(name, 0) for name in names], dtype=np.int64)
    scaled = raw * (MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY)
    decision.scores[extender.name] = ScoreColumn(raw, scaled, extender.weight)


def select_host(
    context: SchedulingContext, attempt: Attempt, ties: Sequence[int] | Int64Array
) -> None:
    """One of the nodes with the greatest total, at random or the first by name.

    ``ties``: their rows, as in ``decision.ties``.
    """
    decision = attempt.decision
    decision.draw = context.tie_breaker.choose_row(ties, context.snapshot.name_rank)
    decision.node = decision.nodes[ties[decision.draw]]
