"""An installation of schedweb: its clusters, forks, scenarios and bundles."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

from schedweb_lab.cluster import LabCluster
from schedweb_lab.connection import Connection, Json, Table, as_table
from schedweb_lab.runs import LabReplay, LabScenario, Profile

_BUNDLE = "application/vnd.schedweb.bundle"


class Lab(Connection):
    """An installation of schedweb."""

    def __enter__(self) -> Lab:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def cluster(self, name: str) -> LabCluster:
        """A cluster by its name; no request is sent."""
        return LabCluster(self, name)

    def clusters(self) -> Table:
        """The clusters that the user of the token sees."""
        return as_table(self.get("/clusters"))

    def fork(self, cluster: str, name: str, **moment: Any) -> LabFork:
        """Create the fork `name` of a cluster at a `version`, a time (`at`) or a `decision`.

        It is paused, and of the present state without any of them.
        """
        path = f"/clusters/{quote(cluster, safe='')}/fork"
        created = self.post(path, {"name": name, **moment})
        return LabFork(self, created["name"], source=cluster, version=created["resource_version"])

    def scenario(self, scenario: str | Path, files: Mapping[str, str] | None = None) -> LabScenario:
        """Start a scenario: the path of a YAML file, or its text; `files` are those it imports."""
        text = scenario.read_text() if isinstance(scenario, Path) else scenario
        started = self.post("/scenarios", {"scenario": text, "files": dict(files or {})})
        return LabScenario(self, started["id"])

    def scenarios(self) -> Table:
        """The scenarios that were run, newest first, as operations."""
        return as_table(self.pages("/scenarios"))

    def open_bundle(self, file: str | Path, *, node: str = "", against: str = "") -> Json:
        """Open the file of a bundle: its decision, whether it is equal, and its explanation."""
        query = {"node": node, "against": against}
        return self.request(
            "POST", "/bundles", query, Path(file).read_bytes(), content_type=_BUNDLE
        )


class LabFork(LabCluster):
    """A fork: a cluster, and what happened in the other one from the fork point on.

    In a `with` statement it is deleted at the end.
    """

    def __init__(self, lab: Lab, name: str, *, source: str, version: int) -> None:
        super().__init__(lab, name)
        self.source = LabCluster(lab, source)
        self.version = version

    def __enter__(self) -> LabFork:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.delete()

    def replay(
        self,
        profile: Profile = None,
        *,
        since: str | int = "",
        until: str | int = "",
        feature_gates: dict[str, bool] | None = None,
        seed: int | None = None,
    ) -> LabReplay:
        """Replay what happened in the other cluster from the fork point on, in memory.

        What happened in the fork itself: `lab.cluster(fork.name).replay(…)`.
        """
        return self.source.replay(
            profile,
            since=self.version if since == "" else since,
            until=until,
            feature_gates=feature_gates,
            seed=seed,
        )
