"""CertificateSigningRequests: the requester is always the authenticated user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.writes import Actor

Body = dict[str, Any]

KIND: Final = "CertificateSigningRequest"
_REQUESTOR: Final = ("username", "uid", "groups", "extra")


def with_requestor(request: Body, actor: Actor) -> Body:
    """A new request with its user in `spec`."""
    given = request.get("spec") or {}
    spec = {name: value for name, value in given.items() if name not in _REQUESTOR}
    known = actor.identity.user_info if actor.identity is not None else {"username": actor.user}
    return {**request, "spec": {**spec, **known}}


def keep_request(request: Body, old: Mapping[str, Any]) -> None:
    """Keep the spec, which an update cannot change."""
    request["spec"] = old["spec"]


def stamp_conditions(request: Body, old: Mapping[str, Any], at: str) -> None:
    """Set the times that the conditions of an update lack: a type keeps that of its status."""
    conditions = (request.get("status") or {}).get("conditions") or ()
    before = {
        (each["type"], each.get("status")): each.get("lastTransitionTime")
        for each in (old.get("status") or {}).get("conditions") or ()
    }
    for each in conditions:
        if not each.get("lastUpdateTime"):
            each["lastUpdateTime"] = at
        if not each.get("lastTransitionTime"):
            known = before.get((each.get("type"), each.get("status")))
            each["lastTransitionTime"] = known or at
