"""An extender as a process of its own: it answers as it is told, and remembers what it was asked.

    python process.py            prints its port, then serves

`PUT /answers/{verb}` sets what the verb answers: {"body": text, "status": 200, "held": bool,
"drip": seconds between bytes, "close": bool}. A held answer waits for `PUT /release/{verb}`.
`GET /requests` lists what came: {"path", "body", "connection"}.
"""

from __future__ import annotations

import json
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

answers: dict[str, dict[str, Any]] = {}
releases: dict[str, threading.Event] = {}
requests: list[dict[str, Any]] = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_PUT(self) -> None:
        _, what, verb = self.path.split("/", 2)
        body = self.body()
        if what == "answers":
            answers[verb] = json.loads(body)
            releases[verb] = threading.Event()
        else:
            releases[verb].set()
        self.answer(200, b"")

    def do_GET(self) -> None:
        self.answer(200, json.dumps(requests).encode())

    def do_POST(self) -> None:
        body = self.body()
        verb = self.path.rpartition("/")[2]
        requests.append(
            {"path": self.path, "body": body.decode(), "connection": self.client_address[1]}
        )
        told = answers.get(verb)
        if told is None:
            return self.answer(404, b"")
        if told.get("close"):
            self.close_connection = True
            return None
        if told.get("held"):
            releases[verb].wait()
        return self.answer(told.get("status", 200), told["body"].encode(), told.get("drip", 0.0))

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, status: int, body: bytes, drip: float = 0.0) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            for start in range(len(body)) if drip else ():
                self.wfile.write(body[start : start + 1])
                time.sleep(drip)
            if not drip:
                self.wfile.write(body)
        except OSError:
            # the scheduler has given up
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        pass


def main(certificate: str | None = None, key: str | None = None) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
