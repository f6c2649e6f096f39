"""Replays recorded kubectl commands with the kubectl of this machine, and compares the output.

A recording is the output of kubectl 1.36 against a kube-apiserver 1.36. Times, uids, versions and
addresses are normalized, as they were in the recording, and so are the words that only a newer
kubectl prints. Lines of the log of kubectl's libraries are left out.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

#: Pattern -> what takes its place in both texts. The order matters.
_NORMAL: Final = (
    # the log of client-go
    (r"(?m)^[IWE]\d{4} .*\n", ""),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", "<time>"),
    # describe prints times in words
    (r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "<time>"),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
    (r'(resourceVersion"?: )"\d+"', r'\1"<rv>"'),
    # the width of a column of ages depends on them
    (r"\b(AGE|LAST SEEN) +", r"\1  "),
    (r"(?m)(^|(?<= ))(<unknown>|<invalid>|(\d+[smhdy])+) +(?!\(\d)", "<age>  "),
    (r"(?m)(?<= )(<unknown>|<invalid>|(\d+[smhdy])+)(?=\)?$)", "<age>"),
    (r"(?<= over )(\d+[smhdy])+", "<age>"),
    (r"<(time|age)> +", r"<\1>  "),
    # kubectl 1.34 and newer name the namespace of a deleted object
    (r'(?<=" )(deleted|force deleted) from \S+ namespace', r"\1"),
    # diff reads files with generated names
    (r"(?m)^diff -u.*$", "diff"),
    (r"(?m)^(---|\+\+\+) .*$", r"\1 <file>"),
    # kubectl 1.34 and newer leave out empty fields of generated objects
    (r"(?m)^ +creationTimestamp: null\n", ""),
    (r"(?m) +$", ""),
)


@dataclass(frozen=True)
class Outcome:
    """The output of one command, normalized."""

    exit: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class CommandDifference:
    """A command whose outcome is not the recorded one."""

    name: str
    expected: Outcome
    actual: Outcome

    def __str__(self) -> str:
        lines = [f"== {self.name}"]
        for part in ("exit", "stdout", "stderr"):
            expected, actual = getattr(self.expected, part), getattr(self.actual, part)
            if expected != actual:
                lines += [f"-- {part}, expected:", str(expected), "-- actual:", str(actual)]
        return "\n".join(lines)


@dataclass(frozen=True)
class Kubectl:
    """The kubectl of this machine as a user of one cluster; files are in *folder*."""

    program: str
    kubeconfig: Path
    folder: Path

    def run(self, *arguments: str, files: Mapping[str, str] | None = None) -> Outcome:
        for name, text in (files or {}).items():
            (self.folder / name).write_text(text, encoding="utf-8")
        found = subprocess.run(
            [self.program, "--kubeconfig", str(self.kubeconfig), *arguments],
            cwd=self.folder,
            # kubectl caches discovery below the home folder
            env={**os.environ, "HOME": str(self.folder)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        return Outcome(found.returncode, found.stdout, found.stderr)

    def replay(self, recording: Path) -> Iterator[CommandDifference | None]:
        """The difference of each compared command; None for one that equals the recording."""
        for line in recording.read_text(encoding="utf-8").splitlines():
            step = json.loads(line)
            actual = self.run(*step["argv"], files=step.get("files"))
            if step.get("compare") != "none":
                yield _difference(step, actual)


def _difference(step: Mapping[str, Any], actual: Outcome) -> CommandDifference | None:
    recorded = Outcome(step["exit"], step["stdout"], step["stderr"])
    match step.get("compare", ""):
        case "named-subset":
            listed = set(map(_words, actual.stdout.splitlines()))
            lines = recorded.stdout.splitlines()
            missing = "\n".join(line for line in lines if _words(line) not in listed)
            expected, found = Outcome(recorded.exit, missing, ""), Outcome(actual.exit, "", "")
        case "exit":
            expected, found = Outcome(recorded.exit, "", ""), Outcome(actual.exit, "", "")
        case _:
            expected, found = normalize(recorded), normalize(actual)
    return None if expected == found else CommandDifference(step["name"], expected, found)


def normalize(outcome: Outcome) -> Outcome:
    return Outcome(outcome.exit, _normal(outcome.stdout), _normal(outcome.stderr))


def _normal(text: str) -> str:
    for pattern, shown in _NORMAL:
        text = re.sub(pattern, shown, text)
    return text.strip()


def _words(line: str) -> str:
    return " ".join(line.split())
