"""The scheduling queue, its history, and manual activation."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from apps.cluster.context import current_request_id
from apps.cluster.errors import BadRequest, Invalid
from apps.cluster.models import Cluster
from apps.dashboard.queries.queue import history_page, queue_page
from apps.dashboard.rendering import Request, cluster_page, recorded_page, render_page
from apps.dashboard.tables import Field, describe_problem
from apps.dashboard.views.past import past_queue
from apps.engine.queue import activation
from apps.engine.queue.past import parse_past_moment

#: The field of `templates/dashboard/inc/moment_form.html`.
MOMENT = Field("at", "Queue at")


@require_GET
@recorded_page
def queue(request: Request, cluster: Cluster) -> HttpResponse:
    """The queue; with `at`, `version` or `decision`, as it was at that time.

    The form of the time keeps a text that is no moment, with the error.
    """
    try:
        moment = parse_past_moment(cluster, request.GET)
    except BadRequest as refusal:
        problem = describe_problem(refusal, [MOMENT])
        context = {"cluster": cluster, "problem": problem}
        return render_page(request, "past_queue", context, status=refusal.code)
    if moment is not None:
        return past_queue(request, cluster, moment)
    if cluster.deleted_at is not None:
        return redirect("queue-history", cluster=cluster.name)
    listed = queue_page(cluster, request.GET)
    context = {"cluster": cluster, "queue": listed, "sorting": listed.sorting}
    return render_page(request, "queue", context)


@require_GET
@recorded_page
def history(request: Request, cluster: Cluster) -> HttpResponse:
    listed = history_page(cluster, request.GET)
    context = {"cluster": cluster, "history": listed}
    return render_page(request, "queue_history", context, status=422 if listed.problem else 200)


@require_POST
@cluster_page
def activate(request: Request, cluster: Cluster) -> HttpResponse:
    """Activate the pods of a row, and return to the page of the button."""
    names = request.POST.get("pod", "").split()
    try:
        activation.activate(
            cluster,
            names,
            user=request.user.get_username(),
            request_id=current_request_id(),
        )
    except Invalid as refusal:
        messages.error(request, " ".join(cause.message for cause in refusal.causes))
    else:
        when = "when the cluster is resumed" if cluster.paused else "now"
        what = f"Pod {names[0]}" if len(names) == 1 else f"{len(names):,} pods"
        messages.success(request, f"{what} will be retried {when}.")
    target = request.POST.get("next", "")
    own = reverse("queue", args=[cluster.name])
    return redirect(target if target == own or target.startswith(f"{own}?") else own)
