"""Questions of the lab about each node alone; the result is a file, `answer.json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final, Protocol

import msgspec
import zstandard

from apps.administration.operations import service
from apps.administration.operations.progress import Progress
from apps.answers import to_json
from apps.cluster import limits
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor
from apps.engine.models import Operation
from apps.studies.lab.base import LabAnswer
from apps.studies.lab.emptying import find_emptiable_nodes
from apps.studies.lab.failures import simulate_failures
from apps.studies.lab.simulation import SimulationRequest

KIND: Final = "lab-question"
OUTPUT_NAME: Final = "answer.json"


class _Question(Protocol):
    def __call__(
        self,
        cluster: Cluster,
        request: SimulationRequest,
        *,
        nodes: Sequence[str],
        user: str,
        progress: Any,
    ) -> LabAnswer: ...


#: question -> (what its operation is called, what answers it)
QUESTIONS: Final[Mapping[str, tuple[str, _Question]]] = {
    "emptiable": ("Find the nodes that could be emptied", find_emptiable_nodes),
    "failures": ("Simulate the death of nodes", simulate_failures),
}


def start_question(
    cluster: Cluster,
    ask: str,
    request: SimulationRequest,
    *,
    nodes: Sequence[str],
    actor: Actor,
) -> Operation:
    """Start one of QUESTIONS; BadRequest for another one, or for too many nodes."""
    if ask not in QUESTIONS:
        raise BadRequest(f"ask: {ask!r} is not one of {', '.join(QUESTIONS)}")
    if not limits.EMPTIED_NODES.admits(len(nodes) or 1):
        raise BadRequest(f"nodes: at most {limits.EMPTIED_NODES.highest}")
    return service.start(
        KIND,
        QUESTIONS[ask][0],
        actor=actor,
        cluster=cluster,
        arguments={"ask": ask},
        payload={"request": asdict(request), "nodes": list(nodes)},
    )


def run(work: Progress) -> str:
    """`ask`; the payload has the request and the nodes."""
    payload = work.payload()
    answer = QUESTIONS[work.argument("ask")][1](
        work.cluster,
        SimulationRequest(**payload["request"]),
        nodes=payload["nodes"],
        user=work.operation.user,
        progress=work.step,
    )
    Operation.objects.filter(pk=work.operation.pk).update(
        output=zstandard.compress(msgspec.json.encode(to_json(answer))), output_name=OUTPUT_NAME
    )
    return f"Answered from version {answer.base.version:,}"


def get_question(cluster: Cluster, number: int) -> tuple[Operation, dict[str, Any] | None]:
    """A question about this cluster, and its answer if it has succeeded; NotFound."""
    operation = service.get_operation_of(cluster, KIND, number)
    return operation, service.read_result(operation, dict[str, Any])
