"""The list of all plugins against the documents about them."""

from __future__ import annotations

import re
from pathlib import Path

from apps.scheduler.config.types import EXTENSION_POINTS
from apps.scheduler.plugins.registry import PLUGINS, TABLE

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs" / "plugins"
ROW = re.compile(r"^\| \[(\w+)\]\(([\w-]+\.md)\) \| ([\w, ]+) \| (\d*) *\|", re.MULTILINE)


def test_every_name_is_taken_once() -> None:
    assert len(TABLE) == len(PLUGINS)


def test_the_documents_list_the_plugins_with_their_points_and_weights() -> None:
    documented = [
        (name, points.strip(), weight)
        for name, _, points, weight in ROW.findall((DOCS / "README.md").read_text())
    ]
    assert documented == [
        (
            plugin.name,
            ", ".join(point for point in EXTENSION_POINTS if point in plugin.extension_points),
            str(plugin.default_weight or 1) if "score" in plugin.extension_points else "",
        )
        for plugin in TABLE.values()
    ]


def test_every_plugin_has_a_document() -> None:
    for _, page, _, _ in ROW.findall((DOCS / "README.md").read_text()):
        assert (DOCS / page).is_file()


def test_every_plugin_has_a_test_file() -> None:
    files = {path.name for path in (ROOT / "tests" / "scheduler").rglob("test_*.py")}
    wanted = {f"test{re.sub('(?=[A-Z])', '_', name).lower()}.py" for name in TABLE}
    assert wanted <= files
