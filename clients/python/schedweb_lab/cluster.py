"""A cluster, its past, and its decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

from schedweb_lab.connection import Connection, Json, Row, Table, as_table
from schedweb_lab.runs import LabReplay, Profile, describe_profile


class LabCluster:
    """A cluster. Each question can have the state and the changes that docs/lab.md lists."""

    def __init__(self, lab: Connection, name: str) -> None:
        self.lab = lab
        self.name = name
        self._path = f"/clusters/{quote(name, safe='')}"

    def simulate(self, **question: Any) -> Json:
        """What would happen: `objects`, `drain`, `delete_nodes`, `revision`, `version`, `at` …"""
        return self._ask("simulate", question)

    def fit(self, **question: Any) -> Json:
        """How many more of a pod fit; `objects` has the pod."""
        return self._ask("capacity/fit", question)

    def nodes_needed(self, **question: Any) -> Json:
        """How many nodes are needed; `shapes` has those that can be bought."""
        return self._ask("capacity/nodes", question)

    def emptiable(self, **question: Any) -> Json:
        """Which nodes could be emptied."""
        return self._ask("capacity/emptiable", question)

    def failures(self, **question: Any) -> Json:
        """What happens if a node dies, for each node."""
        return self._ask("capacity/failures", question)

    def prospects(self) -> Table:
        """Whether the pending pods can ever run."""
        return as_table(self.lab.pages(f"{self._path}/prospects", 500, rows="pods"))

    def decisions(self, *, limit: int | None = None, **filters: Any) -> Table:
        """The decisions that match the filters, newest first: `pod`, `node`, `result`, `plugin` …

        All of them, or the newest `limit`.
        """
        return as_table(self.lab.pages(f"{self._path}/decisions", limit, **filters))

    def decision(self, number: int) -> LabDecision:
        """A decision by its id; no request is sent."""
        return LabDecision(self.lab, f"{self._path}/decisions/{int(number)}")

    def past(self, **moment: Any) -> Json:
        """The cluster at a `version`, at a time (`at`), or as a `decision` saw it."""
        return self.lab.get(f"{self._path}/past", **moment)

    def past_pods(self, **moment: Any) -> Table:
        """All pods at a past moment, or those that the filters select: `state`, `node` …"""
        return as_table(self._past_rows("pods", moment))

    def past_nodes(self, **moment: Any) -> Table:
        """All nodes at a past moment, with their usage, or those that the filters select."""
        return as_table(self._past_rows("nodes", moment))

    def debug(self, pod: str = "", **verdicts: Any) -> Json:
        """The steps of the next attempt, or of one of `pod`; `accept` and `reject` list nodes."""
        return self.lab.get(f"{self._path}/debugger", pod=pod, **verdicts)

    def commit(self, attempt: Json, **verdicts: Any) -> Json:
        """Commit what `debug` has returned, with the same verdicts; the cluster is paused."""
        body = {"pod": attempt["pod"], "version": attempt["version"], **verdicts}
        return self.lab.post(f"{self._path}/debugger", body)

    def replay(
        self,
        profile: Profile = None,
        *,
        since: str | int = "",
        until: str | int = "",
        feature_gates: dict[str, bool] | None = None,
        seed: int | None = None,
    ) -> LabReplay:
        """Start to replay a span, from the first retained version to now by default.

        `profile` is a KubeSchedulerConfiguration as YAML or as a dict, or the number of a revision;
        `since` and `until` are versions or times. Without any change nothing differs.
        """
        body: Row = describe_profile(profile)
        body |= {name: str(at) for name, at in (("since", since), ("until", until)) if at != ""}
        if feature_gates:
            body["feature_gates"] = feature_gates
        if seed is not None:
            body["seed"] = seed
        started = self.lab.post(f"{self._path}/replays", body)
        return LabReplay(self.lab, f"{self._path}/replays/{started['id']}", started["id"])

    def replays(self) -> Table:
        """The replays of the cluster, newest first."""
        return as_table(self.lab.get(f"{self._path}/replays"))

    def clock(self) -> Json:
        """The clock: its `mode` and the time of the cluster, `now`."""
        return self.lab.get(f"{self._path}/clock")

    def set_clock(
        self, mode: str, *, speed: float | None = None, seconds: float | None = None
    ) -> Json:
        """Set the clock to `real`, `manual`, `speed` or `fast-forward`.

        `speed` is a factor; `seconds` is how far it is advanced or moved forward.
        """
        given = {"mode": mode, "speed": speed, "seconds": seconds}
        body = {name: value for name, value in given.items() if value is not None}
        return self.lab.put(f"{self._path}/clock", body)

    def delete(self) -> None:
        """Delete the cluster."""
        self.lab.delete(self._path)

    def post(self, path: str, body: Any = None) -> Any:
        """POST to an address below that of the cluster: `cluster.post("/pause")`."""
        return self.lab.post(f"{self._path}{path}", body)

    def _past_rows(self, kind: str, moment: Row) -> list[Row]:
        """The rows of all pages, which have the version of the first one."""
        return self.lab.pages(f"{self._path}/past/{kind}", rows=kind, **moment)

    def _ask(self, path: str, question: Row) -> Json:
        return self.lab.post(f"{self._path}/{path}", question)


class LabDecision:
    """A recorded decision."""

    def __init__(self, lab: Connection, path: str) -> None:
        self._lab, self._path = lab, path

    def explain(self, node: str = "", against: str = "") -> Json:
        """Why the node was selected; with `node`, why that one was not."""
        return self._lab.get(f"{self._path}/explanation", node=node, against=against)

    def what_if(self, **question: Any) -> Json:
        """With other `weights`, `without` filters, another `pod`, `nodes`, or `delete_pods`."""
        return self._lab.post(f"{self._path}/counterfactual", question)

    def facts(self) -> Table:
        """The smallest sets of facts without which it comes out otherwise."""
        return as_table(self._lab.get(f"{self._path}/facts")["sets"])

    def scores(self) -> Table:
        """The feasible nodes with their scores by plugin, the best first."""
        scores = self._lab.get(f"/decisions/{self._path.rpartition('/')[2]}")["scores"]
        rows = [
            {"node": node, "rank": rank, "total": total}
            for node, rank, total in zip(
                scores["nodes"], scores["ranks"], scores["total"], strict=True
            )
        ]
        for plugin in scores["plugins"]:
            for row, score in zip(rows, plugin["normalized"], strict=True):
                row[plugin["plugin"]] = score * plugin["weight"]
        return as_table(rows)

    def bundle(self, file: str | Path) -> Path:
        """Write the bundle to a file."""
        target = Path(file)
        target.write_bytes(self._lab.get(f"{self._path}/bundle"))
        return target
