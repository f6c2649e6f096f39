"""Every page, at both widths, light and dark: it fits, it is quiet, everybody can use it.

With SCREENSHOTS (a folder) the pages are drawn there as well: `make screenshots`.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.browser.conftest import Seen, watched
from tests.browser.pages import PAGES, furnish

pytestmark = pytest.mark.browser

Scheme = Literal["light", "dark"]

PICTURES = os.environ.get("SCREENSHOTS", "")
#: Light and dark are both checked, narrow and wide too; pictures are taken of all four.
CHECKED: list[tuple[int, Scheme]] = [(1280, "light"), (390, "dark")]
UNCHECKED: list[tuple[int, Scheme]] = [(1280, "dark"), (390, "light")]
SERIOUS = ("serious", "critical")
#: What the second look may find that the first did not: it has the same elements in other colours.
OF_COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}


@pytest.fixture
def places(seen: Seen) -> Mapping[str, Any]:
    return furnish()


@pytest.mark.parametrize(("width", "scheme"), CHECKED + (UNCHECKED if PICTURES else []))
def test_every_page_fits_its_window_and_is_accessible(
    seen: Seen, chromium: Browser, places: Mapping[str, Any], width: int, scheme: Scheme
) -> None:
    wrong: defaultdict[str, list[str]] = defaultdict(list)
    for window in _window(seen, chromium, width, scheme):
        window.log_in("admin", "open sesame")
        for name, path in PAGES.items():
            window.open(path.format_map(places))
            wrong[name] += _too_wide(window.page) + _violations(window.page, scheme)
            wrong[name] += [said for said in window.problems if "404" not in said]
            window.problems.clear()
            if PICTURES:
                _draw(window.page, f"{name}-{width}-{scheme}.png")
    assert {name: found for name, found in wrong.items() if found} == {}


def _window(seen: Seen, chromium: Browser, width: int, scheme: Scheme) -> Iterator[Seen]:
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    yield watched(context, seen.address)
    context.close()


def _too_wide(page: Page) -> list[str]:
    root = "document.documentElement"
    beyond = page.evaluate(f"{root}.scrollWidth - {root}.clientWidth")
    return [f"{beyond} px wider than the window"] if beyond > 0 else []


def _violations(page: Page, scheme: Scheme) -> list[str]:
    """What axe-core calls serious, with the first element that has it."""
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if scheme == "dark":
        options["runOnly"] = OF_COLOURS
    found = Axe().run(page, options=options).response["violations"]
    return [
        f"{each['id']}: {each['help']}: {each['nodes'][0]['html'][:200]} "
        f"({len(each['nodes'])}; {each['nodes'][0]['failureSummary'][:300]})"
        for each in found
        if each["impact"] in SERIOUS
    ]


def _draw(page: Page, name: str) -> None:
    page.wait_for_timeout(300)
    folder = Path(PICTURES)
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / name, full_page=True)
