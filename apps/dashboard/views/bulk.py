"""What the actions on many nodes and on many pods have in common."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpResponse
from django.shortcuts import redirect

from apps.administration.clusters import bulk
from apps.administration.clusters.bulk import BulkAction
from apps.administration.operations import service
from apps.cluster.models import Cluster
from apps.dashboard.rendering import Request, actor

#: An action on more objects runs as an operation.
MAX_IN_REQUEST = 200


def start_bulk(
    request: Request, cluster: Cluster, action: BulkAction, names: Sequence[str]
) -> HttpResponse:
    """Start the operation that applies the action to these objects, and show its progress."""
    arguments = {"resource": action.resource, "action": action.name, "text": action.text}
    operation = service.start(
        "bulk",
        action.title(len(names)),
        actor=actor(request),
        cluster=cluster,
        arguments=arguments,
        payload={"names": list(names)},
    )
    return redirect("operation", number=operation.pk)


def check_action(
    request: Request, cluster: Cluster, action: BulkAction, names: Sequence[str]
) -> None:
    """Raise the error that the store would return for the first of these objects."""
    bulk.check(cluster, action, names[0], actor=actor(request))
