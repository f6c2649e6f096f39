"""Columns of accounts, roles and requests for certificates."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from apps.cluster.tables.columns import (
    AGE,
    NAME,
    NONE,
    Body,
    Cell,
    Column,
    duration,
    get,
    path,
)


def _subjects(kind: str) -> Cell:
    def cell(binding: Body, now: datetime) -> str:
        subjects = [s for s in get(binding, "subjects", default=[]) if s["kind"] == kind]
        if kind == "ServiceAccount":
            return ", ".join(f"{each.get('namespace', '')}/{each['name']}" for each in subjects)
        return ", ".join(each["name"] for each in subjects)

    return cell


def _request_condition(request: Body, now: datetime) -> str:
    types = [each["type"] for each in get(request, "status", "conditions", default=[])]
    shown = [each for each in ("Approved", "Denied", "Failed") if each in types] or ["Pending"]
    return ",".join([*shown, *(["Issued"] if get(request, "status", "certificate") else [])])


def _requested_duration(request: Body, now: datetime) -> str:
    seconds = get(request, "spec", "expirationSeconds", default=0)
    return duration(seconds) if seconds else NONE


BINDINGS = (
    NAME,
    Column("Role", lambda b, now: "/".join(get(b, "roleRef", each) for each in ("kind", "name"))),
    AGE,
    Column("Users", _subjects("User"), priority=1),
    Column("Groups", _subjects("Group"), priority=1),
    Column("ServiceAccounts", _subjects("ServiceAccount"), priority=1),
)


CERTIFICATE_SIGNING_REQUESTS: Final = (
    NAME,
    AGE,
    Column("SignerName", path("spec", "signerName", default=NONE)),
    Column("Requestor", path("spec", "username")),
    Column("RequestedDuration", _requested_duration),
    Column("Condition", _request_condition),
)
