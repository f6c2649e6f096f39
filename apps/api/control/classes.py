"""The board of a class."""

from __future__ import annotations

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.control.answers import answer
from apps.api.control.base import ControlView
from apps.api.control.documentation.areas import Area
from apps.api.control.serializers import ErrorSerializer
from apps.cluster.queries import cluster_named
from apps.studies.classes.board import Board, read_board


class BoardView(ControlView):
    """What the students of a class have reached."""

    area = Area.LAB

    @extend_schema(
        parameters=[OpenApiParameter("student", str, description="Only this student.")],
        responses={200: Board, 400: ErrorSerializer, 404: ErrorSerializer},
    )
    def get(self, request: Request, cluster: str) -> Response:
        """Read the board of a class.

        The cluster is the class: its ConfigMaps `exercise-01` and so on have the exercises, the
        clusters `CLASS-01-STUDENT` are those of the students. Each is compared with the checks of
        its exercise as it is now. Clusters that you do not see are left out.
        """
        student = request.query_params.get("student", "")
        return answer(read_board(cluster_named(cluster), request.user, student=student))
