"""Log lines about committed decisions, by `settings.VERBOSITY`.

0: errors. 1: a line for each batch. 2: a line for each decision. 10: also each plugin's score of
each feasible node with its inputs, as in kube-scheduler. Lines have the id of the request that
created the pod.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings

from apps.cluster.models import Cluster
from apps.engine.ledger.records import DecisionRecord
from apps.engine.results.scores import score_matrix
from apps.scheduler.decision import Decision, Result
from apps.scheduler.explaining.evaluation import evaluate_in_last_snapshot
from apps.scheduler.explaining.scores import ScoredEvaluation, ScoreInputs
from apps.scheduler.scheduler import Scheduler

log = logging.getLogger("kube-scheduler")

BATCHES, DECISIONS, SCORES = 1, 2, 10
#: Maximum number of pods and requests in the line of a batch.
_MAX_LISTED = 5


def log_decisions(cluster: Cluster, batch: Sequence[DecisionRecord]) -> None:
    """Log committed decisions; those that are not final are logged when they are."""
    verbosity = settings.VERBOSITY
    if verbosity == BATCHES and log.isEnabledFor(logging.INFO):
        _log_batch(cluster, [record for record in batch if record.decision.result.is_final])
    for record in batch:
        result = record.decision.result
        if result is Result.ERROR:
            _log_decision(cluster, record, logging.WARNING)
        elif verbosity >= DECISIONS and result.is_final:
            _log_decision(cluster, record, logging.INFO)
        if verbosity >= SCORES and result.is_final:
            _log_scores(cluster, record)


def has_scores() -> bool:
    """Whether the inputs of scores are logged."""
    return bool(settings.VERBOSITY >= SCORES)


def collect_inputs(scheduler: Scheduler, decision: Decision) -> Sequence[ScoreInputs]:
    """The inputs of all scores of the last decision."""
    if not len(decision.total):
        return ()
    pod = scheduler.cache.find_pod(decision.pod_uid)
    if pod is None:
        return ()
    evaluation = ScoredEvaluation(evaluate_in_last_snapshot(scheduler, pod), decision)
    nodes = [decision.nodes[row] for row in decision.feasible.tolist()]
    return [evaluation.inputs(node, plugin) for plugin in decision.scores for node in nodes]


def _log_batch(cluster: Cluster, batch: Sequence[DecisionRecord]) -> None:
    if not batch:
        return
    results = Counter(record.decision.result.value for record in batch)
    fields = {"cluster": cluster.name, **results}
    if len(batch) == 1:
        _log_decision(cluster, batch[0], logging.INFO)
        return
    fields["pods"] = _join(record.decision.pod_key for record in batch)
    requests = {record.request_id: None for record in batch if record.request_id}
    only = next(iter(requests)) if len(requests) == 1 else ""
    if len(requests) > 1:
        fields["requests"] = _join(requests)
    log.info("Committed a batch of decisions", extra=_build_extra(fields, only))


def _log_decision(cluster: Cluster, record: DecisionRecord, level: int) -> None:
    decision = record.decision
    fields: dict[str, Any] = {
        "cluster": cluster.name,
        "pod": decision.pod_key,
        "uid": decision.pod_uid,
        "profile": decision.profile,
        "attempt": decision.attempt,
        "evaluatedNodes": decision.evaluated,
        "feasibleNodes": len(decision.feasible),
    }
    if decision.result is Result.SCHEDULED:
        message = "Bound the pod"
        fields["node"] = decision.node
    else:
        failed = decision.result is Result.ERROR
        message = "Failed to schedule the pod" if failed else "Unable to schedule the pod"
        fields["reason"] = decision.message
    log.log(level, message, extra=_build_extra(fields, record.request_id))


def _log_scores(cluster: Cluster, record: DecisionRecord) -> None:
    decision = record.decision
    matrix = score_matrix(decision)
    about = {"cluster": cluster.name, "pod": decision.pod_key}
    inputs = {(each.plugin, each.node): each for each in record.score_inputs}
    for plugin in matrix.plugins:
        for node, score in zip(matrix.nodes, plugin.weighted.tolist(), strict=True):
            fields = {**about, "plugin": plugin.name, "node": node, "score": score}
            explained = inputs.get((plugin.name, node))
            if explained is not None:
                _log_resources(fields, explained, record.request_id)
                fields |= _describe_inputs(explained)
            log.info("Plugin scored node for pod", extra=_build_extra(fields, record.request_id))
    for node, score in zip(matrix.nodes, matrix.total.tolist(), strict=True):
        fields = {**about, "node": node, "score": score}
        log.info(
            "Calculated the final score of a node", extra=_build_extra(fields, record.request_id)
        )


def _log_resources(about: dict[str, Any], inputs: ScoreInputs, request_id: str) -> None:
    """The maps of allocatable and requested resources from which a score was computed."""
    figures = [each.figures for each in inputs.inputs if "allocatable" in each.figures]
    if figures:
        fields = {
            **about,
            "allocatableResource": {each["resource"]: each["allocatable"] for each in figures},
            "requestedResource": {each["resource"]: each["used"] for each in figures},
            "score": inputs.raw,
        }
        log.info(
            "Listed the allocatable and requested resources behind a score",
            extra=_build_extra(fields, request_id),
        )


def _describe_inputs(inputs: ScoreInputs) -> dict[str, Any]:
    return {
        "rawScore": inputs.raw,
        "normalizedScore": inputs.normalized,
        "inputs": [each.sentence for each in inputs.inputs] or [inputs.gap],
        "normalization": [each.sentence for each in inputs.normalization],
    }


def _join(names: Iterable[str]) -> str:
    listed = list(names)
    more = [f"and {len(listed) - _MAX_LISTED} more"] if len(listed) > _MAX_LISTED else []
    return ", ".join([*listed[:_MAX_LISTED], *more])


def _build_extra(fields: dict[str, Any], request_id: str) -> dict[str, Any]:
    return {"fields": fields, "request_id": request_id or "-"}
