"""A webhook server on this machine, over https: a path says what it answers."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from schedweb import tls

Body = dict[str, Any]
#: The request of a review -> its response, without the uid; or an answer as it is sent.
Responder = Callable[[Body], Body | bytes]


def patch_of(*steps: Body) -> Body:
    """A response that changes the object."""
    encoded = base64.b64encode(json.dumps(steps).encode()).decode()
    return {"allowed": True, "patchType": "JSONPatch", "patch": encoded}


class WebhookServer:
    """Answers reviews, and keeps them: `asked` are (path, request)."""

    def __init__(self, folder: Path) -> None:
        files = tls.ensure(folder, ["127.0.0.1", "localhost"])
        self.authority = base64.b64encode(files.authority.read_bytes()).decode()
        self.asked: list[tuple[str, Body]] = []
        self._responders: dict[str, Responder] = {"/allow": lambda request: {"allowed": True}}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(files.server, files.server_key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._server.server_port}"

    def answers(self, path: str, responder: Responder) -> None:
        """What it answers from now on to requests at a path."""
        self._responders[path] = responder

    def client(self, path: str) -> Body:
        """A `clientConfig` for a path."""
        return {"url": self.url + path, "caBundle": self.authority}

    def take(self) -> list[tuple[str, Body]]:
        """The reviews since the last time."""
        taken, self.asked = self.asked, []
        return taken

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = owner._answer(urlsplit(self.path).path, review)
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler

    def _answer(self, path: str, review: Body) -> bytes:
        request = review["request"]
        self.asked.append((path, request))
        answer = self._responders[path](request)
        if isinstance(answer, bytes):
            return answer
        response = {"uid": request["uid"], **answer}
        return json.dumps({**review, "request": None, "response": response}).encode()
