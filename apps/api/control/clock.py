"""The clock of a cluster: real, stopped, n times as fast, or as fast as possible."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.answers import answer
from apps.api.control.base import ControlView
from apps.api.control.documentation.areas import Area
from apps.api.control.request_shapes import StrictSerializer
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster
from apps.cluster.queries import cluster_named
from apps.engine.loop import clock

_ERRORS = {400: ErrorSerializer, 404: ErrorSerializer, 422: ErrorSerializer}


@dataclass(frozen=True, slots=True)
class Clock:
    #: `real`: the system's clock. `manual`: stopped until it is advanced. `speed`: runs at a speed
    #: of its own. `fast-forward`: jumps to what happens next until a time, then manual
    mode: clock.Mode
    #: the time of the cluster
    now: datetime
    #: seconds for each second of the system; of mode speed
    speed: float | None
    #: the end of a fast-forward
    until: datetime | None


class ClockRequestSerializer(StrictSerializer):
    mode = serializers.ChoiceField(get_args(clock.Mode), help_text="As in the response.")
    speed = serializers.FloatField(required=False, help_text="Of mode speed: above 0.")
    seconds = serializers.FloatField(
        required=False,
        help_text="Of mode fast-forward: for how long. Of mode manual: advance it by so much.",
    )


class ClockView(ControlView):
    """The clock of a cluster."""

    area = Area.CLUSTERS

    @extend_schema(responses={200: Clock, 404: ErrorSerializer})
    def get(self, request: Request, cluster: str) -> Response:
        """Read the clock.

        How it moves, and the time of the cluster.
        """
        return answer(_read(cluster_named(cluster)))

    @extend_schema(request=ClockRequestSerializer, responses={200: Clock, **_ERRORS})
    def put(self, request: Request, cluster: str) -> Response:
        """Set the clock.

        Everything in a cluster goes by it: backoff, tolerations, grace periods, controllers,
        kubelets, events and charts.
        """
        row = cluster_named(cluster)
        wanted = ClockRequestSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        _set(row, wanted.validated_data)
        return answer(_read(row))


def _set(cluster: Cluster, typed: dict[str, Any]) -> None:
    match typed["mode"]:
        case "real":
            clock.set_real(cluster)
        case "speed":
            clock.set_speed(cluster, _required(typed, "speed"))
        case "fast-forward":
            clock.fast_forward(cluster, _required(typed, "seconds"))
        case _:
            clock.set_manual(cluster)
            if "seconds" in typed:
                clock.advance(cluster, typed["seconds"])


def _required(typed: dict[str, Any], name: str) -> float:
    if name not in typed:
        raise BadRequest(f"{name}: is required in mode {typed['mode']}")
    value: float = typed[name]
    return value


def _read(cluster: Cluster) -> Clock:
    now, mode = cluster.now(), clock.mode_of(cluster)
    return Clock(mode, now, cluster.clock_speed, cluster.clock_until)
