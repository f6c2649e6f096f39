"""Every page, at both widths, light and dark: it fits, logs no errors, and is accessible.

With SCREENSHOTS (a folder) the pages are drawn there as well: `make screenshots`.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.template.loader import get_template
from playwright.sync_api import Browser, Page, Route

from tests.browser import pages
from tests.browser.accessibility import Looks, Scheme, find_violations
from tests.browser.conftest import Seen, watch_page
from tests.browser.furnishing import furnish

pytestmark = pytest.mark.browser

Found = defaultdict[str, list[str]]

#: The pages are dealt out to so many tests, which run side by side.
PARTS = 2
PICTURES = os.environ.get("SCREENSHOTS", "")
#: Light and dark, narrow and wide are checked, the one with the other; there are screenshots of
#: all four.
NARROW = 390
CHECKED: list[tuple[int, Scheme]] = [(1280, "light"), (NARROW, "dark")]
UNCHECKED: list[tuple[int, Scheme]] = [(1280, "dark"), (NARROW, "light")]
#: The names of elements that end beyond the panel that they are in, unless a parent scrolls.
BEYOND_PANEL = """() => [...document.querySelectorAll(".panel")].flatMap(panel => {
  const edge = panel.getBoundingClientRect().right + 1
  const hides = element => getComputedStyle(element).overflowX !== "visible"
  const scrolls = element => element !== panel && (hides(element) || scrolls(element.parentElement))
  return [...panel.querySelectorAll("*")]
    .filter(each => each.getBoundingClientRect().right > edge && !scrolls(each.parentElement))
    .map(each => `${each.tagName.toLowerCase()}.${each.className} is wider than its panel`)
    .slice(0, 1)
})"""
#: Sentences of a table that end beyond a narrow window: they cannot be read in one piece.
CUT_SENTENCES = """() => [...document.querySelectorAll("main td:is(.why, .message)")]
  .filter(cell => cell.checkVisibility() && cell.textContent.trim())
  .filter(cell => cell.getBoundingClientRect().right > innerWidth + 1)
  .map(cell => `beyond the window: ${cell.textContent.trim().slice(0, 40)}`).slice(0, 1)"""
#: Tables without a name in the list of a screen reader, or without headings for their cells.
UNNAMED_TABLES = """() => [...document.querySelectorAll("main table")]
  .filter(table => table.checkVisibility())
  .filter(table => !(table.caption || table.ariaLabel) || !table.querySelector("th"))
  .map(table => `no caption or no headings: ${table.textContent.trim().slice(0, 40)}`)"""
#: Until the charts, which follow the size of their boxes, are drawn again.
TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
#: The message of Chromium for every response with an error status.
NO_SUCCESS = "the server responded with a status of"
#: pages for errors of the site -> their template
TROUBLE = {"database-away": "503.html", "broken": "500.html", "forged": "403_csrf.html"}


def test_every_route_is_checked_or_declared_not_to_be_a_page() -> None:
    looked_at, there_are = pages.list_checked_routes(), pages.list_routes()
    assert there_are - looked_at == pages.NOT_PAGES.keys()
    assert looked_at <= there_are


@pytest.mark.parametrize("part", range(PARTS))
def test_every_page_fits_its_window_and_is_accessible(
    seen: Seen, chromium: Browser, part: int
) -> None:
    places = furnish()
    wrong: Found = defaultdict(list)
    looks: Looks = []
    with _window(seen, chromium) as window:

        def look(name: str) -> None:
            for width, scheme in CHECKED + (UNCHECKED if PICTURES else []):
                _turn(window.page, width, scheme)
                found = _find_overflow(window.page) + find_violations(window.page, scheme, looks)
                found += window.page.evaluate(CUT_SENTENCES) if width == NARROW else []
                wrong[name] += [f"{width} {scheme}: {each}" for each in found]
                if PICTURES:
                    _take_screenshot(window.page, f"{name}-{width}-{scheme}.png")
            wrong[name] += window.page.evaluate(UNNAMED_TABLES)
            wrong[name] += [said for said in window.problems if NO_SUCCESS not in said]
            window.problems.clear()
            _turn(window.page, *CHECKED[0])

        _log_in(window, look)
        _visit(window, look, places, wrong, part)
        if part == 0:
            _submit_invalid_forms(window, look)
            _open_error_pages(window, look)
    told = "\n".join(f"{name}: {what}" for name, found in wrong.items() for what in found)
    assert not told, told


@pytest.mark.parametrize(
    "change", ["className = 'pale'", "style.color = '#bbb'", "parentElement.style.opacity = 0.3"]
)
def test_a_pale_text_among_many_that_look_alike_is_noticed(chromium: Browser, change: str) -> None:
    page = chromium.new_page()
    row = "<tr><td class='name'>node</td><td>12 <b>GiB</b></td></tr>"
    page.set_content(
        "<html lang=en><title>t</title><style>.pale { color: #bbb }</style>"
        f"<main><h1>Nodes</h1><table>{row * 12}</table></main></html>"
    )
    assert find_violations(page, "dark") == []
    assert page.locator("[data-alike]").count() == 3 * 9
    page.evaluate(f"document.querySelectorAll('td')[20].{change}")
    (found,) = find_violations(page, "dark")
    assert found.startswith("color-contrast")
    page.close()


def test_a_pale_text_on_a_page_that_looks_like_the_one_before_is_noticed(
    chromium: Browser,
) -> None:
    page = chromium.new_page()
    text = "<html lang=en><title>t</title><main><h1>Nodes</h1>{}</main></html>"
    looks: Looks = []
    page.set_content(text.format("<p>node</p>" * 4))
    assert find_violations(page, "dark", looks) == []
    assert page.locator("[data-alike]").count() == 1
    page.set_content(text.format("<p>pod</p>" * 4))
    assert find_violations(page, "dark", looks) == []
    assert page.locator("[data-alike]").count() == 4
    page.set_content(text.format("<p>pod</p>" * 4 + "<p style='color: #bbb'>gone</p>"))
    (found,) = find_violations(page, "dark", looks)
    assert found.startswith("color-contrast")
    page.close()


def _turn(page: Page, width: int, scheme: Scheme) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.evaluate(TWO_FRAMES)


def _log_in(window: Seen, look: Callable[[str], None]) -> None:
    window.open("/login")
    look("login")
    window.log_in("admin", "open barley")
    look("refused-login")
    window.log_in("admin", "open sesame")
    window.page.wait_for_url(f"{window.address}/")


def _visit(
    window: Seen, look: Callable[[str], None], places: Mapping[str, Any], wrong: Found, part: int
) -> None:
    for name, path in list((pages.PAGES | pages.MISTAKEN).items())[part::PARTS]:
        status = window.open(path.format_map(places))
        if (status >= 400) != (name in pages.MISTAKEN or name in pages.GONE):
            wrong[name].append(f"status {status}")
        look(name)


def _submit_invalid_forms(window: Seen, look: Callable[[str], None]) -> None:
    for name, form in pages.REFUSED.items():
        window.open(form.path)
        for label, text in form.entered.items():
            window.page.get_by_label(_label(label)).fill(text)
        with window.page.expect_navigation():
            window.page.get_by_role("button", name=form.button, exact=True).click()
        assert window.page.locator(".problem, .notice.error").count(), f"{name}: nothing is said"
        look(name)


def _open_error_pages(window: Seen, look: Callable[[str], None]) -> None:
    """Error pages do not depend on parts of the site that may fail."""
    for name, template in TROUBLE.items():
        window.page.route("**/trouble", _answer_with(get_template(template).render()))
        window.open("/trouble")
        window.page.unroute("**/trouble")
        look(name)


def _answer_with(body: str) -> Callable[[Route], None]:
    return lambda route: route.fulfill(status=500, content_type="text/html", body=body)


def _label(words: str) -> re.Pattern[str]:
    return re.compile(rf"^{re.escape(words)}(\s+optional)?$")


@contextmanager
def _window(seen: Seen, chromium: Browser) -> Iterator[Seen]:
    context = chromium.new_context(reduced_motion="reduce")
    yield watch_page(context, seen.address)
    context.close()


def _find_overflow(page: Page) -> list[str]:
    root = "document.documentElement"
    beyond = page.evaluate(f"{root}.scrollWidth - {root}.clientWidth")
    found = [f"{beyond} px wider than the window"] if beyond > 0 else []
    return found + page.evaluate(BEYOND_PANEL)


def _take_screenshot(page: Page, name: str) -> None:
    page.wait_for_timeout(200)
    folder = Path(PICTURES)
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / name, full_page=True)
