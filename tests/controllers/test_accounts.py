"""What each namespace has, and the history of templates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

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
