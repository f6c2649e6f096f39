"""Health is answered within a second while the front works on the worst texts that are allowed."""

from __future__ import annotations

import http.client
import json
import os
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from tests.api import test_hostile_texts as hostile
from tests.stack.running_site import RunningSite

#: Seconds of a processor that the front may take while a probe waits: those of a busy machine do
#: not count. And requests at the same time.
PATIENCE, TOGETHER = 1.0, 2
WIDE = {
    "type": "object",
    "properties": {f"f{number}": {"type": "string"} for number in range(20_000)},
    "x-kubernetes-validations": [{"rule": f"self.f1 != '{number}'"} for number in range(2_000)],
}
JSON, YAML = "application/json", "application/yaml"
#: What is sent where, and its type.
TEXTS = {
    "values": (hostile.MAPS, '{"other":[' + "{}," * 900_000 + "1]}", JSON),
    "same keys": (hostile.MAPS, '{"data":{' + '"a":"1",' * 300_000 + '"b":""}}', JSON),
    "aliases": (hostile.MAPS, hostile.ALIASES["aliases"], YAML),
    "merges": (hostile.MAPS, hostile.ALIASES["merges"], YAML),
    "lines": (hostile.MAPS, "- a\n" * 700_000, YAML),
    "rules": (hostile.CRDS, hostile.ruled(hostile.MANY), JSON),
    "wide schema": (hostile.CRDS, hostile.definition(json.dumps(WIDE)), JSON),
    "policy": (hostile.POLICIES, hostile.policy(hostile.MANY), JSON),
}
IMPORTS = {
    "wrong documents": "---\na: 1\n" * 100_000,
    "documents": "---\napiVersion: example.com/v1\nkind: Thing\n" * 30_000,
    "import with aliases": hostile.ALIASES["aliases"],
    "import of many lists": "- [a, b, c]\n" * 300_000,
}
CONFIGURATION = "a: [" + "x, " * 80_000 + "x]"


@pytest.fixture(scope="module")
def site() -> Iterator[RunningSite]:
    with tempfile.TemporaryDirectory(prefix="schedweb-site-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        running = RunningSite(Path(folder))
        running.start()
        yield running
        running.close()


@pytest.fixture(scope="module")
def token(site: RunningSite) -> str:
    config = yaml.safe_load(site.manage("kubeconfig", "demo", "--user", "admin"))
    return f"Bearer {config['users'][0]['user']['token']}"


def send(port: int, token: str, path: str, text: str, kind: str) -> int:
    web = http.client.HTTPConnection("localhost", port, timeout=120)
    try:
        web.request("POST", path, text, {"Authorization": token, "Content-Type": kind})
        return web.getresponse().status
    finally:
        web.close()


def processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        *((f"/k8s/demo{path}", text, kind) for path, text, kind in TEXTS.values()),
        *(("/api/v1/clusters/demo/import", text, YAML) for text in IMPORTS.values()),
        ("/api/v1/clusters/demo/profiles", CONFIGURATION, YAML),
        ("/api/v1/clusters/demo/bulk", "[" * 190 + "{}," * 900_000 + "{}" + "]" * 190, JSON),
    ],
    ids=[*TEXTS, *IMPORTS, "configuration", "control plane"],
)
def test_health_is_answered_meanwhile(
    site: RunningSite, token: str, path: str, text: str, kind: str
) -> None:
    longest, port, front = 0.0, site.port(), site.process(r"-m schedweb\.front")
    with ThreadPoolExecutor(TOGETHER) as senders:
        sent = [senders.submit(send, port, token, path, text, kind) for _ in range(TOGETHER)]
        while not all(each.done() for each in sent):
            began = processor_seconds(front)
            assert site.get("/healthz")[0] == 200
            longest = max(longest, processor_seconds(front) - began)
    assert longest < PATIENCE
    assert all(400 <= each.result() < 500 for each in sent)
