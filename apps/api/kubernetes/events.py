"""Events have two faces: core/v1, as they are stored, and events.k8s.io/v1."""

from __future__ import annotations

from typing import Any

Body = dict[str, Any]

#: core/v1 field -> events.k8s.io/v1 field; everything else has the same name.
_NEW_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_CORE_NAMES = {new: core for core, new in _NEW_NAMES.items()}


def to_new(event: Body) -> Body:
    """A stored event as events.k8s.io/v1, where empty reporters are left out."""
    renamed = _renamed(event, _NEW_NAMES, "events.k8s.io/v1")
    return {k: v for k, v in renamed.items() if v != "" or not k.startswith("reporting")}


def to_core(event: Body) -> Body:
    """An events.k8s.io/v1 event as it is stored."""
    return _renamed(event, _CORE_NAMES, "v1")


def _renamed(event: Body, names: dict[str, str], api_version: str) -> Body:
    renamed = {names.get(name, name): value for name, value in event.items()}
    if "apiVersion" in event:
        renamed["apiVersion"] = api_version
    return renamed
