"""What Kubernetes' servers answer beside the API: probes, metrics, their configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from django.http import HttpRequest, HttpResponse, JsonResponse

from apps.api.kubernetes import probes
from apps.api.kubernetes.errors import WrongMethod
from apps.cluster.models import Cluster
from apps.controlplane.metrics import exposition
from apps.controlplane.metrics.exposition import Exposition
from apps.controlplane.profiles import revisions
from apps.scheduler.config.encoding import encode


def answer(request: HttpRequest, cluster: Cluster, path: str) -> HttpResponse | None:
    """The document at `path`; None when it is none of these."""
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
    """The active revision, defaulted; kept under the name that upstream registers it by."""
    configuration = revisions.load_configuration(revisions.get_active(cluster))
    return JsonResponse({"componentconfig": encode(configuration)})


def _exposed(expose: Callable[[Cluster, str], Exposition]) -> Callable[..., HttpResponse]:
    def respond(cluster: Cluster, accept: str) -> HttpResponse:
        found = expose(cluster, accept)
        return HttpResponse(found.text, content_type=found.content_type)

    return respond


_DOCUMENTS: Mapping[str, Callable[[Cluster, str], HttpResponse]] = {
    "configz": _configz,
    "metrics": _exposed(exposition.of_cluster),
    "metrics/resources": _exposed(exposition.of_pods),
}
