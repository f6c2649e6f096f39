"""What each namespace has, aggregated roles, and the history of templates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from apps.cluster.writing.default_policy import create_default_policy
from tests.controllers.conftest import Body, Lab
from tests.controllers.test_workloads import set_image, workload

pytestmark = pytest.mark.django_db(transaction=True)


def test_each_namespace_has_an_account_and_the_authority(
    lab: Lab, settings: Any, tmp_path: Path
) -> None:
    settings.TLS_AUTHORITY_FILE = tmp_path / "ca.crt"
    settings.TLS_AUTHORITY_FILE.write_text("certificate")
    lab.create("Namespace", {"metadata": {"name": "team"}})
    lab.settle()
    for namespace in ("default", "team"):
        assert lab.exists("ServiceAccount", "default", namespace)
        authority = lab.get("ConfigMap", "kube-root-ca.crt", namespace)
        assert authority["data"] == {"ca.crt": "certificate"}

    lab.delete("ServiceAccount", "default", "team")
    lab.change("ConfigMap", "kube-root-ca.crt", lambda body: {**body, "data": {}}, "team")
    lab.settle()
    assert lab.exists("ServiceAccount", "default", "team")
    assert lab.get("ConfigMap", "kube-root-ca.crt", "team")["data"]
    lab.delete("Namespace", "team")
    lab.settle()
    assert not lab.exists("Namespace", "team")
    assert not lab.all("ServiceAccount", "team")


def test_a_role_follows_those_that_it_aggregates_also_through_another_one(lab: Lab) -> None:
    def role(name: str, selects: str = "", *verbs: str, **labels: str) -> None:
        body: Body = {"metadata": {"name": name, "labels": labels}, "rules": rules(*verbs)}
        if selects:
            body["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": {selects: "yes"}}]}
        lab.create("ClusterRole", body)

    def rules(*verbs: str) -> list[Body]:
        return [{"verbs": [verb], "apiGroups": [""], "resources": ["pods"]} for verb in verbs]

    role("outer", "b")
    role("inner", "a", b="yes")
    role("reads", "", "get", a="yes")
    lab.settle()
    assert lab.get("ClusterRole", "outer")["rules"] == rules("get")
    role("writes", "", "create", a="yes")
    lab.settle()
    assert lab.get("ClusterRole", "outer")["rules"] == rules("get", "create")
    lab.delete("ClusterRole", "reads")
    lab.settle()
    assert lab.get("ClusterRole", "outer")["rules"] == rules("create")


def test_the_default_roles_of_a_cluster_are_filled_in_when_it_is_resumed(lab: Lab) -> None:
    lab.cluster.paused = True
    create_default_policy(lab.cluster)
    assert not lab.get("ClusterRole", "view").get("rules")
    lab.settle()
    assert len(lab.get("ClusterRole", "admin")["rules"]) > len(
        lab.get("ClusterRole", "view")["rules"]
    )


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_the_history_of_templates(lab: Lab, kind: str) -> None:
    lab.node("n1")
    options: Body = {"serviceName": "w", "replicas": 1} if kind == "StatefulSet" else {}
    body = workload("web", revisionHistoryLimit=1, **options)
    if kind == "DaemonSet":
        body["spec"].pop("replicas", None)
    lab.create(kind, body)
    lab.settle()

    def history() -> list[tuple[int, str]]:
        found = [
            (each["revision"], each["data"]["spec"]["template"]["spec"]["containers"][0]["image"])
            for each in lab.all("ControllerRevision")
        ]
        return sorted(found)

    def update(image: str) -> None:
        set_image(lab, kind, image)
        lab.advance(60)

    assert history() == [(1, "i:1")]
    update("i:2")
    assert history() == [(1, "i:1"), (2, "i:2")]
    # a rollback has the next number
    update("i:1")
    assert history() == [(2, "i:2"), (3, "i:1")]
    update("i:3")
    assert history() == [(3, "i:1"), (4, "i:3")]
    lab.delete(kind, "web", propagationPolicy="Background")
    lab.advance(60)
    assert history() == []
