"""Events and Leases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apps.cluster.validation import names
from apps.cluster.validation.causes import Causes, all_invalid, invalid, required

Body = Mapping[str, Any]

_TYPES: Final = ("Normal", "Warning")
_NOTE_LENGTH: Final = 1024
_FIELD_LENGTH: Final = 128
#: Namespaces for events about cluster-scoped objects.
_OF_CLUSTER: Final = ("default", "kube-system")


def validate_event(event: Body) -> Causes:
    """An event of the core group; one with an eventTime is new-style and must be complete.

    Field names are those of the core group, except for `reportingController`.
    """
    namespace = event["metadata"].get("namespace", "")
    about = event.get("involvedObject", {}).get("namespace", "")
    if not event.get("eventTime"):
        if namespace != about and (about or namespace not in ("", "default")):
            yield invalid("involvedObject.namespace", about, "does not match event.namespace")
        return
    if not about and namespace not in _OF_CLUSTER:
        yield invalid("involvedObject.namespace", about, "does not match event.namespace")
    yield from _reporter(event)
    for field in ("reportingInstance", "action", "reason"):
        given = event.get(field, "")
        if not given:
            yield required(field)
        if len(given) > _FIELD_LENGTH:
            yield invalid(field, "", f"can have at most {_FIELD_LENGTH} characters")
    if len(event.get("message", "")) > _NOTE_LENGTH:
        yield invalid("message", "", f"can have at most {_NOTE_LENGTH} characters")
    if event.get("type") not in _TYPES:
        yield invalid("type", "", f"has invalid value: {event.get('type', '')}")


def validate_lease(lease: Body) -> Causes:
    """A Lease."""
    spec = lease.get("spec", {})
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if seconds is not None and seconds <= 0:
        yield invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    if transitions is not None and transitions < 0:
        yield invalid("spec.leaseTransitions", transitions, names.NOT_NEGATIVE)


def _reporter(event: Body) -> Causes:
    reporter = event.get("reportingComponent", "")
    if not reporter:
        yield required("reportingController")
    yield from all_invalid("reportingController", reporter, names.qualified_name(reporter))
