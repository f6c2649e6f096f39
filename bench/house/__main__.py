"""``python -m bench.house`` (`make bench-house`): what clients of a whole site see.

Starts a site of its own for each run, on a new data folder and free ports, or measures one that
runs (``--address URL --token TOKEN``): new clusters are created there, and remain, paused.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench import machine, results, tables
from bench.house import plan
from bench.house.connection import Address
from bench.house.loaders import GoLoader, PythonLoader
from bench.house.site import Site, own_site
from bench.results import Figures


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.house", description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="small sizes and one run: 2 minutes")
    parser.add_argument("--runs", type=int, help="runs of each measurement (3; 1 with --short)")
    parser.add_argument("--only", default="", help="measurements whose name matches this regex")
    parser.add_argument("--openb", type=Path, metavar="DIR", help="with nodes.csv and pods.csv")
    parser.add_argument("--load-client", type=Path, metavar="FILE", help="the load client in Go")
    parser.add_argument("--http", action="store_true", help="http in place of https")
    parser.add_argument("--address", metavar="URL", help="a running site to measure")
    parser.add_argument("--token", default="", help="a user's token there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results here")
    for size, value in asdict(plan.Sizes()).items():
        count = "+" if isinstance(value, tuple) else None
        option = f"--{size.replace('_', '-')}"
        parser.add_argument(option, type=int, nargs=count, help=f"({value})")
    options = parser.parse_args(arguments)
    if options.address and not options.token:
        parser.error("--address needs --token")
    return options


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All measurements that the options select; the content of the JSON file."""
    runs = options.runs or (1 if options.short else 3)
    taken: defaultdict[str, list[Figures]] = defaultdict(list)
    loads: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
    with machine.observed_load() as whole:
        for run in range(1, runs + 1):
            with _site(options) as site:
                for name, take in _chosen(options, site):
                    print(f"{name}, run {run} of {runs} ...", file=sys.stderr, flush=True)
                    with machine.observed_load() as load:
                        figures = take()
                    taken[name].append(figures)
                    loads[name].append(load)
    return {
        "machine": machine.describe(),
        "load": whole,
        "runs": runs,
        "client": "Go" if options.load_client else "Python",
        "scheme": (options.address or _scheme(options)).partition(":")[0],
        "measurements": {
            name: {**results.combine(runs), "loads": loads[name]} for name, runs in taken.items()
        },
    }


def _chosen(options: argparse.Namespace, site: Site) -> Iterator[tuple[str, plan.Measure]]:
    loader = GoLoader(options.load_client) if options.load_client else PythonLoader()
    for name, take in plan.measurements(site, loader, selected_sizes(options), options.openb):
        if re.search(options.only, name):
            yield name, take


def selected_sizes(options: argparse.Namespace) -> plan.Sizes:
    sizes = plan.SHORT if options.short else plan.Sizes()
    given: dict[str, Any] = {}
    for name in asdict(sizes):
        value = getattr(options, name)
        if value is not None:
            given[name] = tuple(value) if isinstance(value, list) else value
    return replace(sizes, **given)


def _scheme(options: argparse.Namespace) -> str:
    return "http" if options.http else "https"


@contextmanager
def _site(options: argparse.Namespace) -> Iterator[Site]:
    if options.address:
        yield Site(Address(options.address.rstrip("/"), options.token))
        return
    with own_site(_scheme(options)) as site:
        yield site


def main() -> None:
    options = parse(sys.argv[1:])
    content = measure(options)
    print(tables.house(content, markdown=False), tables.memory(content, markdown=False), sep="\n\n")
    print(machine.format_load(content["load"]))
    if options.json:
        results.write(options.json, content)


if __name__ == "__main__":
    main()
