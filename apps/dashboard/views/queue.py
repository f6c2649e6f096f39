"""The scheduling queue."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_GET

from apps.cluster.models import Cluster
from apps.controlplane.models import QueueEntry
from apps.dashboard.paging import whole_number
from apps.dashboard.rendering import Request, cluster_page, page
from apps.dashboard.selectors.queue import one_queue, queue_at_a_glance

SIZE = 100


@require_GET
@cluster_page
def queue(request: Request, cluster: Cluster) -> HttpResponse:
    """All four queues, or one of them page by page."""
    context: dict[str, object] = {"cluster": cluster, "first": 0}
    name = request.GET.get("queue", "")
    if name in QueueEntry.Queue.values:
        asked = whole_number(request.GET, "page") or 1
        only, number = one_queue(cluster, QueueEntry.Queue(name), page=asked, size=SIZE)
        first = (number - 1) * SIZE
        context |= {
            "queues": [only],
            "only": only,
            "number": number,
            "first": first,
            "previous": number - 1 if number > 1 else None,
            "next": number + 1 if first + SIZE < only.size else None,
        }
    else:
        context["queues"] = queue_at_a_glance(cluster)
    return page(request, "queue", context)
