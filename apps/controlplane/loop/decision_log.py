"""Log lines about decisions, after they are committed; how many is `settings.VERBOSITY`.

0: what failed. 1: a line for each batch. 2: a line for each decision. 10: each plugin's score of
each feasible node as well, as kube-scheduler has it. Lines carry the request that created the pod.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings

from apps.cluster.models import Cluster
from apps.controlplane.ledger.records import DecisionRecord
from apps.controlplane.results.scores import score_matrix
from apps.scheduler.decision import Result

log = logging.getLogger("kube-scheduler")

BATCHES, DECISIONS, SCORES = 1, 2, 10
#: a line about a batch names so many of its pods and requests
_NAMED = 5


def tell(cluster: Cluster, batch: Sequence[DecisionRecord]) -> None:
    """Log what was committed; decisions that are not final come again."""
    verbosity = settings.VERBOSITY
    final = [record for record in batch if record.decision.result.is_final]
    if verbosity == BATCHES and final:
        _tell_batch(cluster, final)
    for record in final:
        failed = record.decision.result is Result.ERROR
        if failed or verbosity >= DECISIONS:
            _tell_decision(cluster, record, logging.WARNING if failed else logging.INFO)
        if verbosity >= SCORES:
            _tell_scores(cluster, record)


def _tell_batch(cluster: Cluster, batch: Sequence[DecisionRecord]) -> None:
    results = Counter(record.decision.result.value for record in batch)
    fields = {"cluster": cluster.name, **results}
    if len(batch) == 1:
        return _tell_decision(cluster, batch[0], logging.INFO)
    fields["pods"] = _some(record.decision.pod_key for record in batch)
    requests = {record.request_id: None for record in batch if record.request_id}
    only = next(iter(requests)) if len(requests) == 1 else ""
    if len(requests) > 1:
        fields["requests"] = _some(requests)
    return log.info("Decided", extra=_extra(fields, only))


def _tell_decision(cluster: Cluster, record: DecisionRecord, level: int) -> None:
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
        message = "Failed to schedule the pod" if failed else "No node takes the pod"
        fields["reason"] = decision.message
    log.log(level, message, extra=_extra(fields, record.request_id))


def _tell_scores(cluster: Cluster, record: DecisionRecord) -> None:
    decision = record.decision
    matrix = score_matrix(decision)
    about = {"cluster": cluster.name, "pod": decision.pod_key}
    for plugin in matrix.plugins:
        for node, score in zip(matrix.nodes, plugin.weighted.tolist(), strict=True):
            fields = {**about, "plugin": plugin.name, "node": node, "score": score}
            log.info("A plugin scored a node", extra=_extra(fields, record.request_id))
    for node, score in zip(matrix.nodes, matrix.total.tolist(), strict=True):
        fields = {**about, "node": node, "score": score}
        log.info("All scores of a node together", extra=_extra(fields, record.request_id))


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    more = [f"and {len(listed) - _NAMED} more"] if len(listed) > _NAMED else []
    return ", ".join([*listed[:_NAMED], *more])


def _extra(fields: dict[str, Any], request_id: str) -> dict[str, Any]:
    return {"fields": fields, "request_id": request_id or "-"}
