"""Compare decisions about random clusters with those of the real kube-scheduler.

    python -m tools.truth [--cases 6] [--pods 8] [--seed 1] [--only SHAPE ...]

The folder named by REAL_KUBERNETES, or ../shared/real beside the checkout, has `decide`: the
framework of kube-scheduler 1.36.2, which answers recorded cases. Without it nothing is compared,
and the output says so. A shape is a sequence of cases; each follows from the real answers to the
one before. A family of recorded cases is a shape, too: its objects, fields and pods are combined
anew. Cases that differ are written to var/truth/SHAPE.jsonl.gz, which `manage.py conformance` reads
(without extenders, whose answers end with this program). What `decide` answers otherwise each time
is not judged, and counted as unanswered.
"""

from __future__ import annotations

import argparse
import copy
import gzip
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from apps.conformance.kinds import Compare, compare_case
from apps.conformance.options import Options
from tools.truth import extender
from tools.truth.clusters import Cluster
from tools.truth.recombined import Recombined, families
from tools.truth.sampled import compare_sampled
from tools.truth.shapes import SHAPES, Shape
from tools.truth.table import OUTPUT, Row, heading, real_folder

#: A difference is asked about again so often: ties among candidates may miss some, and choices
#: among equal volumes are random.
_ASKED_AGAIN = 3


def main() -> int:
    options = _parser().parse_args()
    packed = real_folder() / "decide.xz"
    if not packed.exists():
        print(f"NOTHING WAS COMPARED: {packed} does not exist (set REAL_KUBERNETES)")
        return 0
    decide = unpack(packed)
    rows, recorded = [], families()
    print(heading("shape"))
    with extender.running() as address:
        for name in options.only or (*SHAPES, *recorded):
            if name in SHAPES:
                rows.append(compare_shape(name, decide, address, options))
            else:
                rows.append(compare_family(name, recorded[name], decide, options))
            print(rows[-1], *rows[-1].differing[:1], flush=True)
    total = Row.of_all("total", rows)
    print(total)
    return total.save("decisions")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.truth")
    parser.add_argument("--cases", type=int, default=6, help="of each shape")
    parser.add_argument("--pods", type=int, default=8, help="in each case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--only", nargs="*", choices=sorted({*SHAPES, *families()}), metavar="SHAPE"
    )
    return parser


def unpack(packed: Path) -> Path:
    """The program, unpacked once for each version."""
    program = OUTPUT / f"decide-{packed.stat().st_mtime_ns}"
    if not program.exists():
        OUTPUT.mkdir(parents=True, exist_ok=True)
        unpacked = program.with_suffix(".part")
        unpacked.write_bytes(lzma.decompress(packed.read_bytes()))
        unpacked.chmod(0o755)
        unpacked.rename(program)
    return program


def compare_shape(name: str, decide: Path, address: str, options: argparse.Namespace) -> Row:
    shape = SHAPES[name]
    with asking(decide, shape.gates) as ask:
        compare = compare_sampled if shape.is_sampled else compare_case
        return compare_cases(name, cases(name, shape, ask, address, options), ask, compare)


def compare_family(name: str, path: Path, decide: Path, options: argparse.Namespace) -> Row:
    """Cases like those of a recorded family."""
    recombined = Recombined(path, f"{options.seed} {name}")
    with asking(decide, recombined.gates) as ask:
        drawn = ((case, ask(case)) for case in islice(recombined.cases(), options.cases))
        return compare_cases(name, drawn, ask, compare_case)


def compare_cases(
    name: str, pairs: Iterable[tuple[Any, Any]], ask: Callable[[Any], Any], compare: Compare
) -> Row:
    row, differing = Row(name), []
    for case, expect in pairs:
        if "panic" in expect:
            row.unanswered += len(case["pods"])
            continue
        differences = compare(case, expect, Options())
        if differences:
            others = [ask(case) for _ in range(_ASKED_AGAIN)]
            if any(not compare(case, other, Options()) for other in others):
                differences = []
            elif any(other != expect for other in others):
                row.unanswered += len(case["pods"])
                continue
        row.compared += len(expect.get("pods") or ())
        if differences:
            # "<case> <pod> <field>: ...": one line for each decision
            row.differing += {line.split()[1]: line[:300] for line in differences}.values()
            differing.append({"case": case, "expect": expect})
    file = OUTPUT / f"{name}.jsonl.gz"
    file.unlink(missing_ok=True)
    if differing:
        with gzip.open(file, "wt") as lines:
            lines.writelines(json.dumps(each) + "\n" for each in differing)
    return row


def cases(
    name: str, shape: Shape, ask: Any, address: str, options: argparse.Namespace
) -> Iterator[tuple[Any, Any]]:
    """Each case with the real answer."""
    cluster = Cluster(frozenset(shape.features.split()), shape.nodes, options.seed)
    for number in range(options.cases):
        pods = [cluster.make_pod() for _ in range(options.pods)]
        case = copy.deepcopy(
            {
                "id": f"{name}-{options.seed}-{number}",
                "config": {**shape.config(address), "featureGates": shape.gates},
                "objects": cluster.objects,
                "pods": pods,
            }
        )
        expect = ask(case)
        yield case, expect
        cluster.follow(pods, expect["pods"])


@contextmanager
def asking(decide: Path, gates: dict[str, bool]) -> Iterator[Any]:
    """A function that returns the real answer to a case."""
    texts = [f"{gate}={str(on).lower()}" for gate, on in gates.items()]
    environment = {**os.environ, "FIDELITY_GATES": ",".join(texts)}
    with subprocess.Popen(
        [decide],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
    ) as process:

        def ask(case: Any) -> Any:
            assert process.stdin is not None
            assert process.stdout is not None
            asked = copy.deepcopy(case)
            # the gates are those of the process
            (asked.get("config") or {}).pop("featureGates", None)
            print(json.dumps({"case": asked}), file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())

        yield ask
        process.kill()


if __name__ == "__main__":
    sys.exit(main())
