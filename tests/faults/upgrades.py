"""Kills a site while it upgrades the database of an earlier version."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psycopg

from schedweb.embedded.postgres import Postgres
from tests.backup.states import STATES, load
from tests.stack.running_site import RunningSite

ATTEMPTS = 6


def kill_upgrades(seed: int, say: Callable[[str], None]) -> int:
    """Start a site on the first state, kill it again and again, then let it start."""
    draw = random.Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="schedweb-soak-"))
    folder.chmod(0o755)
    postgres = Postgres(folder, log=folder / "postgres.log")
    postgres.start()
    with psycopg.connect(postgres.url, autocommit=True) as database:
        load(database, STATES[0])
    postgres.stop()
    site = RunningSite(folder)
    for _ in range(ATTEMPTS):
        process = site.spawn(subprocess.DEVNULL)
        time.sleep(12 * draw.random())
        process.send_signal(signal.SIGKILL)
        process.wait()
    try:
        site.start()
        with psycopg.connect(site.database_url) as database:
            pods, decisions = (
                database.execute(f"SELECT count(*) FROM {table}".encode()).fetchall()[0][0]
                for table in ("cluster_pod", "controlplane_schedulingdecision")
            )
    finally:
        site.end(signal.SIGTERM)
        site.close()
    say(f"an upgrade was killed {ATTEMPTS} times: {pods} pods, {decisions} decisions")
    if pods == 8 and decisions >= 9:
        shutil.rmtree(folder)
        return 0
    say(f"    ERROR: pods or decisions are lost, see {folder}")
    return 1
