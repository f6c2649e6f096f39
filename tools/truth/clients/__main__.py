"""Compare what real clients see of ours with what they see of a real kube-apiserver.

    python -m tools.truth.clients [--python PYTHON] [--only SCRIPT ...] [--show 20]

The folder named by REAL_KUBERNETES, or ../shared/real beside the checkout, starts the real one.
The clients are no dependencies of schedweb: PYTHON, or the variable CLIENTS_PYTHON, is the Python
of an environment with kubernetes, kubernetes_asyncio, lightkube, kr8s, pykube-ng and kopf. A client
that it lacks, or a machine without the real one, is not compared, and the output says so. Each
script does the same to both servers, in a namespace of its own, and what it says of each step is
compared, without uids, times and versions. What differs is in var/truth/clients.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat, zip_longest
from pathlib import Path
from typing import Any, Final

import django
import yaml

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
django.setup()

# ruff: noqa: E402
from tools.truth.clients.listed import without_listed
from tools.truth.kubectl.sides import Side, sides
from tools.truth.stories.worlds import Real
from tools.truth.table import OUTPUT, Row, heading, real_folder, skip

SCRIPTS: Final = {
    "official": "kubernetes",
    "with_asyncio": "kubernetes_asyncio",
    "with_kopf": "kopf",
    "with_kr8s": "kr8s",
    "with_lightkube": "lightkube",
    "with_pykube": "pykube",
}
_FOLDER = Path(__file__).parent / "scripts"
_MOST_SECONDS = 240
_HOW = "(set CLIENTS_PYTHON)"
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_RANDOM: Final = (
    (_UUID, "<uid>"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?", "<time>"),
    (r"https?://(127\.0\.0\.1|localhost):\d+(/k8s/truth)?", "<server>"),
    (r"/k8s/truth/", "/"),
    (r"\('127\.0\.0\.1', \d+\)|(127\.0\.0\.1|localhost):\d+", "<server>"),
    (r"\b0x[0-9a-f]+\b", "0x"),
    # headers of a handshake
    (r"-\+-\+- \{'.*?'\} -\+-\+-", "<headers>"),
    (r'("(?:resourceVersion|continue)": ?)"[^"]+"', r'\1"<rv>"'),
)
#: Another in each cluster.
_BLANKED = frozenset({"resource_version", "resourceVersion", "uid", "continue", "_continue"})


def main() -> int:
    options = _parser().parse_args()
    scripts = real_folder()
    if not (scripts / "start").exists():
        print(f"NOTHING WAS COMPARED: {scripts / 'start'} does not exist (set REAL_KUBERNETES)")
        return 0
    chosen = [each for each in options.only or SCRIPTS if _has(options.python, SCRIPTS[each])]
    for name in options.only or SCRIPTS:
        if name not in chosen:
            print(f"NOTHING WAS COMPARED: {options.python} has no {SCRIPTS[name]}", _HOW)
    if not chosen:
        return skip("clients", "a Python with the client libraries is missing")
    OUTPUT.mkdir(parents=True, exist_ok=True)
    rows = [Row(name) for name in chosen]
    shown = 0
    with (
        (OUTPUT / "clients.jsonl").open("w") as file,
        sides(scripts, OUTPUT / "clients", moves=False, root=False) as pair,
    ):
        for row in rows:
            for difference in _differences(pair, row, options.python):
                print(json.dumps(difference), file=file, flush=True)
                if shown < options.show:
                    print(json.dumps(difference, indent=1))
                shown += 1
    print(heading("client"))
    total = Row.of_all("total", rows)
    print(*rows, total, sep="\n")
    return total.save("clients")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.truth.clients")
    python = os.environ.get("CLIENTS_PYTHON") or sys.executable
    parser.add_argument("--python", default=python, help="that has the clients")
    parser.add_argument("--only", nargs="*", choices=sorted(SCRIPTS), metavar="SCRIPT")
    parser.add_argument("--show", type=int, default=20, help="differences")
    return parser


def _has(python: str, module: str) -> bool:
    asked = subprocess.run([python, "-c", f"import {module}"], capture_output=True)
    return asked.returncode == 0


def _differences(pair: tuple[Side, Side], row: Row, python: str) -> list[dict[str, Any]]:
    """The steps that differ; counts all in `row`."""
    with ThreadPoolExecutor(2) as pool:
        real, ours = pool.map(_told, pair, repeat(row.about), repeat(python))
    found = []
    for expected, actual in zip_longest(real, ours, fillvalue={}):
        row.compared += 1
        if expected == actual:
            continue
        left, right = without_listed(expected), without_listed(actual)
        if left == right:
            row.listed += 1
            continue
        step = f"{expected.get('step')}"
        row.differing.append(step)
        found.append({"client": row.about, "step": step, "real": left, "ours": right})
    return found


def _told(side: Side, script: str, python: str) -> Sequence[dict[str, Any]]:
    namespace = script.replace("_", "-")
    with tempfile.TemporaryDirectory(prefix="client-") as folder:
        file = Path(folder) / "config"
        file.write_text(yaml.safe_dump(side.kubeconfig(namespace)))
        _create_namespace(side, namespace)
        process = subprocess.Popen(
            [python, _FOLDER / f"{script}.py"],
            env={
                "PATH": os.environ["PATH"],
                "HOME": folder,
                "KUBECONFIG": str(file),
                "NAMESPACE": namespace,
            },
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            out, errors = process.communicate(timeout=_MOST_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
            errors = f"not ended after {_MOST_SECONDS} s"
    lines = [json.loads(each) for each in out.splitlines() if each.startswith("{")]
    error = errors.splitlines()[-1:] if process.returncode else []
    return [_blank(each) for each in (*lines, {"step": "end", "result": error})]


def _create_namespace(side: Side, namespace: str) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    connection = Real(side.address, side.token)
    for path, created in (
        ("/api/v1/namespaces", body),
        # as controllers do, which neither side has
        (
            f"/api/v1/namespaces/{namespace}/serviceaccounts",
            {"metadata": {"name": "default"}},
        ),
    ):
        status, answer = connection.request("POST", path, created)
        if status not in (201, 409):
            raise RuntimeError(f"POST {path}: {status} {answer.get('message')}")


def _blank(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: "<random>" if name in _BLANKED and each else _blank(each)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_blank(each) for each in value]
    if isinstance(value, str):
        for pattern, text in _RANDOM:
            value = re.sub(pattern, text, value)
        if value.startswith("{"):
            try:
                return _blank(json.loads(value))
            except ValueError:
                return value
    return value


if __name__ == "__main__":
    sys.exit(main())
