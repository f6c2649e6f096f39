"""Puts small faults into one room of the code, one at a time, and runs the tests next to it.

    python tools/mutate.py queue
    python tools/mutate.py recorder --sample 60 --seed 1

Needs mutmut (`pip install mutmut`), which writes the faults and runs the tests that reach each.
Works on a copy of the committed code. Prints how many faults the tests noticed, and writes those
that they did not notice, as diffs, to var/mutations/ROOM.diff.
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
import subprocess
import sys
import tarfile
import tempfile
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
        ("tests/cluster/admission", "tests/cluster/writing", "tests/conformance"),
    ),
    "cache": Room(
        ("apps/scheduler/cache/*.py",),
        ("tests/scheduler",),
        stores=False,
    ),
    "eviction": Room(
        ("apps/controlplane/controllers/taint_eviction.py",),
        (
            "tests/controlplane/controllers/test_taint_eviction.py",
            "tests/controlplane/controllers/test_eviction_times.py",
        ),
    ),
    "lease": Room(
        ("apps/controlplane/workers/lease.py",),
        ("tests/controlplane/workers", "tests/controlplane/loop/test_loop.py"),
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
        ("apps/controlplane/loop/recorder.py", "apps/controlplane/queue/*.py"),
        ("tests/controlplane/loop", "tests/controlplane/queue"),
    ),
    "restoring": Room(
        ("apps/controlplane/loop/restoring.py", "apps/scheduler/queue/persistence.py"),
        ("tests/controlplane/loop/test_restoring.py", "tests/scheduler/queue"),
    ),
    "store": Room(("apps/cluster/writing/*.py",), ("tests/cluster",)),
}

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
    arguments = parser.parse_args()
    room = ROOMS[arguments.room]
    processes = 1 if room.stores else os.cpu_count() or 1
    with tempfile.TemporaryDirectory(prefix="schedweb-mutations-") as folder, database(room):
        copy = Path(folder)
        lay_out(copy, room)
        names = draw(copy, arguments.sample, arguments.seed)
        run(copy, "run", "--max-children", str(processes), *names, check=False)
        outcomes = read_outcomes(copy, names)
        missed = [name for name, outcome in outcomes.items() if outcome in (0, 33)]
        diffs = [run(copy, "show", name) for name in missed]
    counted = [diff for diff in diffs if not is_without_effect(diff)]
    target = ROOT / "var" / "mutations" / f"{arguments.room}.diff"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text("\n".join(counted))
    total = len(outcomes) - len(diffs) + len(counted)
    print(
        f"{arguments.room}: {total - len(counted)} of {total} faults noticed, without "
        f"{len(diffs) - len(counted)} in log lines and in the case of SQL; the others: {target}"
    )
    return 0


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
    """Write the committed code with mutmut's configuration for the room into a folder."""
    archive = subprocess.run(
        ["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(copy, filter="data")
    others = [path for path in os.listdir(copy) if path != "apps" and not path.startswith(".")]
    with (copy / "pyproject.toml").open("a") as file:
        file.write(
            CONFIGURATION.format(
                code=json.dumps(room.code),
                copied=json.dumps(others),
                tests=json.dumps(room.tests),
            )
        )


def draw(copy: Path, sample: int | None, seed: int) -> list[str]:
    """The names of the faults to try, by mutmut's numbering."""
    # writes all faults and runs the tests once without any; no fault has this name
    run(copy, "run", "--max-children", "1", "none", check=False)
    names = [name for name, _ in read_all(copy)]
    if not names:
        sys.exit("mutmut wrote no faults; see above")
    if sample is None or sample >= len(names):
        return names
    return sorted(random.Random(seed).sample(names, sample))


def read_all(copy: Path) -> list[tuple[str, int | None]]:
    """All faults with the exit code of their tests: 0 not noticed, 33 no test, None not tried."""
    found = []
    for path in sorted((copy / "mutants").rglob("*.meta")):
        found += json.loads(path.read_text())["exit_code_by_key"].items()
    return found


def read_outcomes(copy: Path, names: list[str]) -> dict[str, int | None]:
    wanted = set(names)
    return {name: code for name, code in read_all(copy) if name in wanted and code is not None}


def run(copy: Path, *arguments: str, check: bool = True) -> str:
    """Run mutmut; its progress goes to the terminal, the output of `show` is returned."""
    shows = arguments[0] == "show"
    done = subprocess.run(
        [sys.executable, "-m", "mutmut", *arguments],
        cwd=copy,
        check=check and shows,
        stdout=subprocess.PIPE if shows else None,
        text=True,
    )
    return re.sub(r"(?m)^#.*\n", "", done.stdout or "")


if __name__ == "__main__":
    sys.exit(main())
