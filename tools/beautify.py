"""Format the site's own scripts and style sheets.

    .venv/bin/python tools/beautify.py [--check]

With --check nothing is written: files that are not formatted are named, and the exit code is 1.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cssbeautifier
import jsbeautifier

STATIC = Path(__file__).parents[1] / "static"
SHARED = {"indent_size": 2, "end_with_newline": True}
SCRIPTS = SHARED | {"brace_style": "collapse,preserve-inline", "templating": ["none"]}
STYLES = SHARED | {"newline_between_rules": False, "space_around_combinator": True}


def main(arguments: list[str]) -> int:
    check = arguments == ["--check"]
    unformatted = [(path, text) for path, text in formatted_files() if text != path.read_text()]
    for path, text in unformatted:
        print(f"{'would format' if check else 'formatted'} {path.relative_to(STATIC.parent)}")
        if not check:
            path.write_text(text)
    return 1 if check and unformatted else 0


def formatted_files() -> Iterator[tuple[Path, str]]:
    """Each file of our own with the text that it should have."""
    for path in sorted(STATIC.glob("js/*.js")):
        yield path, jsbeautifier.beautify(path.read_text(), options(jsbeautifier, SCRIPTS))
    for path in sorted(STATIC.glob("css/*.css")):
        yield path, cssbeautifier.beautify(path.read_text(), options(cssbeautifier, STYLES))


def options(beautifier: Any, settings: dict[str, Any]) -> Any:
    """The beautifier's options, with these settings instead of its own."""
    chosen = beautifier.default_options()
    for name, value in settings.items():
        setattr(chosen, name, value)
    return chosen


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
