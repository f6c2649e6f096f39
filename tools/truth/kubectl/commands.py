"""The commands that both sides get: scripts, and what all kinds share."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.truth.requests import manifests

_HERE = Path(__file__).resolve().parent
#: Name -> text of each file in the working directory.
FILES = {file.name: file.read_text() for file in sorted((_HERE / "files").iterdir())}
#: Verbs after which nothing has to come to rest.
_READING = {"api-resources", "api-versions", "auth", "config", "describe", "diff", "events", "get"}
_READING |= {"explain", "kustomize", "logs", "top", "version", "wait"}


@dataclass(frozen=True)
class Command:
    """A line of a script: variables, arguments of kubectl, and `< FILE`."""

    line: str

    @property
    def variables(self) -> dict[str, str]:
        return dict(word.split("=", 1) for word in self._words()[0])

    @property
    def arguments(self) -> list[str]:
        return self._words()[1]

    @property
    def file(self) -> str | None:
        """The standard input."""
        return self._words()[2]

    @property
    def writes(self) -> bool:
        return self.arguments[0] not in _READING

    def _words(self) -> tuple[list[str], list[str], str | None]:
        words = shlex.split(self.line)
        first = next(i for i, word in enumerate(words) if not word.split("=")[0].isupper())
        file = words[-1] if len(words) > 2 and words[-2] == "<" else None
        return words[:first], words[first : -2 if file else None], file


def scripted() -> dict[str, list[Command]]:
    """The commands of each script, by its name."""
    by_script = {}
    for file in sorted((_HERE / "scripts").iterdir()):
        lines = [line.strip() for line in file.read_text().splitlines()]
        by_script[file.stem] = [
            Command(line) for line in lines if line and not line.startswith("#")
        ]
    return by_script


def about_kinds() -> Iterator[Command]:
    """What is asked about an object of each kind, and at last its deletion."""
    bodies = list(manifests())
    for body in bodies:
        body["metadata"].pop("namespace", None)
        FILES[_file(body)] = json.dumps(body)
        yield Command(f"create -f {_file(body)} --save-config")
    for body in bodies:
        name = shlex.quote(f"{_type(body)}/{body['metadata']['name']}")
        yield from map(
            Command,
            (
                f"explain {_type(body)} --recursive",
                f"get {name} -o wide --show-labels",
                f"get {name} -o yaml --show-managed-fields",
                f"describe {name}",
                f"label {name} a=b",
                f"apply -f {_file(body)}",
                f"diff -f {_file(body)} --server-side",
                f"apply -f {_file(body)} --server-side --force-conflicts",
                f"""patch {name} --type=merge -p '{{"metadata":{{"labels":{{"a":null}}}}}}'""",
                f"""patch {name} --type=json -p '[{{"op":"test","path":"/kind","value":"X"}}]'""",
                f"replace -f {_file(body)} --dry-run=server -o name",
                f"get {_type(body)} --field-selector=spec.unknown=1",
            ),
        )
    yield Command("get all --show-kind")
    yield Command("get all --show-labels -o wide")
    for body in bodies:
        yield Command(f"delete {shlex.quote(_type(body))} {body['metadata']['name']} --wait=false")


def _file(body: dict[str, str]) -> str:
    return f"{_type(body)}.json"


def _type(body: dict[str, str]) -> str:
    """As in the argument of a command."""
    group = body["apiVersion"].rpartition("/")[0]
    return f"{body['kind'].lower()}.{group}" if group else body["kind"].lower()
