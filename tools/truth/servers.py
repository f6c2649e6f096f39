"""The two servers that get the same requests: a real kube-apiserver, and ours in this process."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from psycopg.conninfo import conninfo_to_dict

from apps.administration.clusters.lifecycle import create_cluster
from apps.cluster.models import Cluster
from apps.engine.profiles.revisions import add_revision, get_active
from apps.people.tokens import create_token
from schedweb.embedded.postgres import Postgres
from tests.api.replay import Replay, Views

Body = dict[str, Any]

#: As the recordings say.
GATES = ("--gates", "GenericWorkload=true")
OUR_GATES = {"GenericWorkload": True}
FLAGS = ("--api-flags", "--runtime-config=scheduling.k8s.io/v1alpha2=true")
_TOKEN = "real"
_SECONDS = 60.0
#: The status of a request that crashed the server.
HUNG_UP = -1
#: The status of a request that our views ended with an exception.
CRASHED = -2


@dataclass
class RealServer:
    """A kube-apiserver at a port of this machine."""

    port: int
    root: str = ""

    def request(
        self, method: str, path: str, data: bytes, headers: dict[str, str], *, streamed: bool
    ) -> tuple[int, dict[str, str], bytes]:
        # its certificate is its own
        context = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=_SECONDS, context=context
        )
        with closing(connection):
            connection.request(method, path, body=data, headers=headers)
            try:
                response = connection.getresponse()
            except http.client.RemoteDisconnected:
                return HUNG_UP, {}, b""
            raw = response.read()
            warnings = ", ".join(response.headers.get_all("Warning", ()))
            headers_by_name = {name.lower(): value for name, value in response.getheaders()}
            return (
                response.status,
                headers_by_name | ({"warning": warnings} if warnings else {}),
                raw,
            )


@contextmanager
def real_server(scripts: Path, folder: Path) -> Iterator[Replay]:
    """An empty cluster of the real thing, without controllers, as long as it is used."""
    with control_plane(scripts, folder, *GATES, *FLAGS) as server:
        yield Replay(server, _TOKEN)


@contextmanager
def control_plane(
    scripts: Path, folder: Path, *options: str, config: Body | None = None
) -> Iterator[RealServer]:
    """An empty control plane, started with these options of its script.

    ``config``: what its scheduler's configuration says beside how to connect.
    """
    shutil.rmtree(folder / "etcd", ignore_errors=True)
    _configure(folder, config or {})
    port = _free_port()
    start = ["bash", scripts / "start", folder, str(port), *options]
    subprocess.run(start, check=True, stdout=subprocess.DEVNULL)
    try:
        yield RealServer(port)
    finally:
        subprocess.run(["bash", scripts / "stop", folder], check=True)


def _configure(folder: Path, config: Body) -> None:
    connection = {"kubeconfig": str(folder / "kubeconfig"), "qps": 5000, "burst": 5000}
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": connection,
        "leaderElection": {"leaderElect": False},
        **config,
    }
    folder.mkdir(parents=True, exist_ok=True)
    # JSON is YAML
    (folder / "scheduler.yaml").write_text(json.dumps(configuration))


def _free_port() -> int:
    """A port that is free with the two after it."""
    # another process that looks at the same time begins elsewhere
    first = 20_000 + os.getpid() % 3_000 * 3
    for port in (*range(first, 30_000, 3), *range(20_000, first, 3)):
        with socket.socket() as one, socket.socket() as two, socket.socket() as three:
            try:
                for number, each in enumerate((one, two, three)):
                    each.bind(("127.0.0.1", port + number))
            except OSError:
                continue
            return port
    raise OSError("no port is free")


@contextmanager
def our_server(config: Body | None = None) -> Iterator[Replay]:
    """An empty cluster of ours with its own database, on which nothing acts.

    ``config``: what its scheduler's configuration says in addition.
    """
    data = Path(tempfile.mkdtemp(prefix="schedweb-pg-"))
    data.chmod(0o755)
    postgres = Postgres(data, log=data / "postgres.log", throwaway=True)
    postgres.start()
    try:
        yield _cluster(postgres.url, config or {})
    finally:
        postgres.stop()
        shutil.rmtree(data)


def _cluster(url: str, config: Body) -> Replay:
    address = conninfo_to_dict(url)
    settings.DATABASES["default"].update(
        HOST=address["host"], USER=address["user"], NAME=address["dbname"]
    )
    call_command("migrate", verbosity=0, skip_checks=True)
    # the real one calls its user so, too
    user = User.objects.create_superuser("admin")
    cluster = create_cluster("truth", user=user.username)
    active = get_active(cluster)
    added = {"featureGates": OUR_GATES, **config}
    known = yaml.safe_load(active.configuration) or {}
    add_revision(cluster, yaml.safe_dump({**known, **added}), user=user.username)
    Cluster.objects.update(paused=True)
    settings.ALLOWED_HOSTS = ["*"]
    return Replay(Views(f"/k8s/{cluster.name}"), create_token(user, "truth").key)
