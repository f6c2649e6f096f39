"""Two PostgreSQL servers beside a site, for the fault tests: one and its standby.

What a site has committed is on both (synchronous replication), so that nothing is lost when the
first one is lost for good and the standby takes over.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

import psycopg
from psycopg.conninfo import conninfo_to_dict

from schedweb.embedded.places import create_places
from schedweb.embedded.postgres import Postgres
from tests import migrated
from tests.stack.running_site import children_of, command_line, wait_until

#: On the primary; the standby gets a copy of them. It tries again soon after the primary was away.
_SYNCHRONOUS = "ALTER SYSTEM SET synchronous_standby_names = '*'"
_ALONE = "ALTER SYSTEM SET synchronous_standby_names = ''"
_EAGER = "ALTER SYSTEM SET wal_retrieve_retry_interval = '200ms'"
_RELOAD = "SELECT pg_reload_conf()"
_STREAMING = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
#: Of a start, a copy or a promotion, on a busy machine.
_SECONDS = 60.0


class Pair:
    """A primary and its standby. Both are started again whenever they end."""

    def __init__(self, folder: Path, *, filled: bool = False) -> None:
        """`filled`: with a migrated database, as the site of a new folder has."""
        self._folders = [folder / name for name in ("first", "second")]
        for each in self._folders:
            each.mkdir(mode=0o755)
        if filled:
            migrated.copy_to(self._folders[0])
        self._servers = [Postgres(each, log=each / "postgres.log") for each in self._folders]
        self._primary = 0
        self._started, self._ending = threading.Event(), threading.Event()
        self._failing, self._failed_over = threading.Event(), threading.Event()
        # the servers end with the thread that starts them
        self._keeper = threading.Thread(target=self._keep, name="database", daemon=True)

    @property
    def url(self) -> str:
        """The address of whichever of them is the primary."""
        one, other = (str(conninfo_to_dict(each.url)["host"]) for each in self._servers)
        shared = self._servers[0].url.partition("?")[0]
        return f"{shared}?host={one},{other}&target_session_attrs=read-write"

    @property
    def primary(self) -> Postgres:
        return self._servers[self._primary]

    def start(self) -> None:
        """Start them and wait until the standby follows."""
        self._keeper.start()
        assert self._started.wait(_SECONDS), "the servers did not start"

    def stop(self) -> None:
        self._ending.set()
        self._keeper.join()

    def fail_over(self) -> None:
        """Lose the primary for good; wait until the standby is the primary and has a standby."""
        self._failed_over.clear()
        self._failing.set()
        assert self._failed_over.wait(2 * _SECONDS), "no failover"

    def processes(self) -> dict[int, str]:
        """Like `RunningSite.processes`."""
        found: dict[int, str] = {}
        queue = [each.pid for each in self._servers if each.pid is not None]
        found |= {pid: command_line(pid) for pid in queue}
        while queue:
            children = children_of(queue.pop())
            queue += children
            found |= {child: command_line(child) for child in children}
        return found

    def _keep(self) -> None:
        self.primary.start()
        self._tell(self.primary, _EAGER, _RELOAD)
        self._add_standby()
        self._started.set()
        while not self._ending.wait(0.2):
            if self._failing.is_set():
                self._failing.clear()
                self._fail_over()
                self._failed_over.set()
            for each in self._servers:
                if each.poll() is not None:
                    each.launch()
        for each in self._servers:
            each.stop()

    def _fail_over(self) -> None:
        lost = self.primary
        if lost.pid is not None and lost.poll() is None:
            os.kill(lost.pid, 9)
            wait_until(lambda: lost.poll() is not None, seconds=_SECONDS)
        self._primary = 1 - self._primary
        if self.primary.poll() is not None:
            self.primary.launch()
        # commits would wait for a standby, also that of the settings
        self._tell(self.primary, "SELECT pg_promote()")
        self._tell(self.primary, _ALONE, _RELOAD)
        self._add_standby()

    def _add_standby(self) -> None:
        """Copy the primary to the other folder, and let it follow."""
        number = 1 - self._primary
        places = create_places(self._folders[number])
        shutil.rmtree(places.cluster, ignore_errors=True)
        primary = conninfo_to_dict(self.primary.url)
        account = places.account
        subprocess.run(
            [
                *(os.fspath(places.programs / "pg_basebackup"), "-D", os.fspath(places.cluster)),
                *("-h", str(primary["host"]), "-U", str(primary["user"])),
                *("--write-recovery-conf", "--checkpoint=fast", "--no-sync"),
            ],
            cwd="/",
            check=True,
            user=account.uid if account.switch else None,
            group=account.gid if account.switch else None,
            extra_groups=[] if account.switch else None,
        )
        self._servers[number].launch()
        deadline = time.monotonic() + _SECONDS
        while self._tell(self.primary, _STREAMING) != (1,):
            assert time.monotonic() < deadline, "the standby does not follow"
            time.sleep(0.1)
        self._tell(self.primary, _SYNCHRONOUS, _RELOAD)

    def _tell(self, server: Postgres, *statements: str) -> tuple[object, ...] | None:
        """Execute statements on one server, once it accepts them; the row of the last one."""
        deadline = time.monotonic() + _SECONDS
        while True:
            try:
                with psycopg.connect(server.url, autocommit=True, connect_timeout=5) as database:
                    for statement in statements:
                        cursor = database.execute(statement.encode())
                    return cursor.fetchone() if cursor.description else None
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
