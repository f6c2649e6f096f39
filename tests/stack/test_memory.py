"""The memory of the web process returns to where it was after load."""

from __future__ import annotations

import http.client
import os
import re
import socket
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection

from apps.administration.clusters.lifecycle import create_cluster
from apps.people.tokens import create_token
from tests.api.conftest import Kube
from tests.api.large_lists import copy_pod
from tests.api.objects import PODS, pod
from tests.stack.running_site import ROOT, wait_until

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc"),
    pytest.mark.django_db(transaction=True),
]

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
#: A list has more than 12 MB; before lists were streamed, eight at a time took 400 MB.
COUNT = 5000
#: MB above the memory at the start, at any time. An open connection takes 0.06 MB.
GROWTH = 80
CONNECTIONS = 300


class WebProcess:
    """The web front alone, on the database of the test."""

    def __init__(self, data: Path, database: str, key: str) -> None:
        self.port, self.tls_port = _free_port(), _free_port()
        self._key = key
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SCHEDWEB_", "DJANGO_"))}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "schedweb.front"],
            cwd=ROOT,
            env=kept
            | {
                "SCHEDWEB_DATA": str(data),
                "SCHEDWEB_DATABASE_URL": database,
                "SCHEDWEB_PORT": str(self.port),
                "SCHEDWEB_TLS_PORT": str(self.tls_port),
                "DJANGO_SETTINGS_MODULE": "schedweb.settings",
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(self._answers)

    def get(self, path: str, accept: str = "application/json") -> int:
        """The length of the response."""
        web = http.client.HTTPConnection("localhost", self.port, timeout=60)
        web.request("GET", path, headers={"Authorization": f"Bearer {self._key}", "Accept": accept})
        response = web.getresponse()
        length = 0
        while piece := response.read(1 << 20):
            length += len(piece)
        web.close()
        return length

    def megabytes(self, field: str) -> int:
        """VmRSS, or VmHWM for its maximum so far."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        found = re.search(rf"{field}:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) // 1024

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(20)

    def _answers(self) -> bool:
        assert self._process.poll() is None
        try:
            return self.get("/healthz") > 0
        except OSError:
            return False


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


#: Holds memory for longer than a look of the trimmer, and frees nearly all of it; both sizes.
HOLDER = """
import ctypes, time
from schedweb import memory
memory.configure_malloc()
memory.LOOK_SECONDS = 0.1
memory.Trimmer().start()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
blocks = [libc.malloc(65536) for _ in range(3000)]
for block in blocks:
    ctypes.memset(block, 1, 65536)
time.sleep(1)
held = memory.resident_bytes()
for number, block in enumerate(blocks):
    if number % 50:
        libc.free(ctypes.c_void_p(block))
deadline = time.monotonic() + 20
while memory.resident_bytes() > held - 150_000_000 and time.monotonic() < deadline:
    time.sleep(0.1)
print(held - memory.resident_bytes())
"""


def test_memory_that_was_held_for_long_is_returned_when_it_is_freed() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", HOLDER], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert int(ended.stdout) > 150_000_000


@pytest.fixture
def web(transactional_db: None, postgres: str) -> Iterator[WebProcess]:
    user = User.objects.create_superuser("alice")
    cluster = create_cluster("c1", user=user.username)
    key = create_token(user, "test").key
    body = pod("p")
    body["metadata"]["annotations"] = {"pad": "x" * 2000}
    assert Kube(key, "c1").post(PODS, body).status_code == 201
    copy_pod(cluster, "p", COUNT - 1)
    name = connection.settings_dict["NAME"]
    database = re.sub(r"(://[^/]*/)[^?]*", rf"\g<1>{name}", postgres)
    with tempfile.TemporaryDirectory(prefix="schedweb-web-") as data:
        process = WebProcess(Path(data), database, key)
        yield process
        process.close()


def test_lists_tables_watches_and_connections_leave_nothing_behind(web: WebProcess) -> None:
    for path in (f"/k8s/c1{PODS}?limit=1", "/k8s/none/api/v1/pods"):
        web.get(path)
    before = web.megabytes("VmRSS")
    pods = f"/k8s/c1{PODS}"
    with ThreadPoolExecutor(8) as clients:
        lists = list(clients.map(web.get, [pods] * 8))
        list(clients.map(web.get, [f"{pods}?watch=1&timeoutSeconds=1"] * 4))
        list(clients.map(lambda path: web.get(path, TABLE), [pods] * 4))
    assert min(lists) > 10_000_000
    _open_connections(web.tls_port)
    assert web.megabytes("VmHWM") - before < GROWTH
    # free memory is returned within seconds, as soon as there is much of it
    wait_until(lambda: web.megabytes("VmRSS") - before < GROWTH // 2)


def _open_connections(port: int) -> None:
    """Open TLS connections that stay open until all are."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    found = []
    for _ in range(CONNECTIONS):
        plain = socket.create_connection(("localhost", port), timeout=20)
        found.append(context.wrap_socket(plain))
    for each in found:
        each.close()
