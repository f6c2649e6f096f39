"""Compare the output of kubectl against ours with that against a real kube-apiserver.

    python -m tools.truth.kubectl [--only SCRIPT ...] [--show 20]

The folder named by REAL_KUBERNETES, or ../shared/real beside the checkout, has the real one and its
kubectl; without it nothing is compared, and the output says so. Both get the same commands: those
of `scripts`, each in a namespace of its own, and for each kind the commands that all kinds share.
Scripts whose name begins with `running-` are played with scheduler, controllers and the kubelets of
`tools.truth.stories`; the others on an API server alone. Exit code, standard output and standard
error are compared; times, ages, uids, versions, addresses and random names are blanked. Commands
that differ are written to var/truth/kubectl.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import repeat

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
django.setup()

# ruff: noqa: E402
from tests.stack.kubectl import Outcome
from tools.truth.kubectl.commands import FILES, Command, about_kinds, scripted
from tools.truth.kubectl.listed import without_listed
from tools.truth.kubectl.sides import Place, Side, sides
from tools.truth.table import OUTPUT, Row, heading, real_folder


def main() -> int:
    options = _parser().parse_args()
    scripts = real_folder()
    if not (scripts / "start").exists():
        print(f"NOTHING WAS COMPARED: {scripts / 'start'} does not exist (set REAL_KUBERNETES)")
        return 0
    OUTPUT.mkdir(parents=True, exist_ok=True)
    played = {**scripted(), "kinds": list(about_kinds())}
    if options.only is not None:
        played = {name: played[name] for name in options.only}
    at_rest = {name: each for name, each in played.items() if not name.startswith("running-")}
    running = {name: each for name, each in played.items() if name not in at_rest}
    rows: list[Row] = []
    shown = 0
    with (OUTPUT / "kubectl.jsonl").open("w") as file:
        for moves, chosen in ((False, at_rest), (True, running)):
            if not chosen:
                continue
            with sides(scripts, OUTPUT / "kubectl", moves=moves) as pair:
                for name, commands in chosen.items():
                    rows.append(Row(name))
                    for difference in _differences(pair, name, commands, rows[-1]):
                        print(json.dumps(difference), file=file, flush=True)
                        if shown < options.show:
                            print(json.dumps(difference, indent=1))
                        shown += 1
    print(heading("script"))
    total = Row.of_all("total", rows)
    print(*rows, total, sep="\n")
    return total.save("kubectl")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.truth.kubectl")
    parser.add_argument("--only", nargs="*", metavar="SCRIPT")
    parser.add_argument("--show", type=int, default=20, help="differences")
    return parser


def _differences(
    pair: tuple[Side, Side], name: str, commands: Sequence[Command], row: Row
) -> Iterator[dict[str, object]]:
    """What differs; counts all commands in `row`."""
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(2))
        places = [stack.enter_context(side.place(name, FILES)) for side in pair]
        for command in commands:
            expected, actual = pool.map(Place.run, places, repeat(command))
            row.compared += 1
            difference = _difference(command, expected, actual)
            if difference:
                row.differing.append(command.line)
                yield {"script": name, **difference}
            elif expected != actual:
                row.listed += 1


def _difference(command: Command, expected: Outcome, actual: Outcome) -> dict[str, object]:
    """What differs and is not listed."""
    expected, actual = (without_listed(each, command.line) for each in (expected, actual))
    if expected == actual:
        return {}
    parts: dict[str, object] = {"command": command.line}
    for part in ("exit", "stdout", "stderr"):
        left, right = getattr(expected, part), getattr(actual, part)
        if left != right:
            parts[part] = {"real": left, "ours": right}
    return parts


if __name__ == "__main__":
    sys.exit(main())
