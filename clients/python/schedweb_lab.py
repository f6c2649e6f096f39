"""A client of schedweb's lab: ask what would happen if, from Python.

    with Lab() as lab:
        print(lab.cluster("demo").simulate(drain=["node-1"])["not_placed"])

The address and the token of the installation are arguments, or the environment variables
SCHEDWEB_URL and SCHEDWEB_TOKEN. Tables are pandas data frames if pandas is installed, else lists of
dicts.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

Row = dict[str, Any]
#: A JSON object; what is in it is documented at /api/docs.
Json = Any
#: A pandas data frame, or a list of dicts without pandas.
Table = Any

_BUNDLE = "application/vnd.schedweb.bundle"
_WAIT_SECONDS = 0.5


class LabError(Exception):
    """A refused request; `status` is its HTTP status, `causes` name the fields."""

    def __init__(self, status: int, message: str, causes: Sequence[Row] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.causes = list(causes)


class Lab:
    """An installation of schedweb."""

    def __init__(self, url: str = "", token: str = "", *, timeout: float = 60.0) -> None:
        self.url = (url or os.environ.get("SCHEDWEB_URL", "http://localhost:8000")).rstrip("/")
        self._token = token or os.environ.get("SCHEDWEB_TOKEN", "")
        self._timeout = timeout
        if not self._token:
            raise LabError(0, "a token is required: Lab(token=…) or SCHEDWEB_TOKEN")

    def __enter__(self) -> Lab:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._token = ""

    def cluster(self, name: str) -> LabCluster:
        """A cluster by its name; no request is sent."""
        return LabCluster(self, name)

    def clusters(self) -> Table:
        """The clusters that the user of the token sees."""
        return as_table(self.get("/clusters"))

    def open_bundle(self, file: str | Path, *, node: str = "", against: str = "") -> Json:
        """Open the file of a bundle: its decision, whether it is equal, and its explanation."""
        query = {"node": node, "against": against}
        return self.request(
            "POST", "/bundles", query, Path(file).read_bytes(), content_type=_BUNDLE
        )

    def get(self, path: str, **query: Any) -> Any:
        """GET an address below /api/v1, such as "/clusters"."""
        return self.request("GET", path, query)

    def post(self, path: str, body: Any = None, **query: Any) -> Any:
        """POST a body as JSON to an address below /api/v1."""
        return self.request("POST", path, query, json.dumps(body or {}).encode())

    def operation(self, path: str, body: Any = None, *, timeout: float = 600.0) -> Json:
        """POST to an address that starts an operation, and wait until the operation has ended.

        Raises LabError if it fails, or after `timeout` seconds.
        """
        started, until = self.post(path, body), time.monotonic() + timeout
        while True:
            found: Json = self.get(f"/operations/{started['id']}")
            if found.get("ended_at") or found.get("state") in ("done", "failed", "cancelled"):
                break
            if time.monotonic() > until:
                raise LabError(0, f"operation {started['id']} has not ended in {timeout:g} s")
            time.sleep(_WAIT_SECONDS)
        if found.get("state") == "failed":
            raise LabError(0, f"operation {found['id']} failed: {found.get('error', '')}")
        return found

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        body: bytes | None = None,
        *,
        content_type: str = "application/json",
    ) -> Any:
        """Send a request; JSON is decoded, anything else is returned as bytes."""
        given = {name: value for name, value in (query or {}).items() if value not in ("", None)}
        address = f"{self.url}/api/v1{path}"
        if given:
            address += f"?{urlencode(given, doseq=True)}"
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": content_type}
        wanted = Request(address, data=body, method=method, headers=headers)
        try:
            with urlopen(wanted, timeout=self._timeout) as answer:
                data: bytes = answer.read()
                is_json = "json" in answer.headers.get("Content-Type", "")
        except HTTPError as error:
            raise _refusal(error) from error
        return json.loads(data) if is_json and data else data


class LabCluster:
    """A cluster. Each question can have the state and the changes that docs/lab.md lists."""

    def __init__(self, lab: Lab, name: str) -> None:
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
        return as_table(self.lab.get(f"{self._path}/prospects")["pods"])

    def decisions(self, **filters: Any) -> Table:
        """The newest decisions that match the filters: `pod`, `node`, `result`, `plugin` …"""
        return as_table(self.lab.get(f"{self._path}/decisions", **filters)["results"])

    def decision(self, number: int) -> LabDecision:
        """A decision by its id; no request is sent."""
        return LabDecision(self.lab, f"{self._path}/decisions/{int(number)}")

    def past(self, **moment: Any) -> Json:
        """The cluster at a `version`, at a time (`at`), or as a `decision` saw it."""
        return self.lab.get(f"{self._path}/past", **moment)

    def past_pods(self, **moment: Any) -> Table:
        """The pods at a past moment."""
        return as_table(self.lab.get(f"{self._path}/past/pods", **moment)["pods"])

    def past_nodes(self, **moment: Any) -> Table:
        """The nodes at a past moment, with their usage."""
        return as_table(self.lab.get(f"{self._path}/past/nodes", **moment)["nodes"])

    def debug(self, pod: str = "", **verdicts: Any) -> Json:
        """The steps of the next attempt, or of one of `pod`; `accept` and `reject` list nodes."""
        return self.lab.get(f"{self._path}/debugger", pod=pod, **verdicts)

    def commit(self, attempt: Json, **verdicts: Any) -> Json:
        """Commit what `debug` has returned, with the same verdicts; the cluster is paused."""
        body = {"pod": attempt["pod"], "version": attempt["version"], **verdicts}
        return self.lab.post(f"{self._path}/debugger", body)

    def post(self, path: str, body: Any = None) -> Any:
        """POST to an address below that of the cluster: `cluster.post("/pause")`."""
        return self.lab.post(f"{self._path}{path}", body)

    def _ask(self, path: str, question: Row) -> Json:
        return self.lab.post(f"{self._path}/{path}", question)


class LabDecision:
    """A recorded decision."""

    def __init__(self, lab: Lab, path: str) -> None:
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
        found = self._lab.get(f"/decisions/{self._path.rpartition('/')[2]}")["scores"]
        rows = [
            {"node": node, "rank": rank, "total": total}
            for node, rank, total in zip(
                found["nodes"], found["ranks"], found["total"], strict=True
            )
        ]
        for plugin in found["plugins"]:
            for row, score in zip(rows, plugin["normalized"], strict=True):
                row[plugin["plugin"]] = score * plugin["weight"]
        return as_table(rows)

    def bundle(self, file: str | Path) -> Path:
        """Write the bundle to a file."""
        target = Path(file)
        target.write_bytes(self._lab.get(f"{self._path}/bundle"))
        return target


def as_table(rows: Sequence[Row] | Row) -> Table:
    """A data frame if pandas is installed, else the rows; a page of a list counts as its rows."""
    found = rows["results"] if isinstance(rows, dict) else list(rows)
    try:
        import pandas  # type: ignore[import-untyped]
    except ImportError:
        return found
    return pandas.DataFrame(found)


def _refusal(error: HTTPError) -> LabError:
    text = error.read().decode(errors="replace")
    try:
        body = json.loads(text)
    except ValueError:
        return LabError(error.code, text or str(error))
    return LabError(error.code, body.get("message", text), body.get("causes", ()))
