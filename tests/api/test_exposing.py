"""Services that kubectl exposes pods with."""

from __future__ import annotations

from tests.api.conftest import Kube

SERVICES = "/api/v1/namespaces/default/services"
ZONE = "topology.kubernetes.io/zone"


def service(name: str, **selector: str) -> dict[str, object]:
    return {"metadata": {"name": name}, "spec": {"selector": selector, "ports": [{"port": 80}]}}


def test_labels_copied_from_the_node_do_not_reach_an_exposed_selector(kube: Kube) -> None:
    exposed = f"{SERVICES}?fieldManager=kubectl-expose"
    answer = kube.post(exposed, service("web", **{"app": "web", ZONE: "a"}))
    assert answer.json()["spec"]["selector"] == {"app": "web"}
    assert f"spec.selector: {ZONE} removed" in answer.headers["Warning"]
    # a selector that someone wrote is kept
    written = kube.post(SERVICES, service("zonal", **{"app": "web", ZONE: "a"}))
    assert written.json()["spec"]["selector"] == {"app": "web", ZONE: "a"}
    only = kube.post(exposed, service("only", **{ZONE: "a"}))
    assert only.json()["spec"]["selector"] == {ZONE: "a"} and "Warning" not in only.headers
