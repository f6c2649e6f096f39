"""Indexes of the pods of an Indexed Job, and their short form in its status ("0,2-4")."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, islice
from typing import Final

from apps.scheduler.objects import Pod

INDEX: Final = "batch.kubernetes.io/job-completion-index"
_MOST: Final = 1_000_000
_DIGITS: Final = 10


def index_of(pod: Pod) -> int | None:
    """The pod's index; None without one."""
    return read_number(pod.metadata.annotations.get(INDEX, ""))


def indexes_of(pods: Iterable[Pod]) -> set[int]:
    """The indexes of the pods that have one."""
    return {index for pod in pods if (index := index_of(pod)) is not None}


def read_ranges(text: str, completions: int) -> list[range]:
    """The intervals of a list, cut at `completions`; parts that are no numbers are ignored."""
    ranges: list[range] = []
    for part in text.split(",") if text else ():
        first, _, last = part.partition("-")
        start, end = read_number(first), read_number(last or first)
        if start is not None and end is not None:
            ranges.append(range(start, min(end + 1, completions)))
    return ranges


def read_indexes(text: str, completions: int) -> set[int]:
    """The indexes below `completions` of a list, of which a status has at most a million."""
    return set(islice(chain.from_iterable(read_ranges(text, completions)), _MOST))


def read_number(text: str) -> int | None:
    """A number as in annotations and lists of indexes; None for anything else."""
    return int(text) if text.isdecimal() and len(text) <= _DIGITS else None


def format_indexes(indexes: Iterable[int]) -> str:
    """The list in the short form: three or more in a row as an interval."""
    parts: list[str] = []
    run: list[int] = []
    for index in sorted(indexes):
        if run and index != run[-1] + 1:
            parts += _format_run(run)
            run = []
        run.append(index)
    return ",".join(parts + _format_run(run))


def _format_run(run: list[int]) -> list[str]:
    return [f"{run[0]}-{run[-1]}"] if len(run) > 2 else [str(index) for index in run]
