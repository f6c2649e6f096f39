"""The board of a class."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from apps.cluster.errors import ApiError
from apps.cluster.models import Cluster
from apps.dashboard.rendering import Request, cluster_page, render_page, render_refusal
from apps.studies.classes.board import read_board


@require_GET
@cluster_page
def board(request: Request, cluster: Cluster) -> HttpResponse:
    """Who is where; `?student=` shows what one student is missing."""
    student = request.GET.get("student", "")
    try:
        students = read_board(cluster, request.user, student=student)
    except ApiError as refusal:
        return render_refusal(request, refusal)
    context = {"cluster": cluster, "board": students, "student": student}
    return render_page(request, "board", context)
