"""The step debugger: steps that write nothing, changed verdicts, and a commit like an attempt."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from apps.cluster.models import Cluster
from apps.engine.loop.engines import Engines
from apps.engine.models import SchedulingDecision
from tests.engine.driving import create_pods, node_of, pod

pytestmark = pytest.mark.django_db(transaction=True)
#: What only a programmer of the plugin would read.
PYTHON = re.compile(r"\bat 0x|array\(|np\.|dtype|None|[A-Za-z]\w*\(|['{}<>]")
ADDRESS = "/api/v1/clusters/lab/debugger"


@pytest.fixture
def paused(cluster: Cluster, schedule: Callable[..., None]) -> Cluster:
    schedule(pod("first", cpu="6"))
    Cluster.objects.filter(pk=cluster.pk).update(paused=True)
    create_pods(cluster, pod("next", cpu="4"), pod("huge", cpu="64"))
    cluster.refresh_from_db()
    return cluster


def test_an_attempt_is_stepped_through_changed_and_committed(
    paused: Cluster, client: Client, admin_user: Any, row_counts: Callable[[], dict[str, int]]
) -> None:
    client.force_login(admin_user)
    taken = node_of(paused, "first")
    before = row_counts()
    found = client.get(ADDRESS).json()
    names = [point["name"] for point in found["points"]]
    assert names == ["PreFilter", "Filter", "PreScore and Score", "Selection", "Reserve and Permit"]
    assert found["pod"] == "default/next" and found["node"] != taken
    state = {each["key"]: each["value"] for point in found["points"] for each in point["state"]}
    assert "wanted: [cpu: 4,000" in state["NodeResourcesFit"]
    assert not PYTHON.search("\n".join(state.values()))
    verdicts = {each["node"]: each["rejected"] for each in found["nodes"]}
    assert verdicts[taken] == "NodeResourcesFit: Insufficient cpu"
    assert client.get(ADDRESS).json() == found
    changed = client.get(ADDRESS, {"reject": found["node"]}).json()
    assert changed["node"] not in ("", taken, found["node"])
    alone = client.get(ADDRESS, {"accept": taken, "reject": [n for n in verdicts if n != taken]})
    assert alone.json()["node"] == taken
    none = client.get(ADDRESS, {"reject": list(verdicts)}).json()
    assert none["points"][-1]["name"] == "PostFilter" and "rejected by hand" in none["message"]
    other = next(each for each in found["scores"]["nodes"] if each != found["node"])
    plugin = found["scores"]["plugins"][0]
    least = [f"{each['plugin']}:{found['node']}:0" for each in found["scores"]["plugins"]]
    scored = client.get(ADDRESS, {"score": [*least, f"{plugin['plugin']}:{other}:100"]}).json()
    assert scored["node"] == other
    for wrong, text in (
        (f"{plugin['plugin']}:{taken}:5", f"there is no feasible node {taken}"),
        (f"{plugin['plugin']}:{other}:101", "must be 0 to 100"),
        (f"NodeName:{other}:5", "NodeName has no scores here"),
        ("70", "must be plugin:node:score"),
    ):
        refused = client.get(ADDRESS, {"score": wrong})
        assert refused.status_code == 400 and text in refused.json()["message"]
    huge = client.get(ADDRESS, {"pod": "default/huge"}).json()
    assert huge["result"] == "unschedulable" and not huge["node"]
    assert client.get(ADDRESS, {"reject": "nowhere"}).status_code == 400
    assert client.get(ADDRESS, {"pod": "default/first"}).status_code == 404
    assert client.get(ADDRESS, {"version": 1}).status_code == 400
    assert row_counts() == before

    def commit(**body: Any) -> Any:
        return client.post(ADDRESS, body, content_type="application/json")

    version = found["version"]
    assert commit(pod="default/next", version=version - 1).status_code == 409
    Cluster.objects.filter(pk=paused.pk).update(paused=False)
    assert "not paused" in commit(pod="default/next", version=version).json()["message"]
    Cluster.objects.filter(pk=paused.pk).update(paused=True)
    assert row_counts() == before
    answer = commit(pod="default/next", version=version, reject=[found["node"]])
    assert answer.status_code == 200, answer.content
    assert node_of(paused, "next") == changed["node"] == answer.json()["node"]
    row = SchedulingDecision.objects.get(pk=answer.json()["decision"])
    assert row.node == changed["node"] and row.reasons == [
        "Insufficient cpu",
        "rejected by hand",
    ]
    # the scheduler goes on from there
    Cluster.objects.filter(pk=paused.pk).update(paused=False)
    Engines().run(paused.pk)
    assert SchedulingDecision.objects.filter(cluster=paused, name="next").count() == 1
    assert SchedulingDecision.objects.filter(cluster=paused, name="huge").exists()


def test_the_page_steps_forward_tries_a_verdict_and_commits(
    paused: Cluster, client: Client, admin_user: Any
) -> None:
    client.force_login(admin_user)
    address = "/clusters/lab/debugger"
    first = client.get(address)
    assert "PreFilter" in first.content.decode() and "Reserve and Permit" not in (
        first.content.decode()
    )
    last = client.get(f"{address}{first.context['address']}&step=5")
    chosen = last.context["decision"].node
    assert "Commit" in last.content.decode() and f"{chosen} is selected" in last.content.decode()
    kept = dict(last.context["kept"])
    tried = client.get(address, {**kept, "step": 5, "node": chosen, "verdict": "reject"})
    assert tried.context["decision"].node not in ("", chosen)
    matrix = last.context["attempt"].scores
    other = tried.context["decision"].node
    scores = {f"score.{each.name}/{chosen}": 0 for each in matrix.plugins}
    form = {"plugin": matrix.plugins[0].name, "scored": other, "score": 100}
    scored = client.get(address, {**kept, **scores, **form, "step": 5})
    assert scored.context["decision"].node == other
    undone = scored.context["changed_scores"][-1]
    assert (undone["node"], undone["score"]) == (other, 100)
    assert other not in undone["without"]
    wrong = client.get(address, {**kept, **form, "score": "many"})
    assert wrong.status_code == 422 and "must be a number from 0 to 100" in wrong.content.decode()
    done = client.post(address, dict(tried.context["kept"]), follow=True)
    assert "is recorded" in done.content.decode()
    assert node_of(paused, "next") == tried.context["decision"].node
    again = client.post(address, dict(tried.context["kept"]))
    assert again.status_code == 422 and "not found" in again.content.decode()
    assert client.get(address, {"verdict.node-1": "maybe"}).status_code == 422
