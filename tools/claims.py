"""Draws claims from the documents, to be tried: `python tools/claims.py --seed 7 [--number 60]`.

A claim is a sentence of a paragraph or of a list, or a row of a table. Records of decisions and of
measurements (docs/adr, docs/performance.md) are left out.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[1]
SHORTEST = 30


def claims_of(path: Path) -> Iterator[str]:
    tokens = MarkdownIt("commonmark").enable("table").parse(path.read_text(encoding="utf-8"))
    row: list[str] = []
    in_heading = False
    for token in tokens:
        match token.type:
            case "heading_open" | "thead_open":
                in_heading = True
            case "heading_close" | "thead_close":
                in_heading = False
            case "tr_open":
                row = []
            case "tr_close":
                if not in_heading:
                    yield " | ".join(row)
            case "inline" if not in_heading:
                if token.level and tokens and _in_table(token):
                    row.append(token.content)
                else:
                    yield from re.split(r"(?<=[.:])\s+(?=[A-Z`*])", " ".join(token.content.split()))


def _in_table(token: object) -> bool:
    return getattr(token, "level", 0) >= 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--number", type=int, default=60)
    options = parser.parse_args()
    paths = [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("clients/*/README.md"),
        *ROOT.glob("kits/**/*.md"),
    ]
    candidates = [
        (path.relative_to(ROOT).as_posix(), claim)
        for path in sorted(paths)
        if "docs/adr" not in path.as_posix() and path.name not in ("performance.md", "CHANGELOG.md")
        for claim in claims_of(path)
        if len(claim) >= SHORTEST
    ]
    drawn = random.Random(options.seed).sample(candidates, options.number)
    for number, (document, claim) in enumerate(sorted(drawn), 1):
        print(f"{number}. {document}: {claim}")


if __name__ == "__main__":
    main()
