"""Sends the same requests to two servers, and compares what they answer."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterable
from typing import IO, Any

from tests.api.replay import Replay, first_difference, warnings
from tools.truth.listed import NOTES, without_listed
from tools.truth.requests import Step
from tools.truth.servers import CRASHED, HUNG_UP
from tools.truth.table import Row


def compare(real: Replay, ours: Replay, steps: Iterable[Step], file: IO[str]) -> list[Row]:
    """The rows of these requests, by what they are about; `file` gets those that differ."""
    names = (_names(server, path) for server in (real, ours) for path in NOTES)
    notes = frozenset[str]().union(*names)
    rows: dict[str, Row] = {}
    for step in steps:
        expected, actual = (_answer(server, step) for server in (real, ours))
        if _is_answered_otherwise(expected["status"], actual["status"]):
            continue
        row = rows.setdefault(step["about"], Row(step["about"]))
        row.compared += 1
        if expected == actual:
            continue
        expected, actual = (
            without_listed(answer, step["kind"], step["path"], notes)
            for answer in (expected, actual)
        )
        if expected == actual:
            row.listed += 1
        else:
            where, left, right = first_difference(expected, actual)
            row.differing.append(where)
            difference = {"where": where, "real": left, "ours": right, "step": step}
            print(json.dumps(difference), file=file, flush=True)
    return list(rows.values())


def get(replay: Replay, path: str) -> Any:
    """A document of a server, or an object."""
    body = replay.send({"method": "GET", "path": path, "headers": {"Accept": "application/json"}})
    return json.loads(body[2]) if isinstance(body[2], str) else body[2]


def _answer(server: Replay, step: Step) -> dict[str, Any]:
    try:
        status, headers, body = server.send(step)
    except Exception:
        # of ours, which is not behind a server that answers 500
        status, headers, body = CRASHED, {}, traceback.format_exc()
    return {
        "status": status,
        "warnings": warnings(headers),
        "type": headers.get("content-type", "").replace(" ", ""),
        "body": server.normalize(body),
    }


def _is_answered_otherwise(expected: int, actual: int) -> bool:
    """Whether a mistake of the client crashed the real server, or an error of its own hides it."""
    return expected == HUNG_UP or (expected == 500 and 400 <= actual < 500)


def _names(replay: Replay, path: str) -> frozenset[str]:
    """The names of what a server keeps in a collection from its start."""
    return frozenset(item["metadata"]["name"] for item in get(replay, path)["items"])
