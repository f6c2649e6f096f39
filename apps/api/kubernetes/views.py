"""One view for every path of a cluster's Kubernetes API."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

from django.contrib.auth.models import User
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import APIException, AuthenticationFailed, NotAuthenticated
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.permissions import SAFE_METHODS
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request

from apps.api.kubernetes import (
    bodies,
    component,
    computed,
    documents,
    kubelet,
    media,
    params,
    patches,
    paths,
    reviews,
    scale,
    subresources,
    tokens,
    usage,
    verbs,
)
from apps.api.kubernetes.accesses import access_of, access_of_path
from apps.api.kubernetes.calls import Answer, Call
from apps.api.kubernetes.custom import parse_custom
from apps.api.kubernetes.errors import NoPage, UnknownPath, WrongMethod
from apps.api.kubernetes.finding import find, find_cluster
from apps.api.kubernetes.paths import Target
from apps.api.kubernetes.presenting import prepend_warning, present, warn
from apps.api.kubernetes.streaming import accepts_gzip
from apps.api.releasing import ReleasingView
from apps.cluster import service_tokens
from apps.cluster.access.deciding import SESSIONS, require
from apps.cluster.access.identity import Identity, identity_of
from apps.cluster.access.impersonation import impersonate
from apps.cluster.access.questions import Access
from apps.cluster.availability import is_database_unavailable, refusal_for
from apps.cluster.context import current_request_id, taking_notes
from apps.cluster.errors import ApiError, BadRequest, NotFound, Unauthorized
from apps.cluster.models import Cluster
from apps.cluster.writes import Actor, RequestOptions
from apps.cluster.writing.default_policy import create_default_policy
from apps.people.authentication import KEYWORDS, BearerAuthentication

log = logging.getLogger(__name__)
audit_log = logging.getLogger("kube-apiserver.audit")

Handler = Callable[[Call], Answer]

_OBJECT: Mapping[str, Handler] = {
    "GET": verbs.get,
    "PUT": verbs.update,
    "PATCH": patches.patch,
    "DELETE": verbs.delete,
}
_COLLECTION: Mapping[str, Handler] = {
    "GET": verbs.list_,
    "POST": verbs.create,
    "DELETE": verbs.delete_collection,
}
#: Kinds that are read, or only read, without a row: one object, and a list.
_COMPUTED: Mapping[str, tuple[Handler, Handler]] = {
    "ComponentStatus": (computed.get_component, computed.list_component_statuses),
    "Lease": (computed.get_lease, computed.list_all_leases),
}
_REVIEW: Mapping[str, Handler] = {"POST": reviews.answer}
_VERBS = {
    ("GET", True): "get",
    ("GET", False): "list",
    ("POST", False): "create",
    ("PUT", True): "update",
    ("PATCH", True): "patch",
    ("DELETE", True): "delete",
    ("DELETE", False): "deletecollection",
}
_STATUS: Mapping[str, Handler] = {
    "GET": verbs.get,
    "PUT": verbs.update,
    "PATCH": patches.patch,
}
_CONNECT: Mapping[str, Handler] = {"GET": kubelet.connect, "POST": kubelet.connect}
#: They are answered for as long as the client wants.
_LONG_RUNNING: Final = frozenset(("attach", "exec", "log", "portforward", "proxy"))
_SUBRESOURCES: Mapping[str, Mapping[str, Handler]] = {
    "approval": _STATUS,
    "ephemeralcontainers": _STATUS,
    "binding": {"POST": subresources.bind},
    "eviction": {"POST": subresources.evict_pod},
    "log": {"GET": kubelet.log},
    "attach": _CONNECT,
    "exec": _CONNECT,
    "portforward": _CONNECT,
    "proxy": dict.fromkeys(("GET", "POST", "PUT", "PATCH", "DELETE"), kubelet.proxy),
    "finalize": {"PUT": subresources.finalize},
    "token": {"POST": tokens.create_token},
    "scale": {"GET": scale.get, "PUT": scale.update, "PATCH": scale.patch},
    "resize": _STATUS,
    "status": _STATUS,
}


class ServiceAccountAuthentication(BaseAuthentication):
    """Tokens of the service accounts of the cluster that the path names."""

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        keyword, _, token = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
        if keyword.lower() not in KEYWORDS or not service_tokens.is_service_token(token):
            return None
        try:
            cluster = find_cluster(request.parser_context["kwargs"]["cluster"])
            return service_tokens.verify(cluster, token.strip()), None
        except (NotFound, service_tokens.InvalidToken) as error:
            raise AuthenticationFailed(str(error)) from error

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class AnyContent(BaseContentNegotiation):
    """Leaves the Accept header to `media`, because Kubernetes has its own rules."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(
        self, request: Request, renderers: Any, format_suffix: str | None = None
    ) -> tuple[JSONRenderer, str]:
        return JSONRenderer(), "application/json"


class KubernetesView(ReleasingView):
    """Parses a request into a Call, calls the verb, and returns every error as a Status."""

    authentication_classes = [
        ServiceAccountAuthentication,
        BearerAuthentication,
        SessionAuthentication,
    ]
    content_negotiation_class = AnyContent
    http_method_names = ["get", "post", "put", "patch", "delete", "options", "head"]
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        self.perform_authentication(request)
        self.check_permissions(request)

    def get(self, request: Request, cluster: str, path: str) -> HttpResponseBase:
        return self.answer(request, cluster, path)

    post = put = patch = delete = get

    def options(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        raise WrongMethod

    # Django sends HEAD to get; here it is rejected
    head = options

    def answer(self, request: Request, cluster: str, path: str) -> HttpResponseBase:
        target = paths.parse(path)
        accept = request.META.get("HTTP_ACCEPT", "")
        user = request.user
        # the permission of the view lets no one else pass
        assert isinstance(user, User)
        headers = impersonation_headers(request.META)

        def identify(cluster: Cluster, access: Access) -> Identity:
            return impersonate(identity_of(user, cluster), headers, cluster, access)

        if target is None:
            row = find_cluster(cluster)
            target = parse_custom(row, path)
        if target is None:
            plain = request._request
            access = access_of_path(path, str(request.method), plain.GET)
            require(identify(row, access), access)
            return (
                component.answer(plain, row, path)
                or usage.answer(plain, row, path, accept)
                or documents.answer(plain, row, path, accept)
            )
        return answer(
            cluster,
            target,
            method=str(request.method),
            query=request._request.GET,
            read=lambda: _body(request._request),
            content_type=request.META.get("CONTENT_TYPE", ""),
            accept=accept,
            identify=identify,
            user_agent=request.META.get("HTTP_USER_AGENT", ""),
            accepts_gzip=accepts_gzip(request.META.get("HTTP_ACCEPT_ENCODING", "")),
            idempotency_key=request.META.get("HTTP_IDEMPOTENCY_KEY", ""),
        )

    def handle_exception(self, exc: Exception) -> Any:
        if isinstance(exc, (NotAuthenticated, AuthenticationFailed)):
            exc = Unauthorized("Unauthorized")
        elif isinstance(exc, APIException):
            exc = _as_api_error(exc)
        writes = self.request.method not in SAFE_METHODS
        response = error_response(exc, self.request.META.get("HTTP_ACCEPT", ""), writes=writes)
        if response is None:
            raise exc
        return response


def answer(
    cluster_name: str,
    target: Target,
    *,
    method: str,
    query: QueryDict,
    read: Callable[[], bytes],
    content_type: str,
    accept: str,
    identify: Callable[[Cluster, Access], Identity],
    user_agent: str,
    accepts_gzip: bool = False,
    idempotency_key: str = "",
) -> HttpResponseBase:
    """The response to a request for an object or a collection.

    `read` returns its body, `identify` its user in the cluster, who wants to do something.
    """
    read_once = cache(read)
    resolved = find(cluster_name, target, read_once)
    access = access_of(target, method, query)
    identity = identify(resolved.cluster, access)
    params.check_text(query)
    if target.subresource not in _LONG_RUNNING:
        params.check_timeout(query)
    require(identity, access)
    if access.verb == "get" and access.subresource in SESSIONS:
        # a WebSocket requests with GET what creates a session
        require(identity, replace(access, verb="create"))
    if target.resource.has_defaults and create_default_policy(resolved.cluster):
        resolved = find(cluster_name, target, read_once)
    call = Call(
        resolved=resolved,
        target=target,
        method=method,
        query=query,
        raw=read_once(),
        content_type=content_type,
        media=_negotiate(target, method, accept, query, user_agent),
        actor=Actor(
            identity.actor,
            current_request_id(),
            params.manager_of(query, user_agent),
            identity,
            asked_by(target, method, query),
        ),
        identity=identity,
        accepts_gzip=accepts_gzip,
        idempotency_key=idempotency_key,
    )
    return _carry_out(call)


def _negotiate(
    target: Target, method: str, accept: str, query: QueryDict, user_agent: str
) -> media.Media:
    negotiated = media.negotiate(
        accept,
        protobuf=target.resource.has_message,
        custom=target.resource.custom is not None,
        listed=method == "GET" and not target.name,
    )
    return replace(negotiated, pretty=media.is_pretty(query.get("pretty"), user_agent))


def _carry_out(call: Call) -> HttpResponseBase:
    """Call the handler; the response, or the error, has the warnings of admission and kind."""
    deprecation = call.resource.deprecation
    with taking_notes() as notes:
        try:
            result = find_handler(call.target, call.method)(call)
            result.warnings += notes.warnings
            response = present(call, result)
        except ApiError as refusal:
            refusal.warnings = [*refusal.warnings, *notes.warnings]
            if deprecation:
                refusal.warnings = [deprecation, *refusal.warnings]
            raise
        finally:
            if notes.annotations:
                _log_annotations(call, notes.annotations)
    return prepend_warning(response, deprecation) if deprecation else response


def asked_by(target: Target, method: str, query: QueryDict) -> RequestOptions:
    """What policies and webhooks are told of a request beside its object."""
    options = {name: query[name] for name in ("fieldManager", "fieldValidation") if query.get(name)}
    return RequestOptions(options, collection=method == "DELETE" and not target.name)


def _log_annotations(call: Call, annotations: Mapping[str, str]) -> None:
    """Write what policies note about a request, which kube-apiserver has in its audit log."""
    resolved, target = call.resolved, call.target
    fields = {
        "cluster": resolved.cluster.name,
        "user": call.actor.user,
        "method": call.method,
        "resource": target.resource.kind.plural,
        "subresource": target.subresource,
        "namespace": target.namespace or "",
        "name": target.name or "",
        **annotations,
    }
    audit_log.info("Admission policies noted", extra={"fields": fields})


def error_response(error: Exception, accept: str, *, writes: bool = False) -> HttpResponse | None:
    """The response for an error that a request may cause; None for any other."""
    if isinstance(error, ApiError):
        return refusal_response(error, accept)
    if is_database_unavailable(error):
        log.error("the database is unavailable or overloaded", exc_info=error)
        return refusal_response(refusal_for(error, writes=writes), accept)
    if isinstance(error, RequestDataTooBig):
        return refusal_response(bodies.too_large(), accept)
    return None


def find_handler(target: Target, method: str) -> Handler:
    """The handler for a method at a target; WrongMethod if there is none."""
    if target.resource.is_review:
        handler = None if target.name else _REVIEW.get(method)
        if target.resource.namespaced and target.namespace is None:
            handler = None
    elif target.subresource:
        handler = _SUBRESOURCES[target.subresource].get(method)
    else:
        handler = _verb_handler(target, method)
    if handler is None:
        raise WrongMethod
    return handler


def _verb_handler(target: Target, method: str) -> Handler | None:
    verb = _VERBS.get((method, bool(target.name)))
    nowhere = target.resource.namespaced and target.namespace is None
    # across all namespaces, objects can only be listed
    if verb not in target.resource.verbs or (nowhere and verb in ("create", "deletecollection")):
        return None
    if method == "GET" and not target.resource.reads_rows:
        get, list_ = _COMPUTED[target.resource.kind.name]
        return get if target.name else list_
    return (_OBJECT if target.name else _COLLECTION)[method]


def impersonation_headers(meta: Mapping[str, Any]) -> dict[str, str]:
    """The headers of impersonation in the variables of a request, names in lower case."""
    return {
        name.removeprefix("HTTP_").replace("_", "-").lower(): value
        for name, value in meta.items()
        if name.startswith("HTTP_IMPERSONATE_")
    }


def refusal_response(refusal: ApiError, accept: str = "") -> HttpResponse:
    """The response for an error: its Status, in an accepted format."""
    if isinstance(refusal, NoPage):
        return HttpResponse(
            f"{refusal.message}\n", content_type="text/plain; charset=utf-8", status=refusal.code
        )
    response = media.response(refusal.status(), media.negotiate_errors(accept), status=refusal.code)
    retry = refusal.details.get("retryAfterSeconds")
    if retry is not None:
        response.headers["Retry-After"] = str(retry)
    if refusal.code == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return warn(response, refusal.warnings)


def _body(request: HttpRequest) -> bytes:
    """The whole body, up to the limit of the API (not of Django's forms)."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    bodies.check_size(int(length) if length.isdecimal() else 0)
    raw = request.read(bodies.MAX_BYTES + 1)
    bodies.check_size(len(raw))
    return raw


def _as_api_error(error: APIException) -> ApiError:
    if error.status_code == 405:
        return WrongMethod()
    if error.status_code == 404:
        return UnknownPath()
    return BadRequest(str(error.detail))
