"""The page of a film: its span, its speeds, and its frames as its script reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from apps.cluster.models import Cluster
from apps.dashboard.tables import Field, refuse_unknown
from apps.engine.periods import PARAMETERS, Period, format_utc, parse_at, parse_period, wrong
from apps.studies.film import FilmLine, read_film

#: Seconds of the cluster for each second of the viewer -> label.
SPEEDS: Mapping[str, str] = {
    "1": "as it was",
    "2": "2 times as fast",
    "5": "5 times as fast",
    "10": "10 times as fast",
    "30": "30 times as fast",
    "60": "60 times as fast",
    "300": "300 times as fast",
    "1800": "1,800 times as fast",
}
_SINCE = "15m"
#: A film that does not say how fast it is takes about so many seconds.
_SECONDS = 30
#: The film around a moment: so long before it, and after it, when tolerations have run out.
_BEFORE, _AFTER = timedelta(minutes=1), timedelta(minutes=6)
_FIELDS = (Field("resource", "Resource"), Field("speed", "Speed"), Field("at", "Position"))


@dataclass(frozen=True, slots=True)
class FilmPage:
    """What the page of a film shows before its script has loaded the frames."""

    #: as times in UTC, which mean the same to everyone
    since: str
    until: str
    resource: str
    resources: Sequence[str]
    speed: str
    speeds: Mapping[str, str]
    #: the position, in seconds of the epoch; empty for the start
    at: str
    #: the address of the frames
    source: str


def film_page(cluster: Cluster, query: Mapping[str, Any]) -> FilmPage:
    """The film that the address names; BadRequest that names a wrong parameter."""
    refuse_unknown(query, _FIELDS, PARAMETERS)
    period = _parse_period(cluster, query)
    assert period.since is not None and period.until is not None
    speed = str(query.get("speed") or "")
    if not speed:
        wanted = (period.until - period.since).total_seconds() / _SECONDS
        speed = next((each for each in SPEEDS if float(each) >= wanted), [*SPEEDS][-1])
    if speed not in SPEEDS:
        raise wrong("speed", f"{speed!r} is not one of {', '.join(SPEEDS)}")
    at = parse_at(query, now=cluster.now())
    limits = period.parameters()
    resource = _read_resource(query)
    address = urlencode({**limits, "resource": resource})
    return FilmPage(
        since=limits["since"],
        until=limits["until"],
        resource=resource,
        resources=("cpu", "memory", "pods"),
        speed=speed,
        speeds=SPEEDS,
        at=str(at.timestamp()) if at is not None else "",
        source=f"{reverse('film-frames', args=[cluster.name])}?{address}",
    )


def film_around(cluster: Cluster, at: datetime) -> str:
    """The address of the film around a moment; empty for a deleted cluster."""
    if cluster.deleted_at is not None:
        return ""
    limits = {"since": at - _BEFORE, "until": at + _AFTER, "at": at}
    query = {name: format_utc(moment) for name, moment in limits.items()}
    return f"{reverse('film', args=[cluster.name])}?{urlencode(query)}"


def film_figures(cluster: Cluster, query: Mapping[str, Any]) -> dict[str, object]:
    """The frames. Times are seconds of the epoch; `cells` are index, thousandths, state."""
    refuse_unknown(query, _FIELDS, PARAMETERS)
    resource = _read_resource(query)
    film = read_film(cluster, _parse_period(cluster, query), resource=resource)
    return {
        "resource": resource,
        "groups": film.groups,
        "names": film.names,
        "parts": film.parts,
        "frames": [
            {
                "at": frame.at.timestamp(),
                "version": frame.version,
                "cells": frame.cells,
                "bound": frame.bound,
                "pending": frame.pending,
                "queue": frame.queue,
                "lines": [_describe(cluster, line) for line in frame.lines],
            }
            for frame in film.frames
        ],
    }


def _parse_period(cluster: Cluster, query: Mapping[str, Any]) -> Period:
    given = {name: query[name] for name in PARAMETERS if query.get(name)}
    now = cluster.now()
    period = parse_period({"since": _SINCE, **given}, now=now)
    return Period(period.since, min(period.until or now, now))


def _read_resource(query: Mapping[str, Any]) -> str:
    resource = str(query.get("resource") or "cpu")
    if "\x00" in resource:
        raise wrong("resource", "contains a NUL character")
    return resource


def _describe(cluster: Cluster, line: FilmLine) -> dict[str, object]:
    told = f"{line.user}: {line.text}" if line.user else line.text
    return {
        "at": line.at.timestamp(),
        "until": None,
        "text": told,
        "kind": line.kind,
        "address": _find_address(cluster, line),
    }


def _find_address(cluster: Cluster, line: FilmLine) -> str:
    """The page about what a line is about."""
    if line.operation is not None:
        return reverse("operation", args=[line.operation])
    if line.revision is not None:
        return reverse("profile", args=[cluster.name, line.revision])
    if line.version is not None:
        return reverse("change", args=[cluster.name, line.version])
    return ""
