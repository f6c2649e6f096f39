"""DeleteOptions, from the body of a DELETE and from its query parameters."""

from __future__ import annotations

from typing import Any

from apps.api.kubernetes import bodies, params
from apps.api.kubernetes.calls import Call
from apps.cluster.documents import UnreadableDocument
from apps.cluster.errors import BadRequest
from apps.cluster.schema import ShapeError, decode

Body = dict[str, Any]

_DEFINITION = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"


def delete_options(call: Call) -> Body:
    """The options of body and parameters combined; `dryRun` is a bool."""
    options = _body_options(call)
    if not call.raw:
        options = _query_options(call)
    elif call.query.get("gracePeriodSeconds"):
        options.setdefault("gracePeriodSeconds", params.number(call.query, "gracePeriodSeconds"))
    policy = options.get("propagationPolicy", "")
    params.check_propagation(policy)
    if policy and "orphanDependents" in options:
        raise params.contradiction(
            "DeleteOptions",
            "propagationPolicy",
            policy,
            "orphanDependents and deletionPropagation cannot be both set",
        )
    in_body = any(value == "All" for value in options.get("dryRun") or ())
    options["dryRun"] = params.dry_run(call.query, call.method) or in_body
    return options


def _body_options(call: Call) -> Body:
    if not call.raw:
        return {}
    try:
        value = bodies.parse(call.raw, call.content_type, "v1", "DeleteOptions")
    except UnreadableDocument as error:
        raise BadRequest(f"couldn't get version/kind; {error}") from error
    if type(value) is not dict:
        raise BadRequest("couldn't get version/kind; json parse error: not an object")
    _check_kind(value)
    try:
        return decode(_DEFINITION, value).body
    except ShapeError as error:
        raise BadRequest(f"DeleteOptions cannot be read: {error.message}") from error


def _check_kind(options: Body) -> None:
    """Every group and version has DeleteOptions; a body may leave out its type."""
    kind = options.get("kind") or "DeleteOptions"
    version = options.get("apiVersion") or "v1"
    if kind != "DeleteOptions":
        raise BadRequest(
            f'no kind "{kind}" is registered for version "{version}" in scheme '
            '"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:31"'
        )


def _query_options(call: Call) -> Body:
    options: Body = {}
    grace = params.number(call.query, "gracePeriodSeconds")
    if grace is not None:
        options["gracePeriodSeconds"] = grace
    if policy := call.query.get("propagationPolicy"):
        options["propagationPolicy"] = policy
    if "orphanDependents" in call.query:
        options["orphanDependents"] = params.flag(call.query, "orphanDependents")
    return options
