"""Real clients as users of a cluster: kubectl, as recorded and beyond, and the Python client."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from kubernetes import client as k8s
from kubernetes import config, dynamic, watch
from kubernetes.informer import SharedInformer
from kubernetes.leaderelection import electionconfig
from kubernetes.leaderelection.leaderelection import LeaderElection
from kubernetes.leaderelection.resourcelock.configmaplock import ConfigMapLock

from tests.stack.kubectl import Kubectl
from tests.stack.running_site import ROOT, RunningSite, wait_until

pytestmark = pytest.mark.stack

RECORDING = Path(__file__).with_name("data") / "kubectl.jsonl"
#: Commands whose output depends on the version of kubectl -> what is different before 1.36.
OF_OLDER_CLIENTS: Final = {
    "describe node": "prints Kube-Proxy Version",
    "drain bound pod without force": "says 'cannot delete' twice",
    "scale replicaset missing": "says 'no objects passed to scale'",
}
PROGRAM = shutil.which("kubectl")


@pytest.fixture(scope="module")
def site() -> Iterator[RunningSite]:
    with tempfile.TemporaryDirectory(prefix="clients-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        running = RunningSite(Path(folder))
        running.start()
        yield running
        running.close()


def client(site: RunningSite, cluster: str, folder: Path) -> Kubectl:
    """kubectl with the URL that names the cluster by the TLS server name."""
    if PROGRAM is None:
        pytest.skip("NO KUBECTL ON THE PATH: its commands were not tried")
    config = folder / "kubeconfig"
    config.write_text(site.manage("kubeconfig", cluster, "--user", "admin", "--root"))
    return Kubectl(PROGRAM, config, folder)


def test_recorded_commands_have_the_recorded_output(site: RunningSite, tmp_path: Path) -> None:
    if PROGRAM is not None:
        site.manage("create_cluster", "recorded")
        site.manage("pause", "recorded")
    found = list(client(site, "recorded", tmp_path).replay(RECORDING))
    different = {each.name: str(each) for each in found if each is not None}
    assert len(found) == 78
    known = set(OF_OLDER_CLIENTS) if _minor() < 36 else set()
    assert set(different) == known, "\n".join(different.values())


def test_verbs_that_need_a_running_cluster(site: RunningSite, tmp_path: Path) -> None:
    kubectl = client(site, "demo", tmp_path)

    def says(*arguments: str, exit: int = 0) -> str:
        outcome = kubectl.run(*arguments)
        assert outcome.exit == exit, outcome
        return outcome.stdout + outcome.stderr

    says("create", "deployment", "web", "--image=nginx")
    says("set", "resources", "deployment", "web", "--requests=cpu=100m,memory=64Mi")
    says("rollout", "status", "deployment", "web", "--timeout=30s")
    assert says("rollout", "history", "deployment", "web").count("<none>") == 2
    assert "rolled back" in says("rollout", "undo", "deployment", "web")
    says("run", "alone", "--image=nginx")
    says("wait", "--for=condition=Ready", "pod/alone", "--timeout=30s")
    assert re.search(r"alone +alone +\dm +\d+Mi", says("top", "pods", "alone", "--containers"))
    assert "node-0" in says("top", "nodes", "--sort-by=cpu")
    assert "started container alone with image nginx" in says("logs", "alone")
    assert "error dialing backend" in says("exec", "alone", "--", "ls", exit=1)
    assert "error dialing backend" in says("cp", "alone:/etc/hosts", "hosts", exit=1)
    assert '"kind":"PodMetricsList"' in says("get", "--raw", "/apis/metrics.k8s.io/v1beta1/pods")
    says("debug", "alone", "--image=busybox", "--target=alone", "-c", "debugger")
    started = "--for=jsonpath={.status.ephemeralContainerStatuses[0].state.running.startedAt}"
    says("wait", started, "pod/alone", "--timeout=30s")
    assert "image busybox" in says("logs", "alone", "-c", "debugger")
    says("autoscale", "deployment", "web", "--min=3", "--max=5")
    says("wait", "--for=jsonpath={.spec.replicas}=3", "deployment/web", "--timeout=30s")
    assert "SuccessfulRescale" in says("describe", "hpa", "web")
    says("cluster-info", "dump", "--output-directory=dump")
    assert (tmp_path / "dump" / "nodes.json").exists()


def test_the_python_client(site: RunningSite, tmp_path: Path) -> None:
    """Objects, watches, informers, the dynamic client and leader election."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(site.manage("kubeconfig", "demo", "--user", "admin"))
    api = config.new_client_from_config(str(kubeconfig))
    core, apps = k8s.CoreV1Api(api), k8s.AppsV1Api(api)
    core.create_namespace({"metadata": {"name": "team"}})
    accounts = watch.Watch().stream(
        core.list_namespaced_service_account, "team", timeout_seconds=30
    )
    assert next(accounts)["object"].metadata.name == "default"
    token = core.create_namespaced_service_account_token(
        "default", "team", k8s.AuthenticationV1TokenRequest(spec={"audiences": []})
    )
    assert token.status.token

    seen: list[str] = []
    informer = SharedInformer(list_func=core.list_namespaced_pod, namespace="team")
    informer.add_event_handler("ADDED", lambda pod: seen.append(pod.metadata.name))
    informer.start()
    labels = {"app": "web"}
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "10m"}}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    apps.create_namespaced_deployment("team", {"metadata": {"name": "web"}, "spec": spec})
    scale = apps.patch_namespaced_deployment_scale("web", "team", {"spec": {"replicas": 2}})
    assert scale.spec.replicas == 2
    wait_until(lambda: len(seen) == 2)
    informer.stop()
    autoscaler = {
        "metadata": {"name": "web"},
        "spec": {
            "maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        },
    }
    k8s.AutoscalingV1Api(api).create_namespaced_horizontal_pod_autoscaler("team", autoscaler)
    (found,) = (
        dynamic.DynamicClient(api)
        .resources.get(kind="HorizontalPodAutoscaler", api_version="autoscaling/v2")
        .get(namespace="team")
        .items
    )
    assert found.spec.metrics[0].resource.target.averageUtilization == 80
    assert _is_elected(api)
    core.delete_namespace("team")


DEVICES = """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.org"'}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-0-gpu}
spec:
  driver: gpu.example.org
  nodeName: node-0
  pool: {name: node-0, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: mine}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: with-gpu}
spec:
  containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimName: mine}]
---
apiVersion: v1
kind: Pod
metadata: {name: without-gpu}
spec:
  containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: one-gpu}]
"""


def test_devices_with_kubectl_and_the_python_client(site: RunningSite, tmp_path: Path) -> None:
    """The four kinds: applied, listed, watched, patched, and freed for the next pod."""
    kubectl = client(site, "demo", tmp_path)

    def says(*arguments: str, exit: int = 0) -> str:
        outcome = kubectl.run(*arguments)
        assert outcome.exit == exit, outcome
        return outcome.stdout + outcome.stderr

    (tmp_path / "devices.yaml").write_text(DEVICES)
    assert says("apply", "-f", "devices.yaml").count("created") == 6
    says("wait", "--for=condition=Ready", "pod/with-gpu", "--timeout=30s")
    claim = says("get", "resourceclaim", "mine")
    assert re.search(r"mine +allocated,reserved", claim)
    assert re.search(r"node-0-gpu +node-0 +gpu.example.org +node-0", says("get", "resourceslices"))
    selected = says(
        "get", "resourceslices", "--field-selector=spec.driver=gpu.example.org", "-oname"
    )
    assert selected.split() == ["resourceslice.resource.k8s.io/node-0-gpu"]
    assert "gpu-0" in says("describe", "resourceclaim", "mine")
    refused = "spec.devices.requests[0].exactly.selectors[0].cel.expression"
    wrong = DEVICES.split("---")[3].replace(
        "deviceClassName: gpu", "deviceClassName: gpu, selectors: [{cel: {expression: device.x}}]"
    )
    (tmp_path / "wrong.yaml").write_text(wrong.replace("mine", "wrong"))
    assert refused in says("apply", "-f", "wrong.yaml", exit=1)

    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(site.manage("kubeconfig", "demo", "--user", "admin"))
    api = config.new_client_from_config(str(kubeconfig))
    core = k8s.CoreV1Api(api)
    kinds = dynamic.DynamicClient(api).resources
    claims = kinds.get(kind="ResourceClaim", api_version="resource.k8s.io/v1")
    (result,) = claims.get(name="mine", namespace="default").status.allocation.devices.results
    assert (result.pool, result.device) == ("node-0", "gpu-0")
    device = {"driver": result.driver, "pool": result.pool, "device": result.device}
    claims.status.patch(
        name="mine",
        namespace="default",
        body={"status": {"devices": [{**device, "data": {"firmware": "7"}}]}},
        content_type="application/merge-patch+json",
    )
    assert claims.get(name="mine", namespace="default").status.devices[0].data.firmware == "7"

    def waits() -> bool:
        pod = core.read_namespaced_pod("without-gpu", "default")
        told = [each.message for each in pod.status.conditions or () if each.message]
        return any("cannot allocate all claims" in message for message in told)

    wait_until(waits)
    core.delete_namespaced_pod("with-gpu", "default", grace_period_seconds=0)
    says("wait", "--for=condition=Ready", "pod/without-gpu", "--timeout=60s")
    (generated,) = core.read_namespaced_pod("without-gpu", "default").status.resource_claim_statuses
    owner = claims.get(name=generated.resource_claim_name, namespace="default")
    assert owner.metadata.ownerReferences[0].name == "without-gpu"
    says("delete", "-f", "devices.yaml", "--ignore-not-found", "--wait=false")


def _is_elected(api: k8s.ApiClient) -> bool:
    """Whether a client becomes the leader."""
    elected, resigned = threading.Event(), threading.Event()

    class Lock(ConfigMapLock):
        def update(self, *given: Any) -> bool:
            return not resigned.is_set() and super().update(*given)

    k8s.Configuration.set_default(api.configuration)
    election = electionconfig.Config(
        Lock("leader", "team", "test"),
        lease_duration=4,
        renew_deadline=3,
        retry_period=2,
        onstarted_leading=elected.set,
        onstopped_leading=lambda: None,
    )
    leading = threading.Thread(target=LeaderElection(election).run, daemon=True)
    leading.start()
    won = elected.wait(30)
    resigned.set()
    leading.join(30)
    return won and not leading.is_alive()


def _minor() -> int:
    """The minor version of kubectl, such as 32; 36 for a build that does not tell."""
    assert PROGRAM is not None
    shown = subprocess.run(
        [PROGRAM, "version", "--client"], capture_output=True, text=True, check=False
    ).stdout
    version = re.search(r"v1\.(\d+)", shown)
    return int(version[1]) if version else 36


def test_sixteen_writers_lose_no_update(site: RunningSite, tmp_path: Path) -> None:
    """Watches miss and repeat nothing; each list is that of its version."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(site.manage("kubeconfig", "demo", "--user", "admin"))
    api = config.new_client_from_config(str(kubeconfig))
    api.configuration.connection_pool_maxsize = 20
    core = k8s.CoreV1Api(k8s.ApiClient(api.configuration))
    core.create_namespace({"metadata": {"name": "busy"}})
    counters = ("a", "b")
    for name in counters:
        core.create_namespaced_config_map(
            "busy", {"metadata": {"name": name, "labels": {"is": "counter"}}, "data": {"n": "0"}}
        )
    start = core.list_namespaced_config_map("busy", label_selector="is=counter").metadata

    def increment(name: str) -> None:
        for _ in range(_INCREMENTS):
            while not _incremented(core, name):
                pass

    lists = []
    with ThreadPoolExecutor(16) as writers:
        running = [writers.submit(increment, counters[number % 2]) for number in range(16)]
        while not all(each.done() for each in running):
            lists.append(core.list_namespaced_config_map("busy", label_selector="is=counter"))
        for each in running:
            each.result()
    total = 16 * _INCREMENTS
    events = list(
        itertools.islice(
            watch.Watch().stream(
                core.list_namespaced_config_map,
                "busy",
                label_selector="is=counter",
                resource_version=start.resource_version,
                timeout_seconds=30,
            ),
            total,
        )
    )
    seen = [
        (
            int(each["object"].metadata.resource_version),
            each["object"].metadata.name,
            int(each["object"].data["n"]),
        )
        for each in events
    ]
    assert seen == sorted(seen)
    for name in counters:
        assert [n for _, counted, n in seen if counted == name] == list(range(1, total // 2 + 1))
    for each in lists:
        version = int(each.metadata.resource_version)
        expected = dict.fromkeys(counters, 0)
        expected |= {name: n for at, name, n in seen if at <= version}
        assert {item.metadata.name: int(item.data["n"]) for item in each.items} == expected
    core.delete_namespace("busy")


#: Of each of the writers.
_INCREMENTS = 5


def _incremented(core: k8s.CoreV1Api, name: str) -> bool:
    """Whether this writer has replaced the object that it has read."""
    counter = core.read_namespaced_config_map(name, "busy")
    counter.data["n"] = str(int(counter.data["n"]) + 1)
    try:
        core.replace_namespaced_config_map(name, "busy", counter)
    except k8s.ApiException as error:
        assert error.status == 409, error
        return False
    return True


CLASS = ROOT / "kits" / "class"


def test_exercises_of_the_class_kit_are_open_at_first_and_done_by_their_solutions(
    site: RunningSite, tmp_path: Path
) -> None:
    if PROGRAM is None:
        pytest.skip("NO KUBECTL ON THE PATH: the exercises were not tried")
    demo = site.manage("kubeconfig", "demo", "--user", "admin")
    token = yaml.safe_load(demo)["users"][0]["user"]["token"]
    url = f"http://localhost:{site.port()}"
    environment = os.environ | {"SCHEDWEB_URL": url, "SCHEDWEB_TOKEN": token}

    def classroom(*arguments: str) -> tuple[int, str]:
        command = [sys.executable, str(CLASS / "classroom.py"), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    students = tmp_path / "students.txt"
    students.write_text("Ann B.\n")
    code, said = classroom("start", "spring", "all", "--students", str(students))
    assert code == 1 and "'Ann B.' must be lower-case letters" in said
    students.write_text("ann\n")
    code, said = classroom("start", "spring", "all", "--students", str(students))
    assert code == 0 and said.count("is ready") == 10, said
    _, before = classroom("check", "spring")
    assert all(each.count("open") for each in re.split(r"(?m)^ann ", before)[1:]), before
    for solution in sorted((CLASS / "solutions").glob("*.sh")):
        config = tmp_path / "kubeconfig"
        cluster = f"spring-{solution.stem}-ann"
        config.write_text(demo.replace("demo", cluster))
        shell = ["sh", "-e", str(solution)]
        subprocess.run(shell, env=environment | {"KUBECONFIG": str(config)}, check=True)
    wait_until(lambda: classroom("check", "spring")[0] == 0, seconds=60)
    assert classroom("board", "spring")[1].count("done") == 10
    classroom("reset", "spring", "01", "--student", "ann")
    assert "no answer" in classroom("check", "spring")[1]


@contextmanager
def shadowing(site: RunningSite, name: str, kubeconfig: Path) -> Iterator[None]:
    """`manage.py shadow`, from the moment when it has written all objects."""
    said = kubeconfig.with_name("said")
    arguments = ("shadow", name, "--owner", "admin", "--kubeconfig", str(kubeconfig))
    with said.open("w") as output:
        command = subprocess.Popen(
            [sys.executable, "-u", "manage.py", *arguments],
            cwd=ROOT,
            env=site.environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_until(lambda: "all objects are written" in said.read_text())
        yield
    finally:
        command.terminate()
        assert command.wait(timeout=30) == 0, said.read_text()


def test_a_shadow_follows_a_cluster(site: RunningSite, tmp_path: Path) -> None:
    """Objects, bindings and rejections; what happens while nobody follows is found later."""

    def connect(cluster: str) -> k8s.CoreV1Api:
        path = tmp_path / cluster
        path.write_text(site.manage("kubeconfig", cluster, "--user", "admin"))
        return k8s.CoreV1Api(config.new_client_from_config(str(path)))

    def run(name: str, cpu: str) -> None:
        container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
        body = {"metadata": {"name": name}, "spec": {"containers": [container]}}
        source.create_namespaced_pod("default", body)

    def pods(api: k8s.CoreV1Api) -> dict[str, Any]:
        listed = api.list_pod_for_all_namespaces().to_dict()["items"]
        for each in listed:
            each["metadata"] |= {"managed_fields": None, "resource_version": None}
        return {each["metadata"]["uid"]: each for each in listed}

    def verdicts() -> dict[str, str]:
        path = "/api/v1/clusters/shadow/opinions"
        _, page = site.send("GET", path, None, {"Authorization": f"Bearer {key}"})
        return {each["name"]: each["verdict"] for each in page["results"]}

    key = site.manage("token", "create", "--user", "admin", "--name", "shadow").strip()
    source = connect("demo")
    run("before", "10m")
    with shadowing(site, "shadow", tmp_path / "demo"):
        shadow = connect("shadow")
        run("followed", "10m")
        run("huge", "1000")
        wait_until(lambda: pods(source) == pods(shadow))
        wait_until(lambda: {"followed", "huge"} <= verdicts().keys())
        assert verdicts()["followed"] in ("same-node", "tie")
        assert verdicts()["huge"] == "same-reasons"
        with pytest.raises(k8s.ApiException, match="follows another one"):
            shadow.delete_namespaced_pod("followed", "default")
    source.delete_namespaced_pod("huge", "default", grace_period_seconds=0)
    run("later", "10m")
    with shadowing(site, "shadow", tmp_path / "demo"):
        wait_until(lambda: pods(source) == pods(shadow))
