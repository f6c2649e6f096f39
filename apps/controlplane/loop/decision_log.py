"""Log lines about decisions, after they are committed; how many is `settings.VERBOSITY`.

0: what failed. 1: a line for each batch. 2: a line for each decision. 10: each plugin's score of
each feasible node as well, as kube-scheduler has it. Lines carry the request that made the pod.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from django.conf import settings

from apps.cluster.models import Cluster
from apps.controlplane.results.scores import score_matrix
from apps.scheduler.decision import Decision, Result

log = logging.getLogger("kube-scheduler")

BATCHES, DECISIONS, SCORES = 1, 2, 10
#: a line about a batch names so many of its pods and requests
_NAMED = 5


class Made(Protocol):
    """A decision and the request that made its pod."""

    @property
    def decision(self) -> Decision: ...

    @property
    def request_id(self) -> str: ...


def tell(cluster: Cluster, batch: Sequence[Made]) -> None:
    """Log what was committed; decisions that are not final come again."""
    verbosity = settings.VERBOSITY
    final = [made for made in batch if made.decision.result.is_final]
    if verbosity == BATCHES and final:
        _tell_batch(cluster, final)
    for made in final:
        failed = made.decision.result is Result.ERROR
        if failed or verbosity >= DECISIONS:
            _tell_decision(cluster, made, logging.WARNING if failed else logging.INFO)
        if verbosity >= SCORES:
            _tell_scores(cluster, made)


def _tell_batch(cluster: Cluster, batch: Sequence[Made]) -> None:
    results = Counter(made.decision.result.value for made in batch)
    fields = {"cluster": cluster.name, **results}
    if len(batch) == 1:
        return _tell_decision(cluster, batch[0], logging.INFO)
    fields["pods"] = _some(made.decision.pod_key for made in batch)
    requests = {made.request_id: None for made in batch if made.request_id}
    only = next(iter(requests)) if len(requests) == 1 else ""
    if len(requests) > 1:
        fields["requests"] = _some(requests)
    return log.info("Decided", extra=_extra(fields, only))


def _tell_decision(cluster: Cluster, made: Made, level: int) -> None:
    decision = made.decision
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
    log.log(level, message, extra=_extra(fields, made.request_id))


def _tell_scores(cluster: Cluster, made: Made) -> None:
    decision = made.decision
    matrix = score_matrix(decision)
    about = {"cluster": cluster.name, "pod": decision.pod_key}
    for plugin in matrix.plugins:
        for node, score in zip(matrix.nodes, plugin.weighted.tolist(), strict=True):
            fields = {**about, "plugin": plugin.name, "node": node, "score": score}
            log.info("A plugin scored a node", extra=_extra(fields, made.request_id))
    for node, score in zip(matrix.nodes, matrix.total.tolist(), strict=True):
        fields = {**about, "node": node, "score": score}
        log.info("All scores of a node together", extra=_extra(fields, made.request_id))


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    more = [f"and {len(listed) - _NAMED} more"] if len(listed) > _NAMED else []
    return ", ".join([*listed[:_NAMED], *more])


def _extra(fields: dict[str, Any], request_id: str) -> dict[str, Any]:
    return {"fields": fields, "request_id": request_id or "-"}
