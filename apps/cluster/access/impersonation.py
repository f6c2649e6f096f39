"""Impersonation: `kubectl --as`, `--as-group`, `--as-uid`, by users who may act as others."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Final
from urllib.parse import unquote

from apps.cluster.access.deciding import decide, refusal, require, with_role
from apps.cluster.access.identity import (
    ANONYMOUS,
    AUTHENTICATED,
    MASTERS,
    UNAUTHENTICATED,
    Identity,
    service_account_groups,
    split_service_account,
)
from apps.cluster.access.questions import Access
from apps.cluster.access.refusals import refuse
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster

#: How the names of all headers of impersonation start, in lower case.
PREFIX: Final = "impersonate-"
_EXTRA: Final = "impersonate-extra-"
_AUTHENTICATION: Final = "authentication.k8s.io"
_NODE: Final = "system:node:"
_NODES: Final = "system:nodes"


def impersonate(
    identity: Identity, headers: Mapping[str, str], cluster: Cluster, access: Access
) -> Identity:
    """The identity that a request with these *headers* (names in lower case) acts as.

    A user of the site who is impersonated has its role in the cluster. `access` is what the request
    does: some may act as others only to do that.

    Repeated headers are joined by commas. Raises Forbidden if the user may not act as that one,
    and BadRequest for headers that do not name a user.
    """
    given = {name: value for name, value in headers.items() if name.startswith(PREFIX)}
    if not given:
        return identity
    name = given.pop("impersonate-user", "")
    groups = tuple(_split(given.pop("impersonate-group", "")))
    uid = given.pop("impersonate-uid", "")
    extra = {
        unquote(header.removeprefix(_EXTRA)): _split(value)
        for header, value in given.items()
        if header.startswith(_EXTRA)
    }
    if not name:
        raise BadRequest(_without_name(groups, uid, extra))
    wanted = Identity(name, groups, uid, extra, identity.name)
    groups = _check(identity, wanted, access) or groups or service_account_groups(name)
    own = replace(wanted, groups=_with_authentication(name, groups))
    return replace(with_role(own, cluster), read_only=identity.read_only)


def _check(identity: Identity, wanted: Identity, access: Access) -> tuple[str, ...]:
    """Raise Forbidden unless one way to act as someone is open; the groups which that implies.

    Who may only do certain things as another one (constrained impersonation) is asked for that
    first, as by the API server, which then refuses in its words. It refuses in those of the general
    permission if that is what the user has of others.
    """
    mode = _mode_of(wanted)
    needed = [*_accesses(wanted, "impersonate", "")]
    if identity.role is not None or mode is None or all(map(partial(_may, identity), needed)):
        for each in needed:
            require(identity, each)
        return ()
    on = replace(access, verb=f"impersonate-on:{mode}:{access.verb}")
    constrained = [on, *_accesses(wanted, f"impersonate:{mode}", _AUTHENTICATION)]
    for each in needed if _impersonates(identity) else constrained:
        require(identity, each)
    if MASTERS in wanted.groups:
        why = "impersonating the system:masters group is not allowed"
        refuse(identity.name, refusal(identity, constrained[-1], why))
    return (_NODES,) if mode == "arbitrary-node" else ()


def _mode_of(wanted: Identity) -> str | None:
    """The way in which somebody is impersonated for certain requests; None if there is none."""
    is_node, is_account = wanted.name.startswith(_NODE), bool(split_service_account(wanted.name))
    if not (is_node or is_account):
        return "user-info"
    if wanted.groups or wanted.uid or wanted.extra:
        return None
    return "arbitrary-node" if is_node else "serviceaccount"


def _may(identity: Identity, access: Access) -> bool:
    return decide(identity, access).allowed


def _impersonates(identity: Identity) -> bool:
    """Whether a role lets someone impersonate others, whatever the request is."""
    find = identity.find_policy
    rules = find().rules(identity.name, identity.groups, "")[0] if find else ()
    return any({"impersonate", "*"} & {*rule.verbs} for rule in rules)


def _accesses(wanted: Identity, verb: str, group: str) -> Iterator[Access]:
    """What a user must be allowed to do; `group` is the API group of users and groups."""
    if account := split_service_account(wanted.name):
        namespace, own = account
        yield Access(verb, group, "v1", "serviceaccounts", namespace=namespace, name=own)
    elif group and wanted.name.startswith(_NODE):
        yield Access(verb, group, "v1", "nodes", name=wanted.name.removeprefix(_NODE))
    else:
        yield Access(verb, group, "v1", "users", name=wanted.name)
    if wanted.uid:
        yield Access(verb, _AUTHENTICATION, "v1", "uids", name=wanted.uid)
    for each in wanted.groups:
        yield Access(verb, group, "v1", "groups", name=each)
    for key, values in wanted.extra.items():
        for value in values:
            yield Access(verb, _AUTHENTICATION, "v1", "userextras", key, name=value)


def _without_name(groups: tuple[str, ...], uid: str, extra: Mapping[str, list[str]]) -> str:
    """The error for headers that name no user, as the API server prints what they name."""
    named = f"[]string{{{_quoted(groups)}}}" if groups else "[]string(nil)"
    values = ", ".join(
        f"{json.dumps(key)}:[]string{{{_quoted(extra[key])}}}" for key in sorted(extra)
    )
    more = f"map[string][]string{{{values}}}" if extra else "map[string][]string(nil)"
    return (
        f'requested &user.DefaultInfo{{Name:"", UID:{json.dumps(uid)}, Groups:{named}, '
        f"Extra:{more}}} without impersonating a user name"
    )


def _quoted(texts: Iterable[str]) -> str:
    return ", ".join(map(json.dumps, texts))


def _with_authentication(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    if AUTHENTICATED in groups or UNAUTHENTICATED in groups:
        return groups
    return (*groups, UNAUTHENTICATED if name == ANONYMOUS else AUTHENTICATED)


def _split(value: str) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()]
