"""Compares a run with the same run in the results of an earlier version (`--json`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from apps.cluster.errors import BadRequest
from apps.scheduler.config.decoding import camel_case
from apps.studies.importers.source_files import Files
from apps.studies.scenarios.language.types import HIGHER_IS_BETTER, NotWorse

Body = Mapping[str, Any]

#: Those that are compared if an expectation names none.
USUAL: Final = ("pending", "preempted", "evicted", "waited_p99")


@dataclass(frozen=True, slots=True)
class Baseline:
    """The figures of an earlier run; None if the file has no such run."""

    file: str
    figures: Body | None

    def compare(self, wanted: NotWorse, now: Body) -> tuple[bool, str]:
        """Whether no figure is worse by more than the tolerance, and what was found."""
        if self.figures is None:
            return False, f"{self.file} has no run of this scenario with this profile and seed"
        names = [next(k for k in now if camel_case(k) == name) for name in wanted.figures] or USUAL
        described = [_describe(name, self.figures.get(name), now[name], wanted) for name in names]
        worse = [text for text, is_worse in described if is_worse]
        if worse:
            return False, f"worse than in {self.file}: {'; '.join(worse)}"
        return True, f"not worse than in {self.file}: {'; '.join(text for text, _ in described)}"


def read_baseline(wanted: NotWorse, files: Files, scenario: str, run: str) -> Baseline:
    """The run with this name; BadRequest if the file does not have the results of scenarios."""
    try:
        results = msgspec.json.decode(files.read(wanted.than))
        figures = {
            (result["name"], each["name"]): dict(each["figures"])
            for result in results
            for each in result["runs"]
        }
    except (msgspec.DecodeError, TypeError, KeyError, ValueError) as error:
        raise BadRequest(f"{wanted.than}: has no results of scenarios (--json)") from error
    return Baseline(wanted.than, figures.get((scenario, run)))


def _describe(name: str, before: Any, now: Any, wanted: NotWorse) -> tuple[str, bool]:
    text = f"{camel_case(name)} {_text(now)} (was {_text(before)})"
    if not isinstance(before, int | float) or not isinstance(now, int | float):
        # no pod was bound then, or now
        return text, now is None and before is not None
    change = before - now if name in HIGHER_IS_BETTER else now - before
    return text, change > abs(before) * wanted.percent / 100 + 1e-9


def _text(value: Any) -> str:
    return "none" if value is None else f"{value:g}"
