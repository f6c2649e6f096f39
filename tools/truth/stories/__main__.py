"""Compare the controllers with those of a real kube-controller-manager.

    python -m tools.truth.stories [--only STORY ...] [--show 20]

The folder named by REAL_KUBERNETES, or ../shared/real beside the checkout, starts the real one with
its scheduler; without it nothing is compared, and the output says so. Both clusters are told the
same stories of workloads, each in a namespace of its own, and the same program plays the kubelets
of both (kubelet.py). After each step, all objects of the namespace are compared when the
controllers have come to rest, with the events about each object in their order. Random names, uids,
times and addresses are replaced; what else differs is in var/truth/stories.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
django.setup()

# ruff: noqa: E402
from tools.truth.stories.appearance import Appearance
from tools.truth.stories.listed import unlisted
from tools.truth.stories.plots import STORIES
from tools.truth.stories.telling import Telling
from tools.truth.stories.worlds import our_world, real_world
from tools.truth.table import OUTPUT, Row, heading, real_folder

Body = dict[str, Any]


def main() -> int:
    options = _parser().parse_args()
    scripts = real_folder()
    if not (scripts / "start").exists():
        print(f"NOTHING WAS COMPARED: {scripts / 'start'} does not exist (set REAL_KUBERNETES)")
        return 0
    chosen = [each for each in STORIES if not options.only or each.name in options.only]
    OUTPUT.mkdir(parents=True, exist_ok=True)
    with real_world(scripts, OUTPUT / "stories") as real:
        theirs = Telling(real, chosen)
        expected = theirs.tell()
    # at the same second of a minute, as CronJobs go by minutes
    with our_world(theirs.began) as ours:
        told = Telling(ours, chosen, theirs.moments).tell()
    return _report([each.name for each in chosen], expected, told, options.show)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.truth.stories")
    parser.add_argument("--only", nargs="*", metavar="STORY")
    parser.add_argument("--show", type=int, default=20, help="differences")
    return parser


def _report(
    names: Sequence[str],
    real: dict[str, list[Appearance]],
    ours: dict[str, list[Appearance]],
    most: int,
) -> int:
    shown = 0
    rows = [Row(name) for name in names]
    with (OUTPUT / "stories.jsonl").open("w") as file:
        for row in rows:
            steps = zip(real[row.about], ours[row.about], strict=True)
            for step, (expected, actual) in enumerate(steps):
                for about in sorted(expected.keys() | actual.keys()):
                    left, right = expected.get(about, []), actual.get(about, [])
                    count = max(len(left), len(right))
                    row.compared += count
                    places = unlisted(about, left, right)
                    if not places:
                        row.listed += count if left != right else 0
                    row.differing += [f"step {step}, {about}"] * count if places else []
                    for where, one, other in places:
                        difference = {
                            "story": row.about,
                            "step": step,
                            "object": about,
                            "where": where,
                        }
                        line = json.dumps({**difference, "real": one, "ours": other})
                        print(line, file=file)
                        if shown < most:
                            print(line)
                        shown += 1
    print(heading("story"))
    total = Row.of_all("total", rows)
    print(*rows, total, sep="\n")
    return total.save("stories")


if __name__ == "__main__":
    sys.exit(main())
