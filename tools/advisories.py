"""A database of advisories in a file: the archive of the ecosystem PyPI that OSV publishes."""

from __future__ import annotations

import json
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
Advisory = Mapping[str, Any]


class Database:
    """The advisories of an archive, by package."""

    def __init__(self, file: Path) -> None:
        self._by_package: defaultdict[str, list[tuple[Advisory, Advisory]]] = defaultdict(list)
        #: when the newest advisory was changed; "" without any
        self.changed = ""
        with zipfile.ZipFile(file) as archive:
            for name in archive.namelist():
                if name.endswith(".json"):
                    self._add(json.loads(archive.read(name)))

    def _add(self, advisory: Advisory) -> None:
        if "withdrawn" in advisory:
            return
        self.changed = max(self.changed, advisory.get("modified", ""))
        for affected in advisory.get("affected", ()):
            package = affected.get("package", {})
            if package.get("ecosystem") == "PyPI":
                self._by_package[_normalize(package["name"])].append((advisory, affected))

    def look_up(self, requirements: str) -> list[dict[str, Any]]:
        """The pinned packages with advisories, in the form of pip-audit."""
        results = []
        for name, version in _PINNED.findall(requirements):
            vulnerable = [
                {"id": advisory["id"], "fix_versions": sorted(set(_fixes(affected)))}
                for advisory, affected in self._by_package[_normalize(name)]
                if _is_affected(version, affected)
            ]
            if vulnerable:
                results.append({"name": name, "version": version, "vulns": vulnerable})
        return results


def _is_affected(version: str, affected: Advisory) -> bool:
    return version in affected.get("versions", ()) or any(
        _is_between(version, each["events"])
        for each in affected.get("ranges", ())
        if each.get("type") == "ECOSYSTEM"
    )


def _is_between(version: str, events: list[Mapping[str, str]]) -> bool:
    """Whether the last event before the version introduced the fault."""
    try:
        own = Version(version)
        ordered = sorted((Version(value), kind) for each in events for kind, value in each.items())
    except InvalidVersion:
        # nobody can tell: to be looked at
        return True
    inside = False
    for place, kind in ordered:
        if kind == "introduced" and own >= place:
            inside = True
        elif (kind == "fixed" and own >= place) or (kind == "last_affected" and own > place):
            inside = False
    return inside


def _fixes(affected: Advisory) -> Iterator[str]:
    for each in affected.get("ranges", ()):
        if each.get("type") == "ECOSYSTEM":
            yield from (event["fixed"] for event in each["events"] if "fixed" in event)


def _normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
