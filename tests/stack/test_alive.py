"""The health checks of workers and beat, which have no port."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from schedweb import alive
from tests.stack.running_site import ROOT

TICK = """
from schedweb.beat import AliveScheduler, app
scheduler = AliveScheduler(app)
scheduler.apply_entry = lambda entry, producer=None: None
scheduler.tick()
"""


def check(path: Path) -> tuple[int, str]:
    run = subprocess.run(
        [sys.executable, "-m", "schedweb.alive"],
        env=os.environ | {alive.VARIABLE: str(path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    return run.returncode, run.stderr


def test_beat_that_ticks_is_alive_and_one_that_stopped_is_not(tmp_path: Path) -> None:
    file = tmp_path / "alive"
    assert check(file) == (1, f"{file}: No such file or directory\n")
    environment = os.environ | {alive.VARIABLE: str(file)}
    subprocess.run([sys.executable, "-c", TICK], cwd=ROOT, env=environment, check=True)
    assert check(file) == (0, "")
    long_ago = time.time() - 60
    os.utime(file, (long_ago, long_ago))
    code, message = check(file)
    assert code == 1 and re.search(r" is 6\d s old$", message)


def test_a_process_whose_work_is_stuck_shows_no_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(alive.VARIABLE, str(tmp_path / "alive"))
    now = 0.0
    living = alive.Living(lambda: now)
    now = alive.STUCK_SECONDS - 1
    living.show()
    assert alive.problem() == "", "it waits for a broker that is away"
    (tmp_path / "alive").unlink()
    now += 2
    living.show()
    assert "No such file" in alive.problem()
    living.note_work()
    living.show()
    assert alive.problem() == ""
