"""Puts small faults into one room of the code, one at a time, and runs the tests next to it.

    python tools/mutate.py queue
    python tools/mutate.py recorder --sample 60 --seed 1 --minutes 20

Needs mutmut (`pip install mutmut`), which writes the faults and runs the tests that reach each, if
they pass without any. Works on a copy of the committed code in var/mutations/ROOM. Prints how many
faults the tests noticed, and writes those that they did not notice, as diffs, to
var/mutations/ROOM.diff: also when it is stopped (Ctrl-C). The next run with the same code goes on.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from schedweb.embedded.postgres import Postgres  # noqa: E402


class Room(NamedTuple):
    """What is changed (patterns of files) and the tests that should notice."""

    code: tuple[str, ...]
    tests: tuple[str, ...]
    #: whether the tests use the database: they share one, so faults are tried one after the other
    stores: bool = True


ROOMS = {
    "admission": Room(
        ("apps/cluster/admission/*.py",),
        (
            "tests/cluster/admission",
            "tests/cluster/writing",
            "tests/api/test_create.py",
            "tests/api/test_creation.py",
            "tests/api/test_update.py",
            "tests/api/test_kubelet.py",
            "tests/api/test_pod_groups.py",
            "tests/api/test_resource_claims.py",
            "tests/api/test_custom_resources.py",
            "tests/api/test_admission_policies.py",
            "tests/api/test_conformance.py",
            "tests/conformance/test_apidefaults_recorded.py",
        ),
    ),
    "cache": Room(
        ("apps/scheduler/cache/*.py",),
        # the ignored tests count calls, which are others under mutmut
        (
            "tests/scheduler",
            "--ignore=tests/scheduler/test_domain_costs.py",
            "--ignore=tests/scheduler/test_rows_computed.py",
        ),
        stores=False,
    ),
    "eviction": Room(
        ("apps/controllers/taint_eviction.py",),
        (
            "tests/controllers/test_taint_eviction.py",
            "tests/controllers/test_eviction_times.py",
        ),
    ),
    "lease": Room(
        ("apps/engine/workers/lease.py",),
        ("tests/engine/workers", "tests/engine/loop/test_loop.py"),
    ),
    "preemption": Room(
        ("apps/scheduler/preemption/*.py",), ("tests/scheduler/preemption",), stores=False
    ),
    "queue": Room(
        ("apps/scheduler/queue/*.py",),
        ("tests/scheduler/queue", "tests/conformance/test_queue_recorded.py"),
        stores=False,
    ),
    "recorder": Room(
        (
            "apps/engine/loop/recorder.py",
            "apps/engine/loop/placement_commits.py",
            "apps/engine/queue/*.py",
        ),
        ("tests/engine/loop", "tests/engine/queue"),
    ),
    "restoring": Room(
        ("apps/engine/loop/restoring.py", "apps/scheduler/queue/persistence.py"),
        ("tests/engine/loop/test_restoring.py", "tests/scheduler/queue"),
    ),
    "store": Room(
        ("apps/cluster/writing/*.py",),
        (
            "tests/cluster",
            "tests/api/test_binding.py",
            "tests/api/test_create.py",
            "tests/api/test_creation.py",
            "tests/api/test_delete.py",
            "tests/api/test_subresources.py",
            "tests/api/test_update.py",
            "tests/api/test_conformance.py",
            "tests/api/test_admission_policies.py",
            "tests/administration/clusters/test_forking.py",
            "tests/engine/loop/test_own_writes.py",
        ),
    ),
}

#: What mutmut keeps for a fault if no test failed, or none reaches it ...
MISSED = (0, 33)
#: ... and if a test failed. Other codes are those of a crash or of a time limit.
FAILED = (1, 3)

CONFIGURATION = """
[tool.mutmut]
source_paths = ["apps/"]
only_mutate = {code}
also_copy = {copied}
pytest_add_cli_args_test_selection = {tests}
pytest_add_cli_args = ["--reuse-db"]
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("room", choices=sorted(ROOMS))
    parser.add_argument("--sample", type=int, help="so many faults, drawn at random; default: all")
    parser.add_argument("--seed", type=int, default=0, help="of the draw")
    parser.add_argument("--minutes", type=float, help="stop after this time; default: at the end")
    arguments = parser.parse_args()
    room = ROOMS[arguments.room]
    copy = ROOT / "var" / "mutations" / arguments.room
    lay_out(copy, room)
    with database(room):
        names = draw(copy, arguments.sample, arguments.seed)
        left = [name for name in names if name not in read_outcomes(copy, names)]
        processes = 1 if room.stores else os.cpu_count() or 1
        until = time.monotonic() + 60 * arguments.minutes if arguments.minutes else None
        if left:
            run(copy, "run", "--max-children", str(processes), *left, until=until)
    report(arguments.room, copy, names)
    return 0


def report(room: str, copy: Path, names: list[str]) -> None:
    """Print the figures, and write what the tests did not notice."""
    outcomes = read_outcomes(copy, names)
    missed = [name for name, code in outcomes.items() if code in MISSED]
    diffs = [show(copy, name) for name in missed]
    counted = [diff for diff in diffs if not is_without_effect(diff)]
    target = copy.with_suffix(".diff")
    target.write_text("\n".join(counted))
    total = len(outcomes) - len(diffs) + len(counted)
    ended = [name for name, code in outcomes.items() if code not in (*MISSED, *FAILED)]
    print(
        f"{room}: {total - len(counted)} of {total} faults noticed, without "
        f"{len(diffs) - len(counted)} in log lines and in the case of SQL; the others: {target}"
    )
    if ended:
        print(f"of the noticed ones, {len(ended)} ended the tests by a crash or in time:", *ended)
    if len(outcomes) < len(names):
        print(f"{len(names) - len(outcomes)} of {len(names)} faults are left for the next run")


def is_without_effect(diff: str) -> bool:
    """Whether a fault only changes a line of the log, or upper and lower case in SQL."""
    before, after = ("".join(re.findall(rf"(?m)^\{sign}(?!\{sign})(.*)$", diff)) for sign in "-+")
    if re.search(r"\blog\.(debug|info|warning|error|exception)\(", before):
        return True
    is_sql = re.search(r"\b(SELECT|UPDATE|DELETE|INSERT|WHERE|SET|FROM|RETURNING)\b", before)
    return bool(is_sql) and before.lower() == after.lower()


@contextlib.contextmanager
def database(room: Room) -> Iterator[None]:
    """Start the PostgreSQL server that all runs of the tests share, if they need one."""
    if not room.stores:
        yield
        return
    data = Path(tempfile.mkdtemp(prefix="schedweb-pg-"))
    data.chmod(0o755)
    server = Postgres(data, log=data / "postgres.log", throwaway=True)
    server.start()
    os.environ["TESTS_POSTGRES"] = server.url
    try:
        yield
    finally:
        server.stop()
        shutil.rmtree(data)


def lay_out(copy: Path, room: Room) -> None:
    """Write the committed code with mutmut's configuration for the room into a folder.

    Keeps a folder that has it, with the outcomes of an earlier run.
    """
    configuration = CONFIGURATION.format(
        code=json.dumps(room.code),
        copied=json.dumps(
            [path for path in git("ls-tree", "--name-only", "HEAD") if is_copied(path)]
        ),
        tests=json.dumps(room.tests),
    )
    state = " ".join([*git("rev-parse", "HEAD:apps", "HEAD:tests"), configuration])
    stamp = copy / "state"
    if stamp.exists() and stamp.read_text() == state:
        return
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    archive = subprocess.run(
        ["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(copy, filter="data")
    with (copy / "pyproject.toml").open("a") as file:
        file.write(configuration)
    stamp.write_text(state)


def git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def is_copied(path: str) -> bool:
    """Whether mutmut has to copy a file or folder that it does not change."""
    return path != "apps" and not path.startswith(".")


def draw(copy: Path, sample: int | None, seed: int) -> list[str]:
    """The names of the faults to try, by mutmut's numbering."""
    known = copy / "faults.json"
    if not known.exists():
        # writes all faults and runs the tests once without any; no fault has this name
        run(copy, "run", "--max-children", "1", "none")
        if not (copy / "mutants" / "mutmut-stats.json").exists():
            sys.exit("the tests fail without any fault; see above")
        known.write_text(json.dumps([name for name, _ in read_all(copy)]))
    names: list[str] = json.loads(known.read_text())
    if not names:
        sys.exit("mutmut wrote no faults; see above")
    if sample is None or sample >= len(names):
        return names
    return sorted(random.Random(seed).sample(names, sample))


def read_all(copy: Path) -> list[tuple[str, int | None]]:
    """All faults with the exit code of their tests: 0 not noticed, 33 no test, None not tried."""
    exit_codes = []
    for path in sorted((copy / "mutants").rglob("*.meta")):
        exit_codes += json.loads(path.read_text())["exit_code_by_key"].items()
    return exit_codes


def read_outcomes(copy: Path, names: list[str]) -> dict[str, int | None]:
    wanted = set(names)
    return {name: code for name, code in read_all(copy) if name in wanted and code is not None}


def run(copy: Path, *arguments: str, until: float | None = None) -> None:
    """Run mutmut, at most until a time of the monotonic clock; it prints its progress."""
    process = subprocess.Popen([sys.executable, "-m", "mutmut", *arguments], cwd=copy)
    try:
        process.wait(None if until is None else max(0.0, until - time.monotonic()))
    except (KeyboardInterrupt, subprocess.TimeoutExpired):
        # what it has is saved
        process.send_signal(signal.SIGINT)
        process.wait()


def show(copy: Path, name: str) -> str:
    """A fault as a diff."""
    done = subprocess.run(
        [sys.executable, "-m", "mutmut", "show", name],
        cwd=copy,
        check=True,
        capture_output=True,
        text=True,
    )
    return re.sub(r"(?m)^#.*\n", "", done.stdout)


if __name__ == "__main__":
    sys.exit(main())
