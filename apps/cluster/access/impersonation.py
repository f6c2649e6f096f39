"""Impersonation: `kubectl --as`, `--as-group`, `--as-uid`, by users who may act as others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import unquote

from apps.cluster.access.deciding import Access, require, with_role
from apps.cluster.access.identity import (
    ANONYMOUS,
    AUTHENTICATED,
    UNAUTHENTICATED,
    Identity,
    service_account_groups,
    split_service_account,
)
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster

#: How the names of all headers of impersonation start, in lower case.
PREFIX: Final = "impersonate-"
_EXTRA: Final = "impersonate-extra-"


def impersonate(identity: Identity, headers: Mapping[str, str], cluster: Cluster) -> Identity:
    """The identity that a request with these *headers* (names in lower case) acts as.

    A user of the site who is impersonated has its role in the cluster.

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
        raise BadRequest("Impersonate-Group, -Uid and -Extra require the header Impersonate-User")
    for access in _accesses(name, groups, uid, extra):
        require(identity, access)
    groups = groups or service_account_groups(name)
    own = Identity(name, _with_authentication(name, groups), uid, extra, identity.name)
    return replace(with_role(own, cluster), read_only=identity.read_only)


def _accesses(
    name: str, groups: Iterable[str], uid: str, extra: Mapping[str, list[str]]
) -> Iterable[Access]:
    """What the user must be allowed to do."""
    if account := split_service_account(name):
        namespace, own = account
        yield Access("impersonate", "", "v1", "serviceaccounts", namespace=namespace, name=own)
    else:
        yield Access("impersonate", "", "v1", "users", name=name)
    for group in groups:
        yield Access("impersonate", "", "v1", "groups", name=group)
    authentication = "authentication.k8s.io"
    for key, values in extra.items():
        for value in values:
            yield Access("impersonate", authentication, "v1", "userextras", key, name=value)
    if uid:
        yield Access("impersonate", authentication, "v1", "uids", name=uid)


def _with_authentication(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    if AUTHENTICATED in groups or UNAUTHENTICATED in groups:
        return groups
    return (*groups, UNAUTHENTICATED if name == ANONYMOUS else AUTHENTICATED)


def _split(value: str) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()]
