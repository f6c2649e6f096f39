"""A real API server accepts the manifests in deploy, and has no warning about them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from apps.administration.shadows.following import FOLLOWED
from tools.truth.servers import control_plane
from tools.truth.table import real_folder

DEPLOY = Path(__file__).parents[2] / "deploy"
FOLDER = DEPLOY / "kubernetes"
#: Enforced for pods, the standard is a warning for what creates them.
WARNED = "pod-security.kubernetes.io/warn=restricted"
Kubectl = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    scripts, folder = real_folder(), tmp_path_factory.mktemp("real")
    if not (scripts / "start").exists():
        print(
            f"\n!!! NOT TESTED on a real API server: no {scripts / 'start'} !!!",
            file=sys.__stderr__,
        )
        pytest.skip("the folder of the real control plane is missing (set REAL_KUBERNETES)")

    def run(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        command = [str(folder / "bin/kubectl"), "--kubeconfig", str(folder / "kubeconfig")]
        return subprocess.run(
            [*command, *arguments], input=text, check=False, capture_output=True, text=True
        )

    with control_plane(scripts, folder):
        assert run("create", "-f", str(FOLDER / "namespace.yaml")).returncode == 0
        assert run("label", "namespace", "schedweb", WARNED).returncode == 0
        yield run


def test_a_dry_run_accepts_all_objects_as_restricted(kubectl: Kubectl) -> None:
    applied = kubectl("apply", "--dry-run=server", "--validate=strict", "-k", str(FOLDER))

    assert applied.returncode == 0, applied.stderr
    assert "Warning" not in applied.stderr.replace("Warning: resource namespaces/schedweb", "")
    listed = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
    objects = [each for name in listed for each in yaml.safe_load_all((FOLDER / name).read_text())]
    assert applied.stdout.count("(server dry run)") == len(objects)


def test_the_same_dry_run_tells_what_is_not_restricted(kubectl: Kubectl) -> None:
    beat = yaml.safe_load((FOLDER / "beat.yaml").read_text())
    beat["spec"]["template"]["spec"]["securityContext"]["runAsNonRoot"] = False

    applied = kubectl(
        *("apply", "--dry-run=server", "--namespace", "schedweb", "-f", "-"), text=yaml.dump(beat)
    )

    assert "runAsNonRoot" in applied.stderr


def test_the_role_of_a_shadow_reads_and_writes_nothing(kubectl: Kubectl) -> None:
    assert kubectl("apply", "-f", str(DEPLOY / "shadow" / "role.yaml")).returncode == 0
    account = "--as=system:serviceaccount:kube-system:schedweb-shadow"
    for kind in FOLLOWED:
        # the API server of this test does not serve every alpha kind
        if kubectl("get", kind.qualified_plural).returncode == 0:
            allowed = kubectl("get", kind.qualified_plural, "--all-namespaces", account)
            assert allowed.returncode == 0, allowed.stderr
        for verb in ("create", "update", "patch", "delete", "deletecollection"):
            asked = kubectl("auth", "can-i", verb, kind.qualified_plural, account)
            assert asked.stdout.strip() == "no", (verb, kind)
    refused = kubectl("create", "namespace", "written", account)
    assert "cannot create resource" in refused.stderr
    assert "cannot list resource" in kubectl("get", "secrets", account).stderr
