"""Two processes of the web front behind one port."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from tests.stack.running_site import RunningSite, alive, wait_until

pytestmark = pytest.mark.stack

Body = dict[str, Any]

PODS = "/k8s/shared/api/v1/namespaces/default/pods"
CREATING = (
    "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%counter AS MATERIALIZED%' "
    "AND pid <> pg_backend_pid()"
)


@pytest.fixture(scope="module")
def site() -> Iterator[RunningSite]:
    with tempfile.TemporaryDirectory(prefix="schedweb-site-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        running = RunningSite(Path(folder), SCHEDWEB_WEB_PROCESSES="2")
        running.start()
        yield running
        running.close()


@pytest.fixture(scope="module")
def headers(site: RunningSite) -> dict[str, str]:
    config = yaml.safe_load(site.manage("kubeconfig", "demo", "--user", "admin"))
    return {"Authorization": f"Bearer {config['users'][0]['user']['token']}"}


def fronts(site: RunningSite) -> list[int]:
    return [pid for pid, line in site.processes().items() if "schedweb.front" in line]


def create(site: RunningSite, headers: dict[str, str], name: str) -> int:
    body = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    return site.post(PODS, body, headers)


def versions(site: RunningSite) -> list[int]:
    with psycopg.connect(site.database_url) as connection:
        rows = connection.execute(
            "SELECT p.resource_version FROM cluster_pod p JOIN cluster_cluster c "
            "ON c.id = p.cluster_id WHERE c.name = 'shared'"
        ).fetchall()
    return [row[0] for row in rows]


def test_both_create_objects_of_one_cluster(site: RunningSite, headers: dict[str, str]) -> None:
    assert len(fronts(site)) == 2
    assert site.post("/api/v1/clusters", {"name": "shared"}, headers) == 201
    assert site.post("/api/v1/clusters/shared/pause", {}, headers) == 200
    created = 0

    def both_create() -> bool:
        nonlocal created
        # each over a connection of its own, which the kernel assigns to a process
        assert create(site, headers, f"p{created}") == 201
        created += 1
        with psycopg.connect(site.database_url) as connection:
            row = connection.execute(CREATING).fetchone()
        return row is not None and row[0] == 2

    wait_until(both_create)
    assert len(set(versions(site))) == created
    # a namespace that one process creates is known to the other
    assert site.post("/k8s/shared/api/v1/namespaces", {"metadata": {"name": "n"}}, headers) == 201
    body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    for number in range(10):
        body["metadata"]["name"] = f"n{number}"
        assert site.post("/k8s/shared/api/v1/namespaces/n/pods", body, headers) == 201


NAMED: dict[str, Any] = {"metadata": {"name": "n"}}
SPEC = {"containers": [{"name": "c", "image": "i"}]}
CORE, APIS = "/k8s/{}/api/v1", "/k8s/{}/apis"
CREATED_PODS = {
    "resourceRules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    ]
}
HOOK = {
    "name": "a.example.com",
    "clientConfig": {"url": "https://127.0.0.1:1/x"},
    "rules": CREATED_PODS["resourceRules"],
    "failurePolicy": "Fail",
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
    "timeoutSeconds": 1,
}
#: What admission keeps in memory: objects by their paths in the order of their creation, the spec
#: of a pod that is created at once, and what is expected: its code, or what its spec has then.
ADMITTED: dict[str, tuple[dict[str, Body], Body, int | Body]] = {
    "PriorityClass": (
        {f"{APIS}/scheduling.k8s.io/v1/priorityclasses": {**NAMED, "value": 7}},
        {"priorityClassName": "n"},
        {"priority": 7},
    ),
    "default PriorityClass": (
        {
            f"{APIS}/scheduling.k8s.io/v1/priorityclasses": {
                **NAMED,
                "value": 8,
                "globalDefault": True,
            }
        },
        {},
        {"priority": 8, "priorityClassName": "n"},
    ),
    "RuntimeClass": (
        {
            f"{APIS}/node.k8s.io/v1/runtimeclasses": {
                **NAMED,
                "handler": "h",
                "overhead": {"podFixed": {"cpu": "3m"}},
            }
        },
        {"runtimeClassName": "n"},
        {"overhead": {"cpu": "3m"}},
    ),
    "LimitRange": (
        {
            f"{CORE}/namespaces/default/limitranges": {
                **NAMED,
                "spec": {"limits": [{"type": "Pod", "max": {"cpu": "1m"}}]},
            }
        },
        {},
        403,
    ),
    "ResourceQuota": (
        {f"{CORE}/namespaces/default/resourcequotas": {**NAMED, "spec": {"hard": {"pods": "0"}}}},
        {},
        403,
    ),
    "ValidatingAdmissionPolicy": (
        {
            f"{APIS}/admissionregistration.k8s.io/v1/validatingadmissionpolicies": {
                **NAMED,
                "spec": {
                    "matchConstraints": CREATED_PODS,
                    "validations": [{"expression": "false"}],
                },
            },
            f"{APIS}/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings": {
                **NAMED,
                "spec": {"policyName": "n", "validationActions": ["Deny"]},
            },
        },
        {},
        422,
    ),
    "webhook": (
        {
            f"{APIS}/admissionregistration.k8s.io/v1/validatingwebhookconfigurations": {
                **NAMED,
                "webhooks": [HOOK],
            }
        },
        {},
        500,
    ),
}


@pytest.mark.parametrize("name", ADMITTED)
def test_what_admission_keeps_in_memory_holds_at_once_for_both(
    site: RunningSite, headers: dict[str, str], name: str
) -> None:
    """Created and deleted, with a pod after each, over connections to either process."""
    objects, spec, expected = ADMITTED[name]
    cluster = name.lower().replace(" ", "-")
    assert site.post("/api/v1/clusters", {"name": cluster, "paused": True}, headers) == 201
    pods = f"{CORE.format(cluster)}/namespaces/default/pods"
    for number in range(6):
        before = site.send("POST", pods, {**pod(f"before{number}"), "spec": SPEC}, headers)
        assert before[0] == 201, before
        for path, body in objects.items():
            answer = site.send("POST", path.format(cluster), body, headers)
            assert answer[0] == 201, answer
        code, stored = site.send(
            "POST", pods, {**pod(f"p{number}"), "spec": {**SPEC, **spec}}, headers
        )
        if isinstance(expected, int):
            assert code == expected, stored
        else:
            assert code == 201, stored
            assert expected.items() <= stored["spec"].items()
        for path in reversed(objects):
            assert site.send("DELETE", f"{path.format(cluster)}/n", None, headers)[0] == 200


def pod(name: str) -> Body:
    return {"metadata": {"name": name}}


def test_a_process_that_is_killed_starts_again(site: RunningSite, headers: dict[str, str]) -> None:
    killed, other = fronts(site)
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: not alive(killed))

    # the other one takes the connections to this one
    assert [site.get("/healthz")[0] for _ in range(20)] == [200] * 20
    wait_until(lambda: len(fronts(site)) == 2, seconds=60)
    assert other in fronts(site)
    for number in range(10):
        assert create(site, headers, f"again{number}") == 201


def test_one_that_hangs_is_not_noticed_and_is_killed(
    site: RunningSite, headers: dict[str, str]
) -> None:
    hanging, other = fronts(site)
    os.kill(hanging, signal.SIGSTOP)
    # the kernel assigns half of these to the process that hangs
    for number in range(20):
        assert create(site, headers, f"meanwhile{number}") == 201
    wait_until(lambda: not alive(hanging), seconds=60)
    assert "was stopped by a signal; killing it" in site.output
    wait_until(lambda: len(fronts(site)) == 2, seconds=60)
    assert other in fronts(site)


def test_all_end_with_the_site(site: RunningSite) -> None:
    running = fronts(site)
    assert site.end(signal.SIGTERM) == 0
    assert not any(alive(pid) for pid in running)
