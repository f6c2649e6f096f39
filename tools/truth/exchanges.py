"""Compare the responses of ours with those of a real kube-apiserver.

    python -m tools.truth.exchanges [--mutations 8] [--topics 40] [--sequences 20] [--seed 1]
        [--only KIND ...]

The folder named by REAL_KUBERNETES, or ../shared/real beside the checkout, starts the real one;
without it nothing is compared, and the output says so. Both get the same requests about every kind:
reads in all forms, creations, updates, patches, applies and deletions of valid and of mutated
manifests, definitions whose schemas are wrong, creations of random pods and workloads with few of
their fields, and sequences in which managers, selectors, roles and quotas meet. Times, uids and
resource versions are blanked; all else is compared, managedFields and texts too. What is equal only
without the differences of `tools.truth.listed` counts as listed. Exchanges that differ otherwise
are written to var/truth/exchanges.jsonl.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
django.setup()

# ruff: noqa: E402
from tests.api.replay import Replay
from tools.truth.comparing import compare, get
from tools.truth.requests import Requests, Step, collections, creation, manifests, reading
from tools.truth.schemas import definitions
from tools.truth.sequences import sequences
from tools.truth.servers import our_server, real_server
from tools.truth.table import OUTPUT, Row, heading, real_folder
from tools.truth.templates import Templates
from tools.truth.topics import topics


def main() -> int:
    options = _parser().parse_args()
    scripts = real_folder()
    if not (scripts / "start").exists():
        print(f"NOTHING WAS COMPARED: {scripts / 'start'} does not exist (set REAL_KUBERNETES)")
        return 0
    OUTPUT.mkdir(parents=True, exist_ok=True)
    with (
        our_server() as ours,
        real_server(scripts, OUTPUT / "real") as real,
        (OUTPUT / "exchanges.jsonl").open("w") as file,
    ):
        rows = compare(real, ours, _steps(real, options), file)
    print(heading("exchanges"))
    total = Row.of_all("total", rows)
    print(*rows, total, sep="\n")
    return total.save("exchanges")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.truth.exchanges")
    parser.add_argument("--mutations", type=int, default=8, help="of each kind, twice")
    parser.add_argument("--templates", type=int, default=200, help="random pods and workloads")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--topics", type=int, default=40, help="of each topic that kinds share")
    parser.add_argument("--sequences", type=int, default=20, help="steps of each sequence")
    parser.add_argument("--only", nargs="*", metavar="KIND")
    return parser


def _steps(real: Replay, options: argparse.Namespace) -> Iterator[Step]:
    """All requests: about what kinds share, and kind by kind."""
    if not options.only:
        yield from topics(str(options.seed), options.topics)
        yield from definitions(str(options.seed), options.topics)
        yield from sequences(str(options.seed), options.sequences)
    known = {(body["apiVersion"], body["kind"]): body for body in manifests()}
    for place in get(real, "/openapi/v3")["paths"]:
        if not place.startswith(("api/", "apis/")) or place.count("/") != 1 + (place[3] == "s"):
            continue
        version = place.partition("/")[2]
        document = get(real, f"/openapi/v3/{place}")
        if options.only is None:
            yield reading("documents", f"/openapi/v3/{place}")
        for kind, (path, below) in sorted(collections(document).items()):
            if options.only is None or kind in options.only:
                seed = f"{options.seed} {version} {kind}"
                requests = Requests(path, below, known.get((version, kind)), seed)
                yield from requests.all(options.mutations)
    if options.only is None:
        templates = Templates(options.seed)
        for number in range(options.templates):
            yield creation(templates.workload() if number % 2 else templates.pod())


if __name__ == "__main__":
    sys.exit(main())
