"""A version of a cluster, and the time of the cluster's clock at which it was the last one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar

from django.utils import timezone

from apps.cluster.errors import BadRequest, Expired
from apps.cluster.log.versions import version_before
from apps.cluster.models import Cluster, HistoricChange
from apps.engine import periods
from apps.engine.periods import wrong
from apps.engine.queue import past

#: The parameters that select a moment; at most one is given.
PARAMETERS = (*past.MOMENTS, "zone")
_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class PastVersion:
    """The state that a version has at a time: the version is the last one up to the time."""

    #: the resourceVersion of this state
    version: int
    #: by the cluster's clock
    at: datetime
    #: the decision that the moment was selected by
    decision: int | None = None

    ANSWER: ClassVar = ("version", "at")


@dataclass(frozen=True, slots=True)
class Life:
    """The versions of a cluster whose state can be read, and their times."""

    #: the first version whose state can be read
    first: PastVersion
    now: PastVersion


class BeforeBeginning(BadRequest):
    """A time before the first change of the cluster; `earliest` is the first moment."""

    def __init__(self, field: str, earliest: PastVersion) -> None:
        error = wrong(field, f"is before the first change; {_name(earliest)}")
        super().__init__(error.message, details=error.details)
        self.earliest = earliest


class Forgotten(Expired):
    """A moment to which the change log no longer reaches back; `earliest` is the first one."""

    def __init__(self, earliest: PastVersion) -> None:
        super().__init__(
            f"The change log no longer reaches back to this moment; {_name(earliest)}."
        )
        self.earliest = earliest


def _name(earliest: PastVersion) -> str:
    at = periods.format_utc(earliest.at)
    return f"the earliest moment is version {earliest.version}, at={at}"


def read_life(cluster: Cluster) -> Life:
    """From the first version whose state can be read to the present one."""
    now = PastVersion(cluster.resource_version, cluster.now())
    changes = HistoricChange.objects.filter(cluster=cluster, version__gte=cluster.forgotten_version)
    first = changes.order_by("version").values_list("version", "at").first()
    return Life(now if first is None else PastVersion(*first), now)


def find_beginning(cluster: Cluster, at: datetime) -> datetime | None:
    """The time of the cluster's first change if `at` is before it; None if that is forgotten."""
    if version_before(cluster.pk, at + _TICK, top=cluster.resource_version):
        return None
    return _find_first_change(cluster)


def parse_past_version(cluster: Cluster, query: Mapping[str, Any]) -> PastVersion:
    """The moment of `at`, `version` or `decision`; now if none is given.

    BadRequest names a wrong parameter; NotFound for an unknown decision; Expired if the change log
    no longer reaches back to the moment.
    """
    moment = past.parse_past_moment(cluster, query)
    if moment is None:
        return PastVersion(cluster.resource_version, cluster.now())
    if moment.version is None:
        return _version_at(cluster, "at", moment.at)
    return _check(cluster, PastVersion(moment.version, moment.at, moment.decision))


def parse_version_or_time(
    cluster: Cluster, query: Mapping[str, Any], field: str, *, starts: bool = False
) -> PastVersion:
    """The moment that one parameter names, as a version or as a time.

    With `starts` it begins a span, and a time before the first change means that one. Times without
    an offset are in the zone of the parameter `zone`. Raises the same errors as
    `parse_past_version`.
    """
    text = str(query.get(field) or "").strip()
    if not text:
        raise wrong(field, "is required: a version or a time")
    try:
        if text.isascii() and text.isdecimal():
            return parse_past_version(cluster, {"version": text})
        zone = str(query.get("zone") or "").strip()
        tz = periods.parse_zone(zone) if zone else timezone.get_current_timezone()
        at = periods.parse_moment(field, text, now=cluster.now(), zone=tz)
    except BadRequest as error:
        raise _rename(error, field) from None
    if at > cluster.now():
        raise wrong(field, f"{text!r} is in the future of the cluster's clock")
    try:
        return _version_at(cluster, field, at)
    except BeforeBeginning as error:
        if starts:
            return error.earliest
        raise


def _rename(error: BadRequest, field: str) -> BadRequest:
    """An error about `version`, as one about the parameter that has the version."""
    name, colon, message = error.message.partition(": ")
    return wrong(field, message) if colon and name == "version" else error


def _version_at(cluster: Cluster, field: str, at: datetime) -> PastVersion:
    version = version_before(cluster.pk, at + _TICK, top=cluster.resource_version)
    if version == 0 and (first := _find_first_change(cluster)):
        earliest = version_before(cluster.pk, first + _TICK, top=cluster.resource_version)
        raise BeforeBeginning(field, PastVersion(earliest, first))
    return _check(cluster, PastVersion(version, at))


def _find_first_change(cluster: Cluster) -> datetime | None:
    """The time of the first change; None if there is none, or the log forgot it."""
    if cluster.forgotten_version or not cluster.resource_version:
        return None
    return read_life(cluster).first.at


def _check(cluster: Cluster, moment: PastVersion) -> PastVersion:
    if moment.version < cluster.forgotten_version:
        raise Forgotten(read_life(cluster).first)
    return moment
