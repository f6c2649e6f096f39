"""Long-running operations: the list, one operation, cancelling it, downloading its output."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from apps.administration.operations import service, undoing
from apps.cluster.errors import ApiError, NotFound
from apps.cluster.models import Cluster
from apps.dashboard.paging import parse_whole_number
from apps.dashboard.queries.operations import operation_list
from apps.dashboard.rendering import (
    Request,
    actor,
    cluster_page,
    render_page,
    render_refusal,
    site_page,
)
from apps.dashboard.streams import site_stamp
from apps.engine.models import Operation


@require_GET
@site_page
def operations(request: Request) -> HttpResponse:
    stamp = site_stamp(request.user)
    listed = operation_list(request.GET.dict(), request.user)
    context = {"operations": listed, "sorting": listed.sorting, "stamp": stamp}
    return render_page(request, "operations", context)


@require_GET
def operation(request: Request, number: int) -> HttpResponse:
    stamp = site_stamp(request.user)
    try:
        shown = service.get_operation(number)
    except ApiError as refusal:
        return render_refusal(request, refusal)
    context = {"operation": shown, "undoable": undoing.can_be_undone(shown), "stamp": stamp}
    return render_page(request, "operation", context)


@require_POST
def cancel(request: Request, number: int) -> HttpResponse:
    try:
        service.cancel(service.get_operation(number))
    except ApiError as refusal:
        return render_refusal(request, refusal)
    return redirect("operation", number=number)


@require_POST
def undo(request: Request, number: int) -> HttpResponse:
    """Start the operation that undoes a bulk action."""
    try:
        started = undoing.start_undo(service.get_operation(number), actor=actor(request))
    except ApiError as refusal:
        return render_refusal(request, refusal)
    return redirect("operation", number=started.pk)


@require_GET
def output(request: Request, number: int) -> HttpResponse:
    """The file that the operation wrote."""
    try:
        name, text = service.download(number, user=request.user)
    except ApiError as refusal:
        return render_refusal(request, refusal)
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type=service.content_type_of(name), headers=headers)


def find_failed(request: Request, cluster: Cluster | None) -> Operation | None:
    """The failed operation (`?again=`) whose form is to be shown once more, for GET only.

    Raises NotFound for an operation of somebody else.
    """
    number = parse_whole_number(request.GET, "again")
    if number is None or request.method != "GET":
        return None
    candidate = service.operations_for(request.user).filter(pk=number).first()
    if candidate is None or candidate.user != request.user.get_username():
        raise NotFound("operations", str(number))
    usable = candidate.can_be_corrected and candidate.state == Operation.State.FAILED
    return candidate if usable and candidate.cluster == cluster else None


@require_POST
@cluster_page
def export(request: Request, cluster: Cluster) -> HttpResponse:
    """Start an export of the cluster as YAML."""
    started = service.start_export(cluster, user=request.user, actor=actor(request))
    messages.info(request, "You can download the file here when the operation has finished.")
    return redirect("operation", number=started.pk)
