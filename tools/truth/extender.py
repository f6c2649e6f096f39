"""An extender for both schedulers: what it answers follows from names alone."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def running() -> Iterator[str]:
    """Serve on a free port; the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(_ANSWERS[self.path](asked)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _number(pod: Any, node: str, below: int) -> int:
    return zlib.crc32(f"{pod['metadata']['name']} {node}".encode()) % below


def _filter(asked: Any) -> Any:
    nodes = asked["Nodes"]["items"] if asked.get("Nodes") else None
    names = [each["metadata"]["name"] for each in nodes] if nodes else asked["NodeNames"]
    numbers = {name: _number(asked["Pod"], name, 8) for name in names}
    kept = [name for name in names if numbers[name] > 2]
    answer: Any = {
        "FailedNodes": {name: "refused" for name in names if numbers[name] == 0},
        "FailedAndUnresolvableNodes": {name: "never" for name in names if numbers[name] == 1},
    }
    if nodes is None:
        return {**answer, "NodeNames": kept}
    return {**answer, "Nodes": {"items": [n for n in nodes if n["metadata"]["name"] in kept]}}


def _prioritize(asked: Any) -> Any:
    nodes = asked["Nodes"]["items"] if asked.get("Nodes") else None
    names = [each["metadata"]["name"] for each in nodes] if nodes else asked["NodeNames"]
    return [{"Host": name, "Score": _number(asked["Pod"], name, 11)} for name in names]


def _preempt(asked: Any) -> Any:
    """Every candidate may be used: `decide` ranks them as they were before an extender."""
    return {"NodeNameToMetaVictims": asked["NodeNameToMetaVictims"] or {}}


_ANSWERS = {"/filter": _filter, "/prioritize": _prioritize, "/preempt": _preempt}
