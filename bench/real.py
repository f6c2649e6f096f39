"""`make bench-real`: the same clients on the real control plane and on a site, turn by turn.

Starts etcd, kube-apiserver and kube-scheduler 1.36 from the folder named by REAL_KUBERNETES, or
../shared/real, and a site of its own. Or measures a control plane that runs (`--address URL --token
TOKEN`): all its nodes, and the pods of its default namespace, are deleted; its scheduler is not
stopped while pods are only created. Fails if a ratio has fallen below the stored one by more than a
fifth.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bench import machine, results
from bench.house import plan
from bench.house.connection import Address
from bench.house.loaders import PythonLoader
from bench.house.real_stack import RealStack, own_stack
from bench.house.site import Site, own_site
from bench.results import Figures
from tools.truth.table import real_folder

STORED: Final = Path(__file__).parents[1] / "docs" / "performance" / "real.json"
#: A ratio may be so much lower than the stored one.
LOWEST: Final = 0.8
_WANTED: Final = re.compile("post_|end_to_end|latency")
#: which figures are compared, and whether more is better
_FIGURES: Final = {"pods_per_s": True, "p50_ms": False, "p99_ms": False}

#: "measurement figure" -> the median here, there, and the ratio in our favour
Compared = dict[str, tuple[float, float, float]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.real", description=__doc__.splitlines()[0])
    parser.add_argument("--address", metavar="URL", help="a real control plane that runs")
    parser.add_argument("--token", default="", help="a token that may do everything there")
    parser.add_argument("--runs", type=int, default=3, help="rounds (3)")
    parser.add_argument("--pods", type=int, default=3000, help="pods of a measurement (3000)")
    parser.add_argument("--store", action="store_true", help="store the ratios in docs/performance")
    options = parser.parse_args()
    with machine.observed_load() as load, _stack(options) as real, own_site("https") as site:
        compared = compare(*_measure(real, site, options.runs, options.pods))
    stored = results.read(STORED)["ratios"] if STORED.exists() else {}
    print(table(compared, stored))
    print(machine.format_load(load))
    if options.store:
        ratios = {name: results.round_figure(ratio) for name, (*_, ratio) in compared.items()}
        results.write(STORED, {"machine": machine.describe(), "load": load, "ratios": ratios})
        return 0
    fallen = find_fallen(compared, stored)
    for name in fallen:
        print(f"{name}: the ratio has fallen from {stored[name]:g} to {compared[name][2]:.2f}")
    return int(bool(fallen))


@contextmanager
def _stack(options: argparse.Namespace) -> Iterator[Site]:
    if options.address:
        yield RealStack(Address(options.address.rstrip("/"), options.token))
        return
    with own_stack(real_folder()) as stack:
        yield stack


def _measure(
    real: Site, site: Site, runs: int, pods: int
) -> tuple[dict[str, list[Figures]], dict[str, list[Figures]]]:
    """The runs of each measurement, of the real stack and of the site."""
    sizes = plan.Sizes(
        clients=(1, 16), post_pods=pods, end_to_end_nodes=(1000,), end_to_end_pods=pods
    )
    taken: list[defaultdict[str, list[Figures]]] = [defaultdict(list), defaultdict(list)]
    for run in range(1, runs + 1):
        plans = [plan.measurements(each, PythonLoader(), sizes, None) for each in (real, site)]
        wanted = [{name: take for name, take in each if _WANTED.match(name)} for each in plans]
        for name in wanted[0]:
            print(f"{name}, run {run} of {runs} ...", file=sys.stderr, flush=True)
            for figures, measurements in zip(taken, wanted, strict=True):
                figures[name].append(measurements[name]())
    return taken[0], taken[1]


def compare(real: Mapping[str, list[Figures]], ours: Mapping[str, list[Figures]]) -> Compared:
    """The medians of both, and how many times better ours are."""
    compared: Compared = {}
    for name in real:
        theirs, own = results.combine(real[name]), results.combine(ours[name])
        for figure, more_is_better in _FIGURES.items():
            if figure not in theirs or (name.startswith("post_") and not more_is_better):
                continue
            there, here = theirs[figure]["median"], own[figure]["median"]
            ratio = here / there if more_is_better else there / here
            compared[f"{name} {figure}"] = there, here, ratio
    return compared


def find_fallen(compared: Compared, stored: Mapping[str, float]) -> list[str]:
    """What has fallen below the stored ratio by more than a fifth."""
    return [
        name
        for name, (*_, ratio) in compared.items()
        if name in stored and ratio < stored[name] * LOWEST
    ]


def table(compared: Compared, stored: Mapping[str, Any]) -> str:
    """A row for each figure."""
    rows = [
        [
            name,
            *map(results.format_number, (there, here)),
            f"{ratio:.1f} ×",
            f"{stored[name]:.1f} ×" if name in stored else "",
        ]
        for name, (there, here, ratio) in compared.items()
    ]
    header = ["measurement", "real stack", "schedweb", "ratio", "stored"]
    return results.format_table(header, rows, markdown=False)


if __name__ == "__main__":
    sys.exit(main())
