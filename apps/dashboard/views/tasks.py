"""Long work: the list, one task, cancelling it, fetching what came out."""

from __future__ import annotations

import zstandard
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from apps.cluster.errors import ApiError, NotFound
from apps.cluster.models import Cluster
from apps.controlplane.models import Operation
from apps.controlplane.operations import service
from apps.dashboard.queries.tasks import task_list
from apps.dashboard.rendering import Request, actor, cluster_page, page, refused
from apps.dashboard.streams import site_stamp


@require_GET
def tasks(request: Request) -> HttpResponse:
    stamp = site_stamp()
    found = task_list(request.GET.dict())
    return page(request, "tasks", {"tasks": found, "sorting": found.sorting, "stamp": stamp})


@require_GET
def task(request: Request, number: int) -> HttpResponse:
    stamp = site_stamp()
    try:
        operation = service.get_operation(number)
    except ApiError as refusal:
        return refused(request, refusal)
    return page(request, "task", {"task": operation, "stamp": stamp})


@require_POST
def cancel(request: Request, number: int) -> HttpResponse:
    try:
        service.cancel(service.get_operation(number))
    except ApiError as refusal:
        return refused(request, refusal)
    return redirect("task", number=number)


@require_GET
def output(request: Request, number: int) -> HttpResponse:
    """The file that came out."""
    found = Operation.objects.filter(pk=number).values_list("output", "output_name").first()
    if found is None or found[0] is None:
        return refused(request, NotFound("outputs of tasks", str(number)))
    text = zstandard.decompress(bytes(found[0]))
    headers = {"Content-Disposition": f'attachment; filename="{found[1]}"'}
    return HttpResponse(text, content_type="application/yaml", headers=headers)


@require_POST
@cluster_page
def export(request: Request, cluster: Cluster) -> HttpResponse:
    """Begin to export the cluster as YAML."""
    title = f"Export cluster {cluster.name} as YAML"
    operation = service.start("export", title, actor=actor(request), cluster=cluster)
    messages.info(request, "The file can be fetched here when it is done.")
    return redirect("task", number=operation.pk)
