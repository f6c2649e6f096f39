"""A real kubectl as a user of a cluster: what was recorded, and stories beyond it."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.stack.kubectl import Kubectl
from tests.stack.running_site import RunningSite

pytestmark = pytest.mark.stack

RECORDING = Path(__file__).with_name("data") / "kubectl.jsonl"
#: Commands whose output depends on the version of kubectl -> what is different before 1.36.
OF_OLDER_CLIENTS: Final = {
    "describe node": "prints Kube-Proxy Version",
    "drain bound pod without force": "says 'cannot delete' twice",
    "scale replicaset missing": "says 'no objects passed to scale'",
}
#: Commands with another outcome -> why.
DIFFERENT: Final = {
    "api-versions": "autoscaling/v1 and other older versions are not served",
}
PROGRAM = shutil.which("kubectl")


@pytest.fixture(scope="module")
def site() -> Iterator[RunningSite]:
    if PROGRAM is None:
        pytest.skip("NO KUBECTL ON THE PATH: the recorded commands were not replayed")
    with tempfile.TemporaryDirectory(prefix="schedweb-kubectl-") as folder:
        Path(folder).chmod(0o755)
        running = RunningSite(Path(folder))
        running.start()
        yield running
        running.close()


def client(site: RunningSite, cluster: str, folder: Path) -> Kubectl:
    """kubectl with the URL that names the cluster by the TLS server name."""
    config = folder / "kubeconfig"
    config.write_text(site.manage("kubeconfig", cluster, "--user", "admin", "--root"))
    assert PROGRAM is not None
    return Kubectl(PROGRAM, config, folder)


def test_recorded_commands_have_the_recorded_output(site: RunningSite, tmp_path: Path) -> None:
    site.manage("create_cluster", "recorded")
    site.manage("pause", "recorded")
    found = list(client(site, "recorded", tmp_path).replay(RECORDING))
    different = {each.name: str(each) for each in found if each is not None}
    assert len(found) == 78
    known = set(DIFFERENT) | (set(OF_OLDER_CLIENTS) if _minor() < 36 else set())
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


def _minor() -> int:
    """The minor version of kubectl, such as 32; 36 for a build that does not tell."""
    assert PROGRAM is not None
    shown = subprocess.run(
        [PROGRAM, "version", "--client"], capture_output=True, text=True, check=False
    ).stdout
    version = re.search(r"v1\.(\d+)", shown)
    return int(version[1]) if version else 36
