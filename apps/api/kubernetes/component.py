"""What Kubernetes servers serve besides the API: probes, metrics, their configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from django.http import HttpRequest, HttpResponse, JsonResponse

from apps.api.kubernetes import probes
from apps.api.kubernetes.errors import WrongMethod
from apps.cluster.models import Cluster
from apps.engine.metrics import exposition
from apps.engine.metrics.exposition import Exposition
from apps.engine.profiles import revisions
from apps.scheduler.config.encoding import encode


def answer(request: HttpRequest, cluster: Cluster, path: str) -> HttpResponse | None:
    """The document at `path`; None for any other path."""
    path = path.removesuffix("/")
    probe, _, check = path.partition("/")
    found = _DOCUMENTS.get(path)
    if probe not in probes.PROBES and found is None:
        return None
    if request.method != "GET":
        raise WrongMethod
    if found is not None:
        return found(cluster, request.headers.get("Accept", ""))
    return probes.answer(request, cluster, probe, check)


def _configz(cluster: Cluster, accept: str) -> HttpResponse:
    """The active revision with defaults, under the name that upstream registers it with."""
    configuration = revisions.load_configuration(revisions.get_active(cluster))
    return JsonResponse({"componentconfig": encode(configuration)})


def _metrics_handler(expose: Callable[[Cluster, str], Exposition]) -> Callable[..., HttpResponse]:
    def respond(cluster: Cluster, accept: str) -> HttpResponse:
        found = expose(cluster, accept)
        return HttpResponse(found.text, content_type=found.content_type)

    return respond


_DOCUMENTS: Mapping[str, Callable[[Cluster, str], HttpResponse]] = {
    "configz": _configz,
    "metrics": _metrics_handler(exposition.expose_cluster),
    "metrics/resources": _metrics_handler(exposition.expose_pods),
}
#: The paths of the documents.
PATHS = tuple(f"/{path}" for path in _DOCUMENTS)
