"""What led to a pod, and what a change led to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.answers import answer
from apps.api.control.base import ControlView, reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.access import confidential
from apps.cluster.errors import NotFound
from apps.cluster.queries import cluster_named
from apps.studies.history.causes import (
    Consequences,
    Step,
    find_change,
    read_chain,
    read_consequences,
)


@dataclass(frozen=True, slots=True)
class Chain:
    #: in order; each led to those after it
    steps: Sequence[Step]


class ChainView(ControlView):
    """What led to a pod, and what followed."""

    area = Area.EXPLANATIONS
    path_help = {"uid": "Uid of the pod, which may be deleted."}

    @extend_schema(responses={200: Chain, 404: ErrorSerializer})
    def get(self, request: Request, cluster: str, uid: UUID) -> Response:
        """Read a causal chain.

        What led to a pod, its decision, what ended it, and the pods that were created in its
        place: who failed a node, the taint, the eviction, the replacement, its decision. Each step
        has its evidence: a change, a decision, an operation.

        A replacement is inferred: the next pod that the same owner created.
        """
        reject_unknown(request, {"format"})
        steps = read_chain(cluster_named(cluster), uid)
        if not steps:
            raise NotFound("pods", str(uid))
        return answer(Chain(steps))


class ConsequencesView(ControlView):
    """The pods that a change has ended."""

    area = Area.CHANGES
    path_help = {"version": "Version of the change."}

    @extend_schema(responses={200: Consequences, 404: ErrorSerializer})
    def get(self, request: Request, cluster: str, version: int) -> Response:
        """Read the consequences of a change.

        The pods that ended because of a change of a node, or in the request that made the change,
        with the pods created in their place and their decisions; at most 100, the first ones.
        """
        reject_unknown(request, {"format"})
        target = cluster_named(cluster)
        change = find_change(target, version)
        confidential.require_reading(request.user, target, change.kind)
        return answer(read_consequences(target, change))
