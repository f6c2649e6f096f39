"""The scenarios of the library, for pages and tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from apps.studies.scenarios.language.reading import Source, read_scenario

LIBRARY: Final = Path(__file__).parent / "library"


@dataclass(frozen=True, slots=True)
class Example:
    """One scenario of the library."""

    #: "02-failing-zone"
    name: str
    description: str
    text: str

    @property
    def title(self) -> str:
        return self.name[3:].replace("-", " ")


@lru_cache(maxsize=1)
def list_examples() -> Mapping[str, Example]:
    """All of them by name, from simple to complex."""
    examples = {}
    for path in sorted(LIBRARY.glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        description = read_scenario(Source(text, path.name)).description
        examples[path.stem] = Example(path.stem, description, text)
    return examples


@lru_cache(maxsize=1)
def example_files() -> Mapping[str, bytes]:
    """The contents of the files that the scenarios of the library name."""
    paths = sorted((LIBRARY / "recordings").iterdir())
    return {f"recordings/{path.name}": path.read_bytes() for path in paths}
