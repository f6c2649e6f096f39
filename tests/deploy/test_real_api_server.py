"""A real API server accepts the manifests in deploy/kubernetes, and has no warning about them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tools.truth.servers import control_plane
from tools.truth.table import real_folder

FOLDER = Path(__file__).parents[2] / "deploy" / "kubernetes"
#: Enforced for pods, the standard is a warning for what creates them.
WARNED = "pod-security.kubernetes.io/warn=restricted"
Kubectl = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.stack


@pytest.fixture
def kubectl(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Kubectl]:
    scripts = real_folder()
    if not (scripts / "start").exists():
        with capsys.disabled():
            print(
                f"\n!!! NOT TESTED on a real API server: no {scripts / 'start'} !!!",
                file=sys.stderr,
            )
        pytest.skip("the folder of the real control plane is missing (set REAL_KUBERNETES)")

    def run(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        command = [str(tmp_path / "bin/kubectl"), "--kubeconfig", str(tmp_path / "kubeconfig")]
        return subprocess.run(
            [*command, *arguments], input=text, check=False, capture_output=True, text=True
        )

    with control_plane(scripts, tmp_path):
        yield run


def test_a_dry_run_accepts_all_objects_as_restricted(kubectl: Kubectl) -> None:
    created = kubectl("create", "-f", str(FOLDER / "namespace.yaml"))
    assert created.returncode == 0, created.stderr
    assert kubectl("label", "namespace", "schedweb", WARNED).returncode == 0

    applied = kubectl("apply", "--dry-run=server", "--validate=strict", "-k", str(FOLDER))

    assert applied.returncode == 0, applied.stderr
    assert "Warning" not in applied.stderr.replace("Warning: resource namespaces/schedweb", "")
    listed = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
    objects = [each for name in listed for each in yaml.safe_load_all((FOLDER / name).read_text())]
    assert applied.stdout.count("(server dry run)") == len(objects)


def test_the_same_dry_run_tells_what_is_not_restricted(kubectl: Kubectl) -> None:
    kubectl("create", "-f", str(FOLDER / "namespace.yaml"))
    kubectl("label", "namespace", "schedweb", WARNED)
    beat = yaml.safe_load((FOLDER / "beat.yaml").read_text())
    beat["spec"]["template"]["spec"]["securityContext"]["runAsNonRoot"] = False

    applied = kubectl(
        *("apply", "--dry-run=server", "--namespace", "schedweb", "-f", "-"), text=yaml.dump(beat)
    )

    assert "runAsNonRoot" in applied.stderr
