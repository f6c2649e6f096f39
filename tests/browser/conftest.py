"""The site on a port of its own, and a Chromium."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.wsgi import get_wsgi_application
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from schedweb import tls
from schedweb.front.listening import listen
from schedweb.front.server import Site
from schedweb.front.streams import Front
from schedweb.front.threads import WsgiInThreads

#: The first one draws the same pages without the windows of a browser, in less time.
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
MISSING = "chromium is missing (as root: apt-get install chromium-headless-shell)"


@dataclass(slots=True)
class Seen:
    """A page, and the errors in it."""

    page: Page
    address: str
    problems: list[str] = field(default_factory=list)

    def open(self, path: str) -> int:
        """Open a path; returns the status code."""
        answer = self.page.goto(f"{self.address}{path}")
        return answer.status if answer else 0

    def log_in(self, name: str, password: str) -> None:
        self.open("/login")
        self.page.get_by_label("Name").fill(name)
        self.page.get_by_label("Password").fill(password)
        self.page.get_by_role("button", name="Sign in").click()


def installed() -> str | None:
    """The path of an installed Chromium, or None."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if installed() is None:
        terminalreporter.write_sep("!", f"NO BROWSER TEST RAN: {MISSING}", red=True, bold=True)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    program = installed()
    if program is None:
        pytest.skip(MISSING)
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # Playwright's event loop runs in this thread; the tests use Django outside of it.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        yield playwright.chromium.launch(executable_path=program, args=ARGUMENTS)


@pytest.fixture
def site(transactional_db: None, tmp_path: Path) -> Iterator[str]:
    """Run the web front on the database of the test; yields its address."""
    sockets = [listen("127.0.0.1", 0), listen("127.0.0.1", 0)]
    threads = WsgiInThreads(get_wsgi_application(), threads=4)
    running = Site(
        Front(threads),
        plain=sockets[0],
        secure=sockets[1],
        data=tmp_path,
        names=tls.server_names(),
    )
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_until_complete, args=(running.run(),))
    thread.start()
    yield f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
    loop.call_soon_threadsafe(running.end)
    thread.join(20)
    assert not thread.is_alive()
    loop.close()
    threads.close()


@pytest.fixture
def seen(chromium: Browser, site: str) -> Iterator[Seen]:
    """A new window without a session, which records errors."""
    User.objects.create_superuser("admin", password="open sesame")
    window = chromium.new_context(viewport={"width": 1280, "height": 900})
    yield watch_page(window, site)
    window.close()


def watch_page(window: BrowserContext, site: str) -> Seen:
    """A page in this window, and the errors in it."""
    # the tour of a first visit has a story of its own
    window.add_init_script("localStorage.setItem('schedweb-tour', 'seen')")
    page = window.new_page()
    seen = Seen(page, site)
    page.set_default_timeout(30_000)
    page.on("console", lambda said: _record_console(seen, said.type, said.text))
    page.on("pageerror", lambda error: seen.problems.append(str(error)))
    page.on("request", lambda request: _record_request(seen, request.url))
    return seen


#: htmx reports requests that end because the page is left; the browser reports those that fail.
_OF_LEAVING = ("htmx:afterRequest", "htmx:sendError")


def _record_console(seen: Seen, kind: str, text: str) -> None:
    if kind in ("error", "warning") and not text.startswith(_OF_LEAVING):
        seen.problems.append(text)


def _record_request(seen: Seen, address: str) -> None:
    if not address.startswith((f"{seen.address}/", "data:")):
        seen.problems.append(f"a request left the machine: {address}")
