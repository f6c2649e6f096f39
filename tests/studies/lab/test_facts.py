"""The facts that a decision depended on, and the same decision with other facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from django.test import Client

from apps.cluster import kinds
from apps.cluster.models import Cluster
from apps.cluster.writes import Update
from apps.cluster.writing import store
from apps.engine.ledger.reading import read
from apps.engine.models import SchedulingDecision
from apps.studies.lab.counterfactuals import Question, ask
from apps.studies.lab.facts import FoundFacts, find_facts
from tests.engine.driving import ACTOR, pod

pytestmark = pytest.mark.django_db(transaction=True)
TAINT = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}


@pytest.fixture
def rows(cluster: Cluster, schedule: Callable[..., None]) -> dict[str, SchedulingDecision]:
    """node-1 is tainted; two pods of 4 CPUs are on each other node, so that `big` fits nowhere."""

    def taint(node: dict[str, Any]) -> dict[str, Any]:
        return {**node, "spec": {**node.get("spec", {}), "taints": [TAINT]}}

    store.write(cluster, [Update(kinds.NODE, "", "node-1", taint)], actor=ACTOR)
    schedule(*(pod(f"half-{number}", cpu="4") for number in range(4)))
    schedule(pod("big", cpu="7", tolerations=[{"key": "other", "operator": "Exists"}]))
    found = SchedulingDecision.objects.filter(cluster=cluster).order_by("-id")
    return {row.name: row for row in found}


def sentences(found: FoundFacts) -> list[str]:
    return [each.sentence for each in found.sets]


def test_the_smallest_sets_of_facts_are_found_and_proven(
    rows: dict[str, SchedulingDecision], row_counts: Callable[[], dict[str, int]]
) -> None:
    before, row = row_counts(), rows["big"]
    found = find_facts(row, read(row))
    assert sentences(found)[0] == (
        "Without the taint dedicated=db:NoSchedule on node-1, node-1 would be selected."
    )
    pairs = [each for each in found.sets if len(each.facts) == 2]
    assert {each.node for each in pairs} == {"node-0", "node-2"}
    assert all(fact.kind == "running-pod" for each in pairs for fact in each.facts)
    # neither pod alone, and not the toleration of something else
    assert len(found.sets) == 3 and found.is_complete
    assert row_counts() == before


def test_weights_are_members_of_the_smallest_sets(
    cluster: Cluster, schedule: Callable[..., None]
) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(tie_break=Cluster.TieBreak.FIRST_NAME)
    preferred = {
        "weight": 1,
        "preference": {
            "matchExpressions": [
                {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-2"]}
            ]
        },
    }
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [preferred]}}
    schedule(pod("liked", affinity=affinity))
    row = SchedulingDecision.objects.get(cluster=cluster, name="liked")
    assert row.node == "node-2"
    found = find_facts(row, read(row))
    (weighed,) = [each for each in found.sets if each.facts[0].kind == "weight"]
    assert [each.sentence for each in weighed.facts] == ["NodeAffinity weighs 2"]
    assert weighed.sentence == "node-0 wins when NodeAffinity weighs 0."
    again = ask(row, read(row), Question(weights={"NodeAffinity": 0}))
    assert again.node == weighed.node == "node-0"


def test_a_decision_is_asked_about_with_another_pod_and_other_nodes(
    rows: dict[str, SchedulingDecision], client: Client, admin_user: Any
) -> None:
    client.force_login(admin_user)
    row = rows["big"]

    def post(body: dict[str, Any], status: int = 200) -> Any:
        address = f"/api/v1/clusters/lab/decisions/{row.pk}/counterfactual"
        answer = client.post(address, body, content_type="application/json")
        assert answer.status_code == status, answer.content
        return answer.json()

    containers = [{"name": "c", "resources": {"requests": {"cpu": "8"}}}]
    untainted = {"node-1": {"spec": {"taints": None}}}
    assert post({})["effect"] == "same"
    assert post({"nodes": untainted})["node"] == "node-1"
    assert post({"nodes": untainted, "pod": {"spec": {"containers": containers}}})["node"]
    small = [{"name": "c", "resources": {"requests": {"cpu": "1m"}}}]
    more = {"status": {"allocatable": {"cpu": "64"}}}
    assert post({"nodes": {"node-0": more}})["node"] == "node-0"
    assert post({"pod": {"spec": {"containers": small}}})["effect"] == "same"
    key = next(
        each.name for each in rows.values() if each.node == "node-2" and each.result == "scheduled"
    )
    others = [f"default/{each.name}" for each in rows.values() if each.node == "node-2"]
    assert post({"delete_pods": [f"default/{key}"]})["effect"] == "same"
    assert post({"delete_pods": others})["node"] == "node-2"
    for wrong, message in (
        ({"nodes": {"nowhere": {"spec": {}}}}, "there was no node nowhere"),
        ({"nodes": {"node-1": {"kind": "Pod"}}}, "nodes[node-1].kind: only metadata"),
        (
            {"pod": {"spec": {"priority": "high"}}},
            "pod.spec.priority: json: cannot unmarshal string",
        ),
        ({"pod": {"metadata": {"name": "x"}}}, "pod.metadata: name, namespace and uid"),
        ({"pod": []}, "pod: must be an object"),
        ({"pod": {"spec": {"container": []}}}, "pod.spec.container: unknown field"),
        ({"delete_pods": ["default/none"]}, "default/none was on no node"),
    ):
        assert message in post(wrong, 400)["message"]
    facts = client.get(f"/api/v1/clusters/lab/decisions/{row.pk}/facts").json()
    assert facts["sets"][0]["facts"][0]["node"] == "node-1"
    address = f"/clusters/lab/decisions/{row.pk}/facts"
    # the page itself decides nothing again; it asks for the list
    first = client.get(f"{address}?node=node-1").content.decode()
    assert "the taint dedicated" not in first and f'hx-get="{address}?node=node-1"' in first
    without_scripts = client.get(f"{address}?search=on&node=node-1").content.decode()
    assert "the taint dedicated=db:NoSchedule on node-1" in without_scripts
    page = client.get(f"{address}?node=node-1", headers={"HX-Request": "true"})
    assert "the taint dedicated=db:NoSchedule on node-1" in page.content.decode()
    known = page.context["form"].initial
    typed = {**known, "changes": known["changes"].replace("dedicated", "other")}
    answer = client.post(f"{address}?node=node-1", typed)
    assert answer.context["answer"].node == "node-1"
    # the answer does not wait for the list, which is loaded beside the form
    assert answer.context["page"].facts is None and 'hx-select="#facts"' in answer.content.decode()
    broken = client.post(address, {**known, "pod": yaml.safe_dump({"spec": {"priority": []}})})
    assert broken.status_code == 422 and "priority" in broken.content.decode()
