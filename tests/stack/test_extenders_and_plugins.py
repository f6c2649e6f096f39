"""Extenders and out-of-tree plugins, in a site of real processes."""

from __future__ import annotations

import json
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.scheduler.extenders.running import RunningExtender, running_extender
from tests.stack.running_site import ROOT, RunningSite, wait_until

pytestmark = pytest.mark.stack

PODS = "/k8s/lab/api/v1/namespaces/default/pods"
GPU = "example.com/gpu"


class Client:
    """A client of the site as `admin`."""

    def __init__(self, site: RunningSite) -> None:
        self._site = site
        config = yaml.safe_load(site.manage("kubeconfig", "lab", "--user", "admin"))
        self._headers = {"Authorization": f"Bearer {config['users'][0]['user']['token']}"}

    def post(self, path: str, body: dict[str, Any]) -> None:
        assert self._site.post(path, body, self._headers) == 201

    def get(self, path: str) -> Any:
        url = f"http://localhost:{self._site.port()}{path}"
        with urllib.request.urlopen(urllib.request.Request(url, headers=self._headers)) as answer:
            return json.load(answer)

    def create_pod(self, name: str, **requests: str) -> None:
        container = {"name": "c", "image": "i", "resources": {"requests": requests}}
        if GPU in requests:
            container["resources"]["limits"] = requests
        self.post(PODS, {"metadata": {"name": name}, "spec": {"containers": [container]}})

    def node_of(self, name: str) -> str:
        node: str = self.get(f"{PODS}/{name}")["spec"].get("nodeName", "")
        return node

    def configure(self, **parts: Any) -> None:
        head = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
        }
        text = yaml.safe_dump({**head, **parts})
        self.post("/api/v1/clusters/lab/profiles", {"configuration": text})


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with tempfile.TemporaryDirectory(prefix="schedweb-site-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        plugins = "tests.engine.profiles.outside_plugins:Gatekeeper"
        site = RunningSite(Path(folder), SCHEDWEB_PLUGINS=plugins, PYTHONPATH=str(ROOT))
        site.start()
        site.manage("create_cluster", "lab", "--nodes", "2", "--tie-break", "first-name")
        yield Client(site)
        site.close()


@pytest.fixture
def extender() -> Iterator[RunningExtender]:
    with running_extender() as running:
        yield running


def test_a_pod_continues_at_once_when_its_extender_has_bound_it(
    client: Client, extender: RunningExtender, capsys: pytest.CaptureFixture[str]
) -> None:
    extender.answers("bind", {}, held=True)
    managed = [{"name": GPU, "ignoredByScheduler": True}]
    entry = {"urlPrefix": extender.url, "bindVerb": "bind", "managedResources": managed}
    client.configure(extenders=[entry])
    client.create_pod("slow", **{GPU: "1"})
    wait_until(lambda: bool(extender.requests("bind")))
    client.create_pod("quick", cpu="10m")
    wait_until(lambda: bool(client.node_of("quick")))
    assert client.node_of("slow") == ""
    began = time.monotonic()
    extender.release("bind")
    wait_until(lambda: bool(client.node_of("slow")))
    took = time.monotonic() - began
    with capsys.disabled():
        print(f" [from the extender's answer to the binding: {took * 1000:.0f} ms]", end="")
    assert took < 2


def test_an_out_of_tree_plugin_holds_a_pod_on_its_node(client: Client) -> None:
    enabled = {"multiPoint": {"enabled": [{"name": "Gatekeeper"}]}}
    client.configure(profiles=[{"plugins": enabled}])
    client.create_pod("held", cpu="10m")
    wait_until(
        lambda: client.get(f"{PODS}/held")["status"].get("nominatedNodeName", "") == "node-0"
    )
    client.create_pod("free", cpu="10m")
    wait_until(lambda: bool(client.node_of("free")))
    assert client.node_of("held") == ""
