"""The embedded PostgreSQL: keeps its data, survives a crash, and never outlives its owner."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from schedweb.embedded import postgres
from schedweb.embedded.places import LONGEST_SOCKET_FOLDER
from schedweb.embedded.postgres import Postgres

OWNER = """
import sys, time
from pathlib import Path
from schedweb.embedded.postgres import Postgres
server = Postgres(Path(sys.argv[1]), log=Path(sys.argv[1]) / "postgres.log", throwaway=True)
server.start()
print(server.pid, flush=True)
time.sleep(60)
"""


@pytest.fixture
def data() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="schedweb-pg-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def wait_until(met: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not met():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def test_data_outlives_a_crash_of_the_server(data: Path) -> None:
    server = Postgres(data, log=data / "postgres.log")
    server.start()
    with psycopg.connect(server.url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS answer")
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    wait_until(lambda: server.poll() is not None)
    server.start()
    with psycopg.connect(server.url) as connection:
        assert connection.execute("SELECT answer FROM kept").fetchone() == (42,)
    server.stop()
    assert server.poll() is not None


def test_a_server_that_waits_for_its_clients_to_leave_is_stopped(data: Path) -> None:
    server = Postgres(data, log=data / "postgres.log", throwaway=True)
    server.start()
    assert not server.end_slow_shutdown()
    client = psycopg.connect(server.url)
    assert server.pid is not None
    os.kill(server.pid, signal.SIGTERM)
    wait_until(server.end_slow_shutdown)
    assert server.poll() == 0
    assert not server.end_slow_shutdown()
    client.close()
    server.start()
    with psycopg.connect(server.url) as again:
        assert again.execute("SELECT 1").fetchone() == (1,)
    server.stop()


def test_a_lock_that_names_another_users_process_does_not_prevent_a_start(
    data: Path,
) -> None:
    """Process ids are reused; in a container each start has the same ones."""
    server = Postgres(data, log=data / "postgres.log", throwaway=True)
    server.start()
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    wait_until(lambda: server.poll() is not None)
    lock = next(data.resolve().glob("postgres/**/postmaster.pid"))
    somebody = subprocess.Popen(["sleep", "60"], user=lock.stat().st_uid, cwd="/")
    lock.write_text(f"{somebody.pid}\n{lock.read_text().partition(chr(10))[2]}")
    try:
        server.start()
        assert somebody.poll() is None
    finally:
        server.stop()
        somebody.kill()
        somebody.wait()


def test_the_server_ends_with_its_owner_even_when_that_is_killed(data: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, os.fspath(data)], stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    pid = int(owner.stdout.readline())
    owner.kill()
    owner.wait()
    owner.stdout.close()
    wait_until(lambda: not Path(f"/proc/{pid}").exists())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts the server as somebody else")
def test_a_server_that_does_not_end_with_its_owner_is_stopped_by_the_next_start(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "PREDECESSOR_SECONDS", 0.5)
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, os.fspath(data)], stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    with owner.stdout:
        pid = int(owner.stdout.readline())
    os.kill(pid, signal.SIGSTOP)
    owner.kill()
    owner.wait()
    server = Postgres(data, log=data / "postgres.log", throwaway=True)
    server.start()
    try:
        assert server.poll() is None and server.pid != pid
        assert not Path(f"/proc/{pid}/exe").exists()
    finally:
        server.stop()


def test_root_can_use_a_data_folder_that_others_cannot_access(data: Path) -> None:
    closed = data / "home"
    closed.mkdir(mode=0o700)
    folder = closed / "var"
    server = Postgres(folder, log=data / "postgres.log", throwaway=True)
    home = (folder / "postgres").resolve()
    try:
        server.start()
        with psycopg.connect(server.url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    finally:
        server.stop()
        assert home.is_relative_to("/var/lib/schedweb")
        subprocess.run(["rm", "-rf", home], check=True)


def test_a_data_folder_with_a_long_name_works(data: Path) -> None:
    folder = data / ("long-" * (LONGEST_SOCKET_FOLDER // 5))
    server = Postgres(folder, log=data / "postgres.log", throwaway=True)
    server.start()
    socket = Path(conninfo_to_dict(server.url)["host"])
    with psycopg.connect(server.url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    server.stop()
    assert not socket.is_relative_to(folder)
    socket.rmdir()
