"""The figures of a cluster over time by REST: JSON, CSV, errors."""

from __future__ import annotations

from typing import Any

import pytest

from apps.administration.clusters.lifecycle import create_cluster
from apps.engine.loop.engines import Engines
from apps.engine.series import sampling
from tests.api.control.conftest import Api
from tests.engine.driving import create_pods, pod

pytestmark = pytest.mark.django_db(transaction=True)

SERIES = "/clusters/lab/series"


@pytest.fixture
def _sampled_lab(db: None) -> None:
    cluster = create_cluster("lab", user="tests", nodes=2)
    create_pods(cluster, pod("a"), pod("huge", cpu="900"))
    Engines().run(cluster.pk)
    sampling.sample_all()


@pytest.mark.usefixtures("_sampled_lab")
def test_series_are_json_or_csv_and_errors_name_the_parameter(api: Api, anonymous: Api) -> None:
    body: dict[str, Any] = api.get(f"{SERIES}?since=15m").json()
    assert body["known"] and body["step"] == 10 and body["scope"] == "cluster"
    charts = {chart["id"]: chart for chart in body["charts"]}
    assert {"pods", "queue", "use-cpu", "stranded", "plugins"} <= charts.keys()
    lines = {line["name"]: line["values"] for line in charts["pods"]["lines"]}
    assert lines["bound"][-1] == 1 and len(lines["bound"]) == len(body["times"])

    answer = api.get(f"{SERIES}?scope=namespace&name=default&chart=pods&format=csv")
    assert answer["Content-Type"].startswith("text/csv")
    assert 'filename="lab-default-series.csv"' in answer["Content-Disposition"]
    heading, *_, last = answer.content.decode().splitlines()
    assert heading.startswith("time,Pods by state: bound (pods),") and ",1," in last

    for query, field in {
        "since=soon": "since",
        "until=1h&since=30m": "since",
        "step=7": "step",
        "scope=pod": "scope",
        "scope=node": "name",
        "chart=none": "chart",
        "sinse=1h": "sinse",
    }.items():
        refused = api.get(f"{SERIES}?{query}")
        assert refused.status_code == 400 and field in refused.json()["message"], query
    refused = api.get(f"{SERIES}?format=csv&since=soon")
    assert refused.status_code == 400 and "since" in refused.json()["message"]
    assert api.get(f"{SERIES}?scope=node&name=nobody").status_code == 404
    assert api.get("/clusters/nowhere/series").status_code == 404
    assert anonymous.get(SERIES).status_code == 401
