"""Compare the moves of waiting pods between queues with those in a real kube-scheduler.

    python -m tools.truth.queue [--show 20]

The folder named by REAL_KUBERNETES, or ../shared/real beside the checkout, starts the real one;
without it nothing is compared, and the output says so. Both sides get the same nodes and pods that
wait for many reasons, and then change after change: of nodes, of pods that run and that wait, of
volumes, claims and devices. After each change, when both have come to rest, the moves of each pod
are compared: by which event to which queue, in their order. So a hint that moves a pod, or leaves
it where it is, is compared with the real one. The real moves are those that kube-scheduler logs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
django.setup()

# ruff: noqa: E402
from apps.cluster import kinds
from apps.engine.models import QueueMove
from tools.truth.plots_of_queue import STEPS, Change, Step
from tools.truth.servers import control_plane, our_server
from tools.truth.stories.worlds import Ours, Real, World, path_of
from tools.truth.table import OUTPUT, Row, heading, real_folder

Body = dict[str, Any]
#: pod -> its moves, in their order: by which event, to which queue
Moves = dict[str, list[tuple[str, str]]]

_LINE = re.compile(
    r'"Pod moved to an internal scheduling queue" pod="[^/]+/([^"]+)" event="([^"]+)" '
    r'queue="([^"]+)"'
)
#: Backoff is a second, and lasts until the next one, so that no pod waits when a change comes.
_BACKOFF = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 1}
_PAUSE = 2.5
#: Moves that kube-scheduler does not log, and those that only end a backoff.
_UNCOMPARED = ("Pop", "BackoffComplete")
#: Our names of its queues; that a pod is gated is not logged.
_QUEUES = {"active": "Active", "backoff": "Backoff", "unschedulable": "Unschedulable"}


class _Side(Protocol):
    """A cluster, and what its queue has done."""

    world: World

    def moves(self) -> Moves:
        """The moves since the last call."""

    def end_backoff(self) -> None:
        """Let the time of a backoff pass."""


class _RealSide:
    def __init__(self, world: Real, log: Path) -> None:
        self.world = world
        self._log, self._read = log, 0

    def moves(self) -> Moves:
        with self._log.open(errors="replace") as file:
            file.seek(self._read)
            text = file.read()
            self._read = file.tell()
        by_pod: Moves = {}
        for pod, event, queue in _LINE.findall(text):
            if event not in _UNCOMPARED:
                by_pod.setdefault(pod, []).append((event, queue))
        return by_pod

    def end_backoff(self) -> None:
        # it has come to rest for longer than a second already
        self.world.pass_time(_PAUSE / 2)


class _OurSide:
    def __init__(self, world: Ours) -> None:
        self.world = world
        self._last = 0

    def moves(self) -> Moves:
        rows = QueueMove.objects.filter(cluster=self.world.cluster, id__gt=self._last)
        by_pod: Moves = {}
        for move in rows.order_by("id"):
            self._last = move.pk
            if move.target in _QUEUES and move.event not in _UNCOMPARED:
                by_pod.setdefault(move.name, []).append((move.event, _QUEUES[move.target]))
        return by_pod

    def end_backoff(self) -> None:
        self.world.pass_time(_PAUSE)


def main() -> int:
    options = _parser().parse_args()
    scripts = real_folder()
    if not (scripts / "start").exists():
        print(f"NOTHING WAS COMPARED: {scripts / 'start'} does not exist (set REAL_KUBERNETES)")
        return 0
    with _our_side() as ours:
        told = [*_play(ours, STEPS)]
    with _real_side(scripts, OUTPUT / "queue") as real:
        expected = [*_play(real, STEPS)]
    row = Row("moves between queues")
    for step, wanted, computed in zip(STEPS, expected, told, strict=True):
        for pod in sorted(wanted.keys() | computed.keys()):
            row.compared += 1
            if wanted.get(pod) == computed.get(pod):
                continue
            row.differing.append(f"{step.name}: {pod}")
            if len(row.differing) <= options.show:
                print(f"{step.name}, pod {pod}:")
                print(f"  real {wanted.get(pod)}")
                print(f"  ours {computed.get(pod)}")
    print(heading("what"), row, sep="\n")
    return row.save("queue")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.truth.queue")
    parser.add_argument("--show", type=int, default=20, help="differences")
    return parser


def _play(side: _Side, steps: Sequence[Step]) -> Iterator[Moves]:
    """The moves after each step; the next one begins when no pod backs off any more."""
    for step in steps:
        for change in step.changes:
            _perform(side.world, step, change)
        side.world.settle()
        yield side.moves()
        side.end_backoff()


def _perform(world: World, step: Step, change: Change) -> None:
    kind = kinds.by_name(change.kind)
    path = path_of(kind, "default", change.name, change.part)
    form = "merge-patch+json" if change.method == "PATCH" else "json"
    body = change.body
    if change.method == "POST":
        body = {"apiVersion": kind.api_version, "kind": kind.name, **body}
    status, answer = world.request(change.method, path, body, form)
    if status >= 300:
        raise RuntimeError(f"{step.name}: {change.method} {path}: {status} {json.dumps(answer)}")


@contextmanager
def _real_side(scripts: Path, folder: Path) -> Iterator[_RealSide]:
    os.environ["V"] = "5"
    with control_plane(scripts, folder, "--scheduler", config=_BACKOFF) as server:
        yield _RealSide(Real(server), folder / "kube-scheduler.log")


@contextmanager
def _our_side() -> Iterator[_OurSide]:
    with our_server(config=_BACKOFF) as replay:
        world = Ours(replay)
        world.cluster.controllers = False
        world.cluster.save()
        yield _OurSide(world)


if __name__ == "__main__":
    sys.exit(main())
