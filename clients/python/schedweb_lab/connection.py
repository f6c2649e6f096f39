"""Requests to an installation of schedweb, its operations, and tables."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import Request, urlopen

Row = dict[str, Any]
#: A JSON object; what is in it is documented at /api/docs.
Json = Any
#: A pandas data frame, or a list of dicts without pandas.
Table = Any

_WAIT_SECONDS = 0.2
#: The most rows of a page that the API gives.
PAGE = 1000


class LabError(Exception):
    """A refused request; `status` is its HTTP status, `causes` name the fields.

    Of an operation that failed or was cancelled, without a token, and if the installation cannot be
    reached, the status is 0.
    """

    def __init__(self, status: int, message: str, causes: Sequence[Row] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.causes = list(causes)


class Connection:
    """An installation, with a token of a user."""

    def __init__(self, url: str = "", token: str = "", *, timeout: float = 60.0) -> None:
        self.url = (url or os.environ.get("SCHEDWEB_URL", "http://localhost:8000")).rstrip("/")
        self._token = token or os.environ.get("SCHEDWEB_TOKEN", "")
        self._timeout = timeout
        if not self._token:
            raise LabError(0, "a token is required: Lab(token=…) or SCHEDWEB_TOKEN")

    def close(self) -> None:
        """Forget the token."""
        self._token = ""

    def get(self, path: str, **query: Any) -> Any:
        """GET an address below /api/v1, such as "/clusters"."""
        return self.request("GET", path, query)

    def post(self, path: str, body: Any = None, **query: Any) -> Any:
        """POST a body as JSON to an address below /api/v1."""
        return self.request("POST", path, query, json.dumps(body or {}).encode())

    def put(self, path: str, body: Any) -> Any:
        """PUT a body as JSON to an address below /api/v1."""
        return self.request("PUT", path, None, json.dumps(body).encode())

    def delete(self, path: str) -> None:
        """DELETE an address below /api/v1."""
        self.request("DELETE", path)

    def pages(
        self, path: str, limit: int | None = None, *, rows: str = "results", **query: Any
    ) -> list[Row]:
        """All rows of a list that has pages, in their order; with `limit` the first ones.

        `rows` is the field of a page that has its rows.
        """
        given = {"page_size": min(limit or PAGE, PAGE), **query}
        found: list[Row] = []
        while True:
            page = self.get(path, **given)
            found += page[rows]
            if not page["next"] or (limit is not None and len(found) >= limit):
                return found[:limit]
            given = parse_qs(urlsplit(page["next"]).query)

    def operation(self, path: str, body: Any = None, *, timeout: float = 600.0) -> Json:
        """POST to an address that starts an operation, and wait until the operation has ended.

        Raises LabError if it fails or is cancelled, or after `timeout` seconds.
        """
        return self.wait(self.post(path, body)["id"], timeout=timeout)

    def wait(self, number: int, *, timeout: float = 600.0) -> Json:
        """Wait until an operation has succeeded; LabError as of `operation`."""
        until = time.monotonic() + timeout
        while True:
            operation: Json = self.get(f"/operations/{number}")
            if operation["finished_at"]:
                break
            if time.monotonic() > until:
                raise LabError(0, f"operation {number} has not ended in {timeout:g} s")
            time.sleep(_WAIT_SECONDS)
        if operation["state"] != "succeeded":
            raise LabError(
                0, f"operation {number} {operation['state']}: {operation['cause'] or '-'}"
            )
        return operation

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
        except URLError as error:
            raise LabError(0, f"cannot reach {self.url}: {error.reason}") from error
        return json.loads(data) if is_json and data else data


def as_table(rows: Sequence[Row] | Row) -> Table:
    """A data frame if pandas is installed, else the rows; a page of a list counts as its rows."""
    results = rows["results"] if isinstance(rows, dict) else list(rows)
    try:
        import pandas  # type: ignore[import-untyped]
    except ImportError:
        return results
    return pandas.DataFrame(results)


def _refusal(error: HTTPError) -> LabError:
    text = error.read().decode(errors="replace")
    try:
        body = json.loads(text)
    except ValueError:
        return LabError(error.code, text or str(error))
    return LabError(error.code, body.get("message", text), body.get("causes", ()))
