"""Columns of admission and extensions of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from apps.cluster.tables.columns import (
    AGE,
    NAME,
    UNSET,
    Body,
    Cell,
    Column,
    count,
    get,
    path,
)


def _param(*steps: str) -> Cell:
    def cell(body: Body, now: datetime) -> str:
        param = get(body, *steps, default={})
        if not param:
            return UNSET
        if "apiVersion" in param:
            return f"{param['apiVersion']}/{param['kind']}"
        place = param.get("namespace") or "*"
        return f"{place}/{param['name']}" if "name" in param else f"{place}/*"

    return cell


def _service(api_service: Body, now: datetime) -> str:
    service = get(api_service, "spec", "service", default={})
    return f"{service.get('namespace')}/{service.get('name')}" if service else "Local"


def _available(api_service: Body, now: datetime) -> str:
    for condition in get(api_service, "status", "conditions", default=[]):
        if condition["type"] == "Available":
            is_true = condition["status"] == "True"
            return "True" if is_true else f"{condition['status']} ({condition.get('reason', '')})"
    return "Unknown"


WEBHOOKS = (NAME, Column("Webhooks", count("webhooks"), "integer"), AGE)


POLICY_BINDINGS = (
    NAME,
    Column("PolicyName", path("spec", "policyName")),
    Column("ParamRef", _param("spec", "paramRef")),
    AGE,
)


_PARAM_KIND = Column("ParamKind", _param("spec", "paramKind"))


API_SERVICES: Final = (NAME, Column("Service", _service), Column("Available", _available), AGE)
MUTATING_ADMISSION_POLICIES: Final = (
    NAME,
    Column("Mutations", count("spec", "mutations"), "integer"),
    _PARAM_KIND,
    AGE,
)
VALIDATING_ADMISSION_POLICIES: Final = (
    NAME,
    Column("Validations", count("spec", "validations"), "integer"),
    _PARAM_KIND,
    AGE,
)
