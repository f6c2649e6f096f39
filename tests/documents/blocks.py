"""The blocks of code in the documents, and the commands and outputs in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt

ROOT: Final = Path(__file__).parents[2]
DOCUMENTS: Final = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("clients/*/README.md"),
        *ROOT.glob("kits/**/*.md"),
        ROOT / "apps/studies/scenarios/library/README.md",
    )
    if path.name != "CHANGELOG.md"
)
_PROMPT: Final = "$ "
#: Values that differ from run to run -> what takes their place.
_VOLATILE: Final = (
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)", "<time>"),
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
    (r"\b[0-9a-f]{32}\b", "<request>"),
    (r"\b\d{15}\b", "<decision>"),
    (r"\d+(\.\d+)? (s|seconds)\b", "<duration>"),
    (r"localhost:\d+", "localhost:<port>"),
)


@dataclass(frozen=True)
class Block:
    """A block of code in a document."""

    document: str
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.document}:{self.line}"

    def steps(self) -> Iterator[tuple[str, str]]:
        """Each command with the output that follows; without prompts, the whole text is one."""
        if not self.text.startswith(_PROMPT):
            yield self.text, ""
            return
        for part in re.split(r"(?m)^\$ ", self.text)[1:]:
            command, output = _split_command(part)
            yield command, output


def _split_command(text: str) -> tuple[str, str]:
    """The command goes on while a line ends with a backslash or a quotation is open."""
    lines = text.splitlines()
    end = 1
    while end < len(lines) and (
        lines[end - 1].endswith("\\") or "\n".join(lines[:end]).count("'") % 2
    ):
        end += 1
    return "\n".join(lines[:end]), "\n".join(lines[end:]).strip()


def read_blocks(document: str) -> list[Block]:
    text = (ROOT / document).read_text(encoding="utf-8")
    return [
        Block(
            document,
            token.map[0] + 1,
            token.info or ("yaml" if token.content.startswith("apiVersion:") else ""),
            token.content.rstrip("\n"),
        )
        for token in MarkdownIt().parse(text)
        if token.type in ("fence", "code_block") and token.map
    ]


def matches(documented: str, actual: str) -> bool:
    """Whether an output is the documented one.

    White space counts nowhere, `…` stands for any text, and what differs each time is left out.
    """
    expected = [re.escape(part) for part in _normalize(documented).split("…")]
    return re.fullmatch(".*?".join(expected), _normalize(actual), re.DOTALL) is not None


def _normalize(text: str) -> str:
    for pattern, name in _VOLATILE:
        text = re.sub(pattern, name, text)
    return re.sub(r"\s+", "", text)
