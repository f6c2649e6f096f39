"""Tokens of service accounts: `POST …/serviceaccounts/{name}/token`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from apps.api.kubernetes import params
from apps.api.kubernetes.calls import Answer, Call
from apps.cluster import kinds, queries, service_tokens
from apps.cluster.errors import BadRequest, Cause, Conflict, Invalid
from apps.cluster.validation.causes import invalid

Body = dict[str, Any]

_GROUP: Final = "authentication.k8s.io"
_DEFAULT_SECONDS: Final = 3600
_SHORTEST: Final = 600
_LONGEST: Final = 1 << 32


def create_token(call: Call) -> Answer:
    """POST of a TokenRequest; the answer has the token in its status."""
    request, warnings = call.read_request(_GROUP, "v1", "TokenRequest")
    metadata, spec = request.get("metadata") or {}, request.get("spec") or {}
    name = call.target.name
    if metadata.get("name", name) != name:
        raise BadRequest("metadata.name: must match the service account name if specified")
    if metadata.get("namespace", call.namespace) != call.namespace:
        raise BadRequest("metadata.namespace: must match the service account namespace")
    account = call.stored()
    seconds = spec.get("expirationSeconds") or _DEFAULT_SECONDS
    if causes := list(_causes(seconds)):
        raise Invalid("TokenRequest", "", causes, _GROUP)
    audiences = spec.get("audiences") or [service_tokens.AUDIENCE]
    bound_to = _bound_object(call, spec.get("boundObjectRef"))
    status: Body = {"token": "", "expirationTimestamp": None}
    if not params.dry_run(call.query, call.method):
        token = service_tokens.issue(
            call.cluster, account, seconds=seconds, audiences=audiences, bound_to=bound_to
        )
        expires = datetime.fromtimestamp(token.expires_at, UTC)
        status = {"token": token.text, "expirationTimestamp": f"{expires:%Y-%m-%dT%H:%M:%SZ}"}
    answered: Body = {
        "kind": "TokenRequest",
        "apiVersion": f"{_GROUP}/v1",
        "metadata": {
            "name": name,
            "namespace": call.namespace,
            "creationTimestamp": f"{call.cluster.now():%Y-%m-%dT%H:%M:%SZ}",
        },
        "spec": {"boundObjectRef": None, **spec}
        | {"audiences": audiences, "expirationSeconds": seconds},
        "status": status,
    }
    return Answer(answered, 201, warnings)


def _causes(seconds: int) -> Iterator[Cause]:
    field = "spec.expirationSeconds"
    if seconds < _SHORTEST:
        yield invalid(field, seconds, "may not specify a duration less than 10 minutes")
    if seconds > _LONGEST:
        yield invalid(field, seconds, "may not specify a duration larger than 2^32 seconds")


def _bound_object(call: Call, reference: Body | None) -> Body | None:
    """The object to which the token is bound, with its uid."""
    if reference is None:
        return None
    kind = next((kind for kind in kinds.ALL if kind.name == reference.get("kind")), None)
    if kind is None or kind.name not in ("Node", "Pod", "Secret"):
        raise BadRequest(
            f"cannot bind token to object of type {reference.get('apiVersion', '')}, "
            f"Kind={reference.get('kind', '')}"
        )
    name = reference.get("name", "")
    bound = queries.get(call.cluster, kind, call.namespace if kind.namespaced else "", name)
    uid = bound["metadata"]["uid"]
    if reference.get("uid", uid) != uid:
        why = (
            f"the UID in the bound object reference ({reference['uid']}) does not match the UID "
            f"in record. The object might have been deleted and then recreated"
        )
        raise Conflict(kind.plural, name, why, kind.group)
    return {"kind": kind.name, "name": name, "uid": uid}
