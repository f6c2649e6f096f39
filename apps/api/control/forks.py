"""Forks of a cluster."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from apps.administration.clusters.forking import fork_cluster
from apps.api.control.base import ControlView
from apps.api.control.cluster_serializers import ClusterSerializer
from apps.api.control.documentation.areas import Area
from apps.api.control.request_shapes import MomentRequestSerializer
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.queries import cluster_named
from apps.engine.profiles import private_keys
from apps.studies.past.past_version import parse_past_version


class ForkSerializer(MomentRequestSerializer):
    name = serializers.CharField(help_text="Name of the fork.")


class ForkView(ControlView):
    """Forks of a cluster."""

    area = Area.CLUSTERS

    @extend_schema(
        request=ForkSerializer,
        responses={
            201: ClusterSerializer,
            **dict.fromkeys((400, 404, 409, 410, 422), ErrorSerializer),
        },
    )
    def post(self, request: Request, cluster: str) -> Response:
        """Fork a cluster.

        Creates a cluster with the objects that this one had at a version, at a time or when a
        decision was made, with the same uids and versions. The fork is paused, and its clock stands
        at that moment. It shares the history up to there. A viewer cannot fork a cluster that has,
        or had, Secrets.
        """
        source = cluster_named(cluster)
        private_keys.require_copying(request.user, source)
        wanted = ForkSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        given = dict(wanted.validated_data)
        name = given.pop("name")
        moment = parse_past_version(source, {key: str(value) for key, value in given.items()})
        fork = fork_cluster(source, moment, name, user=request.user.get_username())
        body = ClusterSerializer(fork, context={"request": request}).data
        return Response(body, status=status.HTTP_201_CREATED)
