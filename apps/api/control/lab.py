"""Simulations, and questions about capacity: nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.answers import answer
from apps.api.control.base import ControlView, reject_unknown
from apps.api.control.documentation.areas import Area
from apps.api.control.lab_serializers import (
    EmptyingRequestSerializer,
    FailuresRequestSerializer,
    FittingRequestSerializer,
    PlanRequestSerializer,
    SimulationRequestSerializer,
)
from apps.api.control.paging import PAGING, PageLinks, page_parameters, read_page
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.queries import cluster_named
from apps.engine.queue.past import MOMENTS
from apps.studies.explanations.prospects import MAX_LISTED, ProspectList, list_prospects
from apps.studies.lab.emptying import Emptying, find_emptiable_nodes
from apps.studies.lab.failures import Failures, simulate_failures
from apps.studies.lab.fitting import Fitting, count_fitting
from apps.studies.lab.planning import Plan, Shape, plan_nodes
from apps.studies.lab.simulation import Simulation, SimulationRequest, simulate

_ERRORS = {400: ErrorSerializer, 404: ErrorSerializer, 422: ErrorSerializer}
#: Fields of a body that are fields of a SimulationRequest.
_SAME = (
    "objects",
    "copies",
    "cordon",
    "uncordon",
    "drain",
    "delete_nodes",
    "delete_pods",
    "pending",
    "configuration",
    "revision",
    "feature_gates",
    "seed",
    "explain",
)


class SimulationView(ControlView):
    """What would happen if."""

    area = Area.LAB

    @extend_schema(request=SimulationRequestSerializer, responses={200: Simulation, **_ERRORS})
    def post(self, request: Request, cluster: str) -> Response:
        """Simulate changes.

        Applies the changes to one state of the cluster, and runs the scheduler in memory on a
        virtual clock until nothing is left to do: what is placed where, what is not and why, and
        which pods are preempted. Nothing is written. `explanation` has the fields of a recorded
        decision.
        """
        typed = _read(SimulationRequestSerializer, request)
        simulation = simulate(cluster_named(cluster), build_request(typed), user=_user(request))
        return answer(simulation)


class FittingView(ControlView):
    """How many more of a pod fit."""

    area = Area.LAB

    @extend_schema(request=FittingRequestSerializer, responses={200: Fitting, **_ERRORS})
    def post(self, request: Request, cluster: str) -> Response:
        """Count how many more of a pod fit.

        Schedules copies of one pod until none fits; nothing is preempted, and pending pods take no
        room. The answer says what stops the next copy.
        """
        typed = _read(FittingRequestSerializer, request)
        fitting = count_fitting(
            cluster_named(cluster),
            build_request(typed),
            limit=typed["limit"],
            user=_user(request),
        )
        return answer(fitting)


class PlanView(ControlView):
    """How many nodes are needed."""

    area = Area.LAB

    @extend_schema(request=PlanRequestSerializer, responses={200: Plan, **_ERRORS})
    def post(self, request: Request, cluster: str) -> Response:
        """Find the nodes that are needed.

        The least number of nodes of each shape alone with which all pods have a node, and the
        cheapest mix of shapes that was found.
        """
        typed = _read(PlanRequestSerializer, request)
        plan = plan_nodes(
            cluster_named(cluster),
            build_request(typed),
            [Shape(**shape) for shape in typed["shapes"]],
            most=typed["max_nodes"],
            user=_user(request),
        )
        return answer(plan)


class EmptyingView(ControlView):
    """Which nodes could be emptied."""

    area = Area.LAB

    @extend_schema(request=EmptyingRequestSerializer, responses={200: Emptying, **_ERRORS})
    def post(self, request: Request, cluster: str) -> Response:
        """Find the nodes that could be emptied.

        Of each node alone whether its pods fit on other nodes, and which nodes can be emptied at
        the same time. Nothing is preempted; pods of DaemonSets stay.
        """
        typed = _read(EmptyingRequestSerializer, request)
        emptying = find_emptiable_nodes(
            cluster_named(cluster),
            build_request(typed),
            nodes=typed["nodes"],
            limit=typed["limit"],
            user=_user(request),
        )
        return answer(emptying)


class FailuresView(ControlView):
    """What if a node dies."""

    area = Area.LAB

    @extend_schema(request=FailuresRequestSerializer, responses={200: Failures, **_ERRORS})
    def post(self, request: Request, cluster: str) -> Response:
        """Simulate the death of nodes.

        Of each node alone: how many of its pods run elsewhere, which wait and why, and which are
        lost because no controller creates them again.
        """
        typed = _read(FailuresRequestSerializer, request)
        failures = simulate_failures(
            cluster_named(cluster), build_request(typed), typed["nodes"], user=_user(request)
        )
        return answer(failures)


@dataclass(frozen=True, kw_only=True)
class ProspectPage(PageLinks, ProspectList):
    ANSWER: ClassVar[tuple[str, ...]] = ("next", "previous", *ProspectList.ANSWER)


class ProspectsView(ControlView):
    """Whether pending pods can ever run."""

    area = Area.LAB

    @extend_schema(
        parameters=page_parameters(MAX_LISTED, MAX_LISTED),
        responses={200: ProspectPage, 400: ErrorSerializer, 404: ErrorSerializer},
    )
    def get(self, request: Request, cluster: str) -> Response:
        """List the prospects of pending pods.

        Of each pending pod, oldest first, whether it can never run, needs capacity, or waits its
        turn, with the proof and the dominant reason.
        """
        reject_unknown(request, (*PAGING, "format"))
        page = read_page(request, size=MAX_LISTED, highest=MAX_LISTED)
        found = list_prospects(cluster_named(cluster), page.rows)
        return answer(page.add_links(ProspectPage, found, found.total))


def build_request(typed: Mapping[str, Any]) -> SimulationRequest:
    """The simulation that a body describes."""
    moment = {name: str(typed[name]) for name in (*MOMENTS, "zone") if name in typed}
    return SimulationRequest(
        moment=moment, **{name: typed[name] for name in _SAME if name in typed}
    )


def _read(serializer: type[serializers.Serializer[Any]], request: Request) -> dict[str, Any]:
    wanted = serializer(data=request.data)
    wanted.is_valid(raise_exception=True)
    typed: dict[str, Any] = wanted.validated_data
    return typed


def _user(request: Request) -> str:
    return str(request.user.get_username())
