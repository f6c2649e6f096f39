"""The notebooks of the Python client run against a site, cell by cell, without pandas."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from apps.administration.clusters.lifecycle import create_cluster
from apps.administration.operations import running
from apps.engine.loop.engines import Engines
from apps.engine.models import Operation
from tests.engine.driving import create_pods, pod

CLIENT = Path(__file__).parents[3] / "clients" / "python"
NOTEBOOKS = sorted((CLIENT / "notebooks").glob("*.ipynb"))


@pytest.fixture
def worker(transactional_db: None) -> Iterator[None]:
    """Runs operations as a worker does."""
    is_over = Event()

    def work() -> None:
        while not is_over.wait(0.05):
            for operation in Operation.objects.filter(state=Operation.State.WAITING):
                running.run(operation.pk)
        connection.close()

    thread = Thread(target=work)
    thread.start()
    yield
    is_over.set()
    thread.join()


def test_every_notebook_runs(
    live_server: Any,
    worker: None,
    key: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.syspath_prepend(str(CLIENT))
    monkeypatch.setenv("SCHEDWEB_URL", live_server.url)
    monkeypatch.setenv("SCHEDWEB_TOKEN", key)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    cluster = create_cluster("demo", user="alice", nodes=3)
    create_pods(cluster, *(pod(f"web-{number}", cpu="1") for number in range(3)))
    Engines().run(cluster.pk)
    assert len(NOTEBOOKS) == 5
    for path in NOTEBOOKS:
        names: dict[str, Any] = {"__name__": path.stem}
        for cell in json.loads(path.read_text())["cells"]:
            if cell["cell_type"] == "code":
                source = compile("".join(cell["source"]), f"{path.name}:{cell['id']}", "exec")
                exec(source, names)
    printed = capsys.readouterr().out
    assert "more pods fit" in printed and "equal: True" in printed
    assert re.search(r"now \['stepped-\d+', 'web-0', 'web-1', 'web-2'\]", printed)

    assert "svg has a plot" in printed and "percentageOfNodesToScore" in printed
    assert "web-1: node-" in printed and "clock manual" in printed

    replay = Operation.objects.filter(kind="replay", cluster=cluster).latest("pk")
    address = f"/api/v1/clusters/demo/replays/{replay.pk}?format="
    starts = {
        "csv": b"namespace,name,",
        "differences.csv": b"namespace,name,",
        "figures.csv": b"priority,priority_class,figure,recorded,baseline,replayed",
        "series.csv": b"at,pods.bound.recorded,",
        "svg": b"<?xml",
        "png": b"\x89PNG",
    }
    client = Client(headers={"Authorization": f"Bearer {key}"})
    for form, start in starts.items():
        file = client.get(address + form)
        assert file.status_code == 200 and file.content.startswith(start), form
    assert client.get(address + "pdf").status_code == 404

    module = sys.modules["schedweb_lab"]
    with module.Lab() as lab:
        failing = lab.scenario(
            "name: s\ncluster: {nodes: [{count: 1}]}\n"
            "workloads: [{name: web, trace: {format: openb, file: absent.csv}}]\n"
        )
        with pytest.raises(module.LabError, match=f"operation {failing.id} failed: ."):
            failing.result()
    with module.Lab() as lab, pytest.MonkeyPatch.context() as small:
        small.setattr(sys.modules["schedweb_lab.connection"], "PAGE", 2)
        found = lab.cluster("demo")
        names = {pod["name"] for pod in found.past_pods()}
        assert {"web-0", "web-1", "web-2"} < names, "of all pages"
        assert len(found.past_nodes(at="now")) == 3
        assert {row["name"] for row in found.decisions()} >= {"web-0", "web-1", "web-2"}
        newest = [row["id"] for row in found.decisions(limit=3)]
        assert newest == [row["id"] for row in found.decisions()][:3]
    with (
        pytest.raises(module.LabError, match="cannot reach http://127.0.0.1:1: "),
        module.Lab(url="http://127.0.0.1:1") as lab,
    ):
        lab.clusters()
    with pytest.raises(module.LabError, match="a token is required"):
        monkeypatch.delenv("SCHEDWEB_TOKEN")
        module.Lab()
    with (
        module.Lab(token="wrong") as lab,
        pytest.raises(module.LabError, match="token") as refused,
    ):
        lab.clusters()
    assert refused.value.status == 401
