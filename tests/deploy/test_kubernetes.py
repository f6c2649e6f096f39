"""The manifests in deploy/kubernetes: valid for Kubernetes 1.36, restricted, and they schedule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from django.contrib.auth.models import User
from django.test import Client

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.models import Pod
from apps.engine.loop.engines import Engines
from schedweb import alive, config
from tests.engine.driving import run_until

FOLDER = Path(__file__).parents[2] / "deploy" / "kubernetes"
GROUPS = {
    "ConfigMap": "api/v1/namespaces/schedweb/configmaps",
    "CronJob": "apis/batch/v1/namespaces/schedweb/cronjobs",
    "Deployment": "apis/apps/v1/namespaces/schedweb/deployments",
    "Namespace": "api/v1/namespaces",
    "NetworkPolicy": "apis/networking.k8s.io/v1/namespaces/schedweb/networkpolicies",
    "PersistentVolumeClaim": "api/v1/namespaces/schedweb/persistentvolumeclaims",
    "PodDisruptionBudget": "apis/policy/v1/namespaces/schedweb/poddisruptionbudgets",
    "Service": "api/v1/namespaces/schedweb/services",
    "StatefulSet": "apis/apps/v1/namespaces/schedweb/statefulsets",
}


@pytest.fixture(scope="module")
def manifests() -> list[Any]:
    """All objects, in the order of the kustomization."""
    listed = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
    assert {path.name for path in FOLDER.glob("*.yaml")} == {*listed, "kustomization.yaml"}
    return [each for name in listed for each in yaml.safe_load_all((FOLDER / name).read_text())]


def pod_specs(manifests: list[Any]) -> dict[str, Any]:
    found = {
        each["metadata"]["name"]: each["spec"]
        for each in manifests
        if each["kind"] in ("CronJob", "Deployment", "StatefulSet")
    }
    return {
        name: spec.get("jobTemplate", {"spec": spec})["spec"]["template"]["spec"]
        for name, spec in found.items()
    }


def test_they_are_valid_for_kubernetes(manifests: list[Any]) -> None:
    for each in manifests:
        kubernetes_validate.validate(each, "1.36", strict=True)
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(manifests[0] | {"specs": {}}, "1.36", strict=True)


def test_pods_are_restricted(manifests: list[Any]) -> None:
    """As the Pod Security Standard "restricted" asks, and with a read-only root."""
    for name, spec in pod_specs(manifests).items():
        assert spec["securityContext"]["runAsNonRoot"], name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert spec["automountServiceAccountToken"] is False, name
        for container in spec["containers"] + spec.get("initContainers", []):
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] and not context["allowPrivilegeEscalation"]
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert container["resources"]["limits"]["memory"]


def test_processes_secrets_and_checks_are_those_of_the_site(manifests: list[Any]) -> None:
    specs = pod_specs(manifests)
    assert set(specs) == {"web", "worker", "beat", "postgres", "valkey", "backup"}
    mounted = {each["mountPath"] for each in specs["backup"]["containers"][0]["volumeMounts"]}
    assert "/backups" in mounted and "manage.py backup" in str(specs["backup"]["containers"])
    commands = {name: specs[name]["containers"][0]["command"] for name in ("web", "worker", "beat")}
    assert commands == {
        "web": ["python", "-m", "schedweb.front"],
        "worker": ["python", "-m", "schedweb.worker"],
        "beat": ["python", "-m", "schedweb.beat"],
    }
    for name in ("worker", "beat"):
        probe = specs[name]["containers"][0]["livenessProbe"]["exec"]["command"]
        assert probe == ["python", "-m", alive.__name__]
    [settings] = [each["data"] for each in manifests if each["kind"] == "ConfigMap"]
    without_files = {name: v for name, v in settings.items() if not name.endswith("_FILE")}
    assert config.load(without_files).broker_url == "redis://valkey:6379/0"
    assert not any(each["kind"] == "Secret" for each in manifests), "a secret in the repository"
    replicas = {
        each["metadata"]["name"]: each["spec"]["replicas"]
        for each in manifests
        if each["kind"] == "Deployment"
    }
    assert replicas["worker"] > 1 and replicas["beat"] == 1


@pytest.mark.django_db(transaction=True)
def test_a_cluster_of_our_own_accepts_and_schedules_them(
    manifests: list[Any], client: Client
) -> None:
    client.force_login(User.objects.create_superuser("admin"))
    cluster = create_cluster("real", user="admin", nodes=3, zones=3)
    for each in manifests:
        address = f"/k8s/real/{GROUPS[each['kind']]}?fieldValidation=Strict"
        answer = client.post(address, json.dumps(each), content_type="application/json")
        assert answer.status_code == 201, answer.content
    engines = Engines()
    bound = Pod.objects.filter(cluster=cluster, namespace="schedweb").exclude(node_name="")
    try:
        run_until(engines, cluster, lambda: bound.filter(name__startswith="worker-").count() == 3)
        run_until(engines, cluster, lambda: bound.filter(name__startswith="beat-").count() == 1)
    finally:
        engines.close()
    nodes = bound.filter(name__startswith="worker-").values_list("node_name", flat=True)
    assert len(set(nodes)) == 3, "workers are not spread"
