"""Converts events between core/v1, the stored form, and events.k8s.io/v1."""

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


def to_events_v1(event: Body) -> Body:
    """A stored event as events.k8s.io/v1, which omits empty reporters."""
    renamed = _rename_fields(event, _NEW_NAMES, "events.k8s.io/v1")
    return {k: v for k, v in renamed.items() if v != "" or not k.startswith("reporting")}


def to_core_v1(event: Body) -> Body:
    """An events.k8s.io/v1 event in stored form."""
    return _rename_fields(event, _CORE_NAMES, "v1")


def _rename_fields(event: Body, names: dict[str, str], api_version: str) -> Body:
    renamed = {names.get(name, name): value for name, value in event.items()}
    if "apiVersion" in event:
        renamed["apiVersion"] = api_version
    return renamed
