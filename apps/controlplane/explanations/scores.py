"""What the scores of one plugin follow from, in the state that a decision saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.cluster.errors import ApiError
from apps.cluster.models import Cluster
from apps.controlplane.explanations.states import states
from apps.controlplane.models import SchedulingDecision
from apps.scheduler.explaining.scores import score_details
from apps.scheduler.explaining.sight import look
from apps.scheduler.framework.explanation import Detail
from apps.scheduler.framework.status import StatusError


@dataclass(frozen=True, slots=True)
class ScoreExplanation:
    """The inputs of one plugin's raw score of one node; `gap` says why there are none."""

    details: Sequence[Detail] = ()
    gap: str = ""


def explain_scores(
    row: SchedulingDecision, plugin: str, nodes: Sequence[str]
) -> Mapping[str, ScoreExplanation]:
    """The inputs of a plugin's scores by node, without nodes of which there is nothing to say."""
    try:
        with states.before(row) as state:
            pod = state.pod(str(row.pod_uid))
            if pod is None or row.scheduler_name not in state.scheduler.profiles:
                gap = "The pod does not exist at that version of the cluster."
                return dict.fromkeys(nodes, ScoreExplanation(gap=gap))
            sight = look(state.scheduler, pod)
            rows = {name: state.scheduler.snapshot.row_of(name) for name in nodes}
            found = {
                name: score_details(sight, plugin, line) for name, line in rows.items() if line >= 0
            }
            return {name: ScoreExplanation(details) for name, details in found.items() if details}
    except ApiError as expired:
        gap = expired.message
    except Cluster.DoesNotExist:
        gap = "The cluster is deleted; only its ledger remains."
    except StatusError as failure:
        gap = failure.status.message
    return dict.fromkeys(nodes, ScoreExplanation(gap=gap))
