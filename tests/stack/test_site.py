"""``make up`` from a user's view: starts, failures and shutdowns."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import ssl
import statistics
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from schedweb import VERSION
from schedweb.front.listening import listen
from tests.stack.running_site import RunningSite, alive, wait_until

pytestmark = pytest.mark.stack

CONTAINER = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "10m"}}}


@pytest.fixture(scope="module")
def data() -> Iterator[Path]:
    """Data folders shared by the sites of this file."""
    with tempfile.TemporaryDirectory(prefix="schedweb-site-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(scope="module")
def site(data: Path) -> Iterator[RunningSite]:
    running = RunningSite(data, empty=True)
    running.start()
    yield running
    running.close()


def test_the_first_start_prints_the_url_and_the_first_user(site: RunningSite) -> None:
    assert re.search(r"first user: admin, password \S{12,}", site.output)
    assert f"http://localhost:{site.port()}" in site.output
    assert site.get("/readyz") == (
        200,
        "[+]database ok\n[+]broker ok\n[+]worker ok\n[+]beat ok\n[+]loop ok\n[+]disk ok\n",
    )


def test_the_same_site_answers_on_https_under_its_own_authority(site: RunningSite) -> None:
    context = ssl.create_default_context(cafile=site.data / "tls" / "ca.crt")
    url = f"https://localhost:{site.port('https')}/healthz"
    with urllib.request.urlopen(url, context=context, timeout=10) as response:
        assert response.status == 200


def test_commands_in_another_terminal_find_the_site(site: RunningSite) -> None:
    kubeconfig = site.manage("kubeconfig", "demo", "--user", "admin")
    assert f"https://localhost:{site.port('https')}/k8s/demo" in kubeconfig


def test_a_pod_sent_over_http_is_bound_at_once(
    site: RunningSite, capsys: pytest.CaptureFixture[str]
) -> None:
    """The target is 100 ms at the median, on an idle machine."""
    site.manage("create_cluster", "idle", "--nodes", "3")
    config = yaml.safe_load(site.manage("kubeconfig", "idle", "--user", "admin"))
    headers = {"Authorization": f"Bearer {config['users'][0]['user']['token']}"}
    pods = "/k8s/idle/api/v1/namespaces/default/pods"
    watching = http.client.HTTPConnection("localhost", site.port(), timeout=30)
    watching.request("GET", f"{pods}?watch=true", headers=headers)
    events = watching.getresponse()
    seconds = []
    for number in range(11):
        body = {"metadata": {"name": f"p{number}"}, "spec": {"containers": [CONTAINER]}}
        began = time.monotonic()
        assert site.post(pods, body, headers) == 201
        while not is_bound(json.loads(events.readline())["object"], f"p{number}"):
            pass
        seconds.append(time.monotonic() - began)
    watching.close()
    median = statistics.median(seconds)
    with capsys.disabled():
        print(f" [from POST to binding: {median * 1000:.0f} ms at the median]", end="")
    assert median < 1


def is_bound(pod: dict[str, Any], name: str) -> bool:
    return pod["metadata"]["name"] == name and bool(pod["spec"].get("nodeName"))


def test_every_worker_process_reads_a_queue_of_its_own(site: RunningSite) -> None:
    with psycopg.connect((site.data / "run" / "database").read_text()) as connection:
        alive_and_listening = connection.execute(
            "SELECT count(*) FROM controlplane_heartbeat JOIN pgmq.meta ON queue_name = name"
        ).fetchone()
    assert alive_and_listening == (1,)


def test_stalled_processes_are_reported_until_they_work_again(site: RunningSite) -> None:
    """Heartbeats show the problem, also if nobody replaces what stalls."""
    still = [site.process(r"schedweb\.beat"), site.process(r"schedweb\.worker"), site.pid]
    reported: set[str] = set()

    def are_reported() -> bool:
        now = faults(site)
        reported.update(now)
        return {"worker", "beat"} <= reported

    # the supervisor first, which would kill the others
    for process in reversed(still):
        os.kill(process, signal.SIGSTOP)
    try:
        wait_until(are_reported)
        assert site.get("/livez") == (200, f"ok\nschedweb {VERSION}\n")
    finally:
        for process in still:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)
    wait_until(lambda: site.get("/readyz")[0] == 200, seconds=60)


def faults(site: RunningSite) -> set[str]:
    """The parts that /readyz reports as failed."""
    status, text = site.get("/readyz")
    failed = set(re.findall(r"^\[-\](\w+) ", text, re.MULTILINE))
    assert status == (503 if failed else 200)
    return failed


def test_a_second_start_on_the_same_data_is_refused(site: RunningSite) -> None:
    second = RunningSite(site.data).spawn()
    said, _ = second.communicate(timeout=30)
    assert second.returncode == 1
    assert f"in use by make up (process {site.pid}), http://localhost:{site.port()}" in said
    assert site.get("/readyz")[0] == 200


def test_a_crashed_database_comes_back_with_its_data(site: RunningSite) -> None:
    url = (site.data / "run" / "database").read_text()
    killed = site.process("bin/postgres -D")
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: not alive(killed))
    wait_until(lambda: site.get("/readyz")[0] == 200)
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT username FROM auth_user").fetchall() == [("admin",)]


def test_a_crashed_worker_is_replaced(site: RunningSite) -> None:
    killed = site.process("schedweb.worker")
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: not alive(killed))
    wait_until(lambda: any("schedweb.worker" in line for line in site.processes().values()))


def test_killing_the_supervisor_leaves_no_process_behind(site: RunningSite) -> None:
    everybody = site.processes()
    assert len(everybody) > 5
    site.end(signal.SIGKILL)
    wait_until(lambda: not any(alive(pid) for pid in everybody))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_everything_in_order(data: Path, site: RunningSite, number: int) -> None:
    """Starts again on the data of the tests above, after an abrupt end."""
    again = RunningSite(data)
    said = again.start()
    assert "password" not in said
    everybody = again.processes()
    assert again.end(number) == 0
    assert not any(alive(pid) for pid in everybody)
    assert "database system is shut down" in (data / "log" / "postgres.log").read_text()[-500:]
    again.close()


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        refused = RunningSite(tmp_path, SCHEDWEB_PORT=port).spawn()
        said, _ = refused.communicate(timeout=30)
    assert refused.returncode == 1
    assert f"cannot open port {port} (" in said
    assert "SCHEDWEB_PORT" in said


def test_an_external_postgresql_replaces_the_embedded_one(tmp_path: Path, postgres: str) -> None:
    url = postgres.replace("/schedweb?", "/elsewhere?")
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE DATABASE elsewhere")
        site = RunningSite(tmp_path, SCHEDWEB_DATABASE_URL=url, SCHEDWEB_ADMIN_PASSWORD="chosen")
        said = site.start()
        assert "SCHEDWEB_ADMIN_PASSWORD" in said
        assert "chosen" not in said
        assert site.get("/readyz")[0] == 200
        assert not any("bin/postgres" in line for line in site.processes().values())
        assert site.end(signal.SIGTERM) == 0
        site.close()
        connection.execute("DROP DATABASE elsewhere WITH (FORCE)")
