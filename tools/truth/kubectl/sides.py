"""The two clusters that kubectl is told about."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.stack.kubectl import Outcome, normalize
from tests.stack.running_site import RunningSite
from tools.truth.kubectl.commands import Command
from tools.truth.kubectl.normal import blanked
from tools.truth.servers import FLAGS, GATES, OUR_GATES, RealServer, control_plane
from tools.truth.stories import kubelet
from tools.truth.stories.worlds import Real

#: Clusters of kubeadm allow them, and so does ours.
_PRIVILEGED = "--allow-privileged=true"
_MOST_SECONDS = 40.0
_MOST_WAIT = 15.0
_UNDOCUMENTED = "error: couldn't find resource for"
_CLUSTER = "truth"


@dataclass(frozen=True)
class Side:
    """A cluster, and the kubectl that is its client."""

    kubectl: Path
    server: str
    #: of the cluster in a kubeconfig
    connection: Mapping[str, object]
    token: str
    address: RealServer
    #: the same cluster for the program that plays its kubelets
    world: Real | None

    @contextmanager
    def place(self, namespace: str, files: Mapping[str, str]) -> Iterator[Place]:
        """A new namespace, and a folder with these files."""
        with tempfile.TemporaryDirectory(prefix="kubectl-") as folder:
            home = Path(folder)
            (home / "config").write_text(yaml.safe_dump(self.kubeconfig(namespace)))
            for name, text in files.items():
                (home / name).write_text(text)
            place = Place(self, home, namespace)
            place.run(Command(f"create namespace {namespace}"))
            yield place

    def kubeconfig(self, namespace: str) -> dict[str, object]:
        """Of a client of this cluster, whose namespace this is unless it says another."""
        context = {"cluster": _CLUSTER, "user": _CLUSTER, "namespace": namespace}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": _CLUSTER, "cluster": {"server": self.server, **self.connection}}],
            "users": [{"name": _CLUSTER, "user": {"token": self.token}}],
            "contexts": [{"name": _CLUSTER, "context": context}],
            "current-context": _CLUSTER,
        }


@dataclass(frozen=True)
class Place:
    """Where the commands of a script are run."""

    side: Side
    home: Path
    namespace: str

    def run(self, command: Command) -> Outcome:
        """The normalized outcome of a command; what it causes has happened afterwards."""
        finished = self._finished(command)
        began = time.monotonic()
        # the real server documents a new kind a while after the kind is served
        while finished.stderr.startswith(_UNDOCUMENTED) and time.monotonic() - began < _MOST_WAIT:
            time.sleep(0.5)
            finished = self._finished(command)
        world = self.side.world
        if world:
            # controllers evict the pods of nodes whose heartbeats stop
            kubelet.beat(world)
        if world and command.writes:
            world.settle()
            while kubelet.act(world, {self.namespace: kubelet.always("Ready")}):
                world.settle()
        return blanked(normalize(finished), self.side.server)

    def _finished(self, command: Command) -> Outcome:
        try:
            finished = subprocess.run(
                [self.side.kubectl, *command.arguments],
                cwd=self.home,
                env={"PATH": os.environ["PATH"], "HOME": str(self.home)}
                | {"KUBECONFIG": str(self.home / "config")}
                | command.variables,
                input=(self.home / command.file).read_text() if command.file else "",
                capture_output=True,
                text=True,
                timeout=_MOST_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return Outcome(-1, "", f"not ended after {_MOST_SECONDS} s")
        return Outcome(finished.returncode, finished.stdout, finished.stderr)


@contextmanager
def sides(
    scripts: Path, folder: Path, *, moves: bool, root: bool = True
) -> Iterator[tuple[Side, Side]]:
    """The real cluster and ours, both empty; if it moves, with scheduler and controllers.

    ``root``: paths of ours begin with /api or /apis, as those of the real one.
    """
    options = ("--scheduler", "--controllers") if moves else ()
    flags = (FLAGS[0], f"{FLAGS[1]} {_PRIVILEGED}")
    with (
        control_plane(scripts, folder, *GATES, *flags, *options) as real,
        tempfile.TemporaryDirectory(prefix="site-", ignore_cleanup_errors=True) as data,
    ):
        kubectl = folder / "bin" / "kubectl"
        Path(data).chmod(0o755)
        site = RunningSite(Path(data))
        site.start()
        try:
            yield _real(kubectl, real, moves=moves), _ours(kubectl, site, moves=moves, root=root)
        finally:
            site.close()


def _real(kubectl: Path, server: RealServer, *, moves: bool) -> Side:
    address = f"https://127.0.0.1:{server.port}"
    return Side(
        kubectl,
        address,
        {"insecure-skip-tls-verify": True},
        "real",
        server,
        Real(server) if moves else None,
    )


def _ours(kubectl: Path, site: RunningSite, *, moves: bool, root: bool) -> Side:
    site.manage("create_cluster", _CLUSTER, "--kubelet=off", *(() if moves else ("--paused",)))
    place = ("--root",) if root else ()
    config = yaml.safe_load(site.manage("kubeconfig", _CLUSTER, "--user", "admin", *place))
    cluster = dict(config["clusters"][0]["cluster"])
    token = config["users"][0]["user"]["token"]
    configuration = {"apiVersion": "kubescheduler.config.k8s.io/v1", "featureGates": OUR_GATES}
    configuration["kind"] = "KubeSchedulerConfiguration"
    path, headers = f"/api/v1/clusters/{_CLUSTER}/profiles", {"Authorization": f"Bearer {token}"}
    status = site.post(path, {"configuration": yaml.safe_dump(configuration)}, headers)
    assert status == 201, status
    server = RealServer(site.port("https"), root=f"/k8s/{_CLUSTER}")
    world = Real(server, token) if moves else None
    return Side(kubectl, cluster.pop("server"), cluster, token, server, world)
