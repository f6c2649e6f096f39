"""The extender process as tests use it."""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_PROGRAM = Path(__file__).with_name("process.py")


class RunningExtender:
    def __init__(self, port: int, context: ssl.SSLContext | None = None) -> None:
        self.port = port
        self._context = context
        self.url = f"{'https' if context else 'http'}://127.0.0.1:{port}/scheduler"

    def answers(self, verb: str, body: Any, **how: Any) -> None:
        """From now on ``verb`` answers this: JSON, or a text as it is."""
        text = body if isinstance(body, str) else json.dumps(body)
        self._call("PUT", f"/answers/{verb}", {"body": text, **how})

    def release(self, verb: str) -> None:
        """Let the answers of ``verb`` go that are held."""
        self._call("PUT", f"/release/{verb}", {})

    def requests(self, verb: str = "") -> list[dict[str, Any]]:
        """What came, oldest first: path, body (read as JSON), connection."""
        found = json.loads(self._call("GET", "/requests", {}))
        return [
            {**each, "body": json.loads(each["body"])}
            for each in found
            if each["path"].endswith(verb)
        ]

    def asked(self, verb: str) -> dict[str, Any]:
        """The body of the one request for ``verb``."""
        (request,) = self.requests(verb)
        body: dict[str, Any] = request["body"]
        return body

    def _call(self, method: str, path: str, body: Any) -> bytes:
        if self._context is not None:
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                "127.0.0.1", self.port, context=self._context
            )
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port)
        try:
            connection.request(method, path, json.dumps(body))
            return connection.getresponse().read()
        finally:
            connection.close()


@contextmanager
def running_extender(
    *arguments: str, context: ssl.SSLContext | None = None
) -> Iterator[RunningExtender]:
    """Start the process, and end it afterwards."""
    command = [sys.executable, str(_PROGRAM), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield RunningExtender(int(process.stdout.readline()), context)
        finally:
            process.kill()
