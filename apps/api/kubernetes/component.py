"""What Kubernetes servers serve besides the API: probes, metrics, their configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from django.http import HttpRequest, HttpResponse, JsonResponse

from apps.api.kubernetes import probes
from apps.api.kubernetes.errors import NoRepresentation, WrongMethod
from apps.cluster import service_tokens
from apps.cluster.models import Cluster
from apps.engine.metrics import exposition
from apps.engine.metrics.exposition import Exposition
from apps.engine.profiles import revisions
from apps.scheduler.config.encoding import encode

Handler = Callable[[HttpRequest, Cluster], HttpResponse]


def answer(request: HttpRequest, cluster: Cluster, path: str) -> HttpResponse | None:
    """The document at `path`; None for any other path."""
    probe, _, check = path.partition("/")
    handler = _DOCUMENTS.get(path)
    if probe not in probes.PROBES and handler is None:
        return None
    if handler is not None:
        if request.method != "GET":
            raise WrongMethod
        return handler(request, cluster)
    return probes.answer(request, cluster, probe, check)


def _configz(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """The active revision with defaults, under the name that upstream registers it with."""
    configuration = revisions.load_configuration(revisions.get_active(cluster))
    return JsonResponse({"componentconfig": encode(configuration)})


def _metrics_handler(expose: Callable[[Cluster, str], Exposition]) -> Handler:
    def respond(request: HttpRequest, cluster: Cluster) -> HttpResponse:
        exposition = expose(cluster, request.headers.get("Accept", ""))
        return HttpResponse(exposition.text, content_type=exposition.content_type)

    return respond


def _issuer(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """The OpenID configuration of the issuer of the tokens of service accounts."""
    return JsonResponse(
        {
            "issuer": service_tokens.AUDIENCE,
            "jwks_uri": f"https://{request.get_host()}/k8s/{cluster.name}/{_KEYS_PATH}",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [service_tokens.ALGORITHM],
        }
    )


def _keys(request: HttpRequest, cluster: Cluster) -> HttpResponse:
    """The public keys of the issuer: none, because the site alone can check its signatures."""
    accepted = {
        each.partition(";")[0].strip() for each in request.headers.get("Accept", "*/*").split(",")
    }
    if accepted.isdisjoint((_KEYS_TYPE, "*/*")):
        raise NoRepresentation(_KEYS_TYPE)
    return JsonResponse({"keys": []}, content_type=_KEYS_TYPE)


_KEYS_PATH: Final = "openid/v1/jwks"
_KEYS_TYPE: Final = "application/jwk-set+json"
_DOCUMENTS: Mapping[str, Handler] = {
    ".well-known/openid-configuration": _issuer,
    "configz": _configz,
    "metrics": _metrics_handler(exposition.expose_cluster),
    "metrics/resources": _metrics_handler(exposition.expose_pods),
    _KEYS_PATH: _keys,
}
#: The paths of the documents.
PATHS = tuple(f"/{path}" for path in _DOCUMENTS)
