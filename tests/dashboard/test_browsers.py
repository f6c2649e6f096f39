"""Names of browsers and programs in the list of sessions."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from apps.dashboard import browsers

_WEBKIT = "AppleWebKit/537.36 (KHTML, like"
_IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15"
_LINUX_CHROME = f"Mozilla/5.0 (X11; Linux x86_64) {_WEBKIT} Chrome/150.0.0.0 Safari/537.36"
_WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64)"


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (_LINUX_CHROME, "Chrome 150 on Linux"),
        (_LINUX_CHROME.replace("Chrome", "HeadlessChrome"), "Headless Chrome 150 on Linux"),
        (
            f"{_WINDOWS} {_WEBKIT} Chrome/150.0.0.0 Safari/537.36 Edg/150.0.1.2",
            "Edge 150 on Windows",
        ),
        (
            f"{_WINDOWS} {_WEBKIT} Chrome/149.0.0.0 Safari/537.36 OPR/118.0.0.0",
            "Opera 118 on Windows",
        ),
        (
            f"Mozilla/5.0 (Linux; Android 15; K) {_WEBKIT} Chrome/150.0.0.0 Mobile Safari/537.36",
            "Chrome 150 on Android",
        ),
        (
            f"Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) {_WEBKIT} Chrome/150.0.0.0 Safari/537.36",
            "Chrome 150 on ChromeOS",
        ),
        (
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            "Firefox 140 on Linux",
        ),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like"
            " Gecko) Version/18.1 Safari/605.1.15",
            "Safari 18 on macOS",
        ),
        (f"{_IPHONE} Version/18.1 Mobile/15E148 Safari/604.1", "Safari 18 on iPhone"),
        (f"{_IPHONE} CriOS/150.0.1 Mobile/15E148 Safari/604.1", "Chrome 150 on iPhone"),
        ("curl/8.14.1", "curl 8.14.1"),
        ("python-requests/2.32.4", "python-requests 2.32.4"),
        (
            "kubectl/v1.36.0 (linux/amd64) kubernetes/abc",
            "kubectl/v1.36.0 (linux/amd64) kubernetes/abc",
        ),
        ("Mozilla/5.0 (compatible)", "Mozilla/5.0 (compatible)"),
        ("<b>odd</b>", "<b>odd</b>"),
        ("", "unknown"),
    ],
)
def test_a_browser_and_its_system_are_named_in_words(agent: str, words: str) -> None:
    assert browsers.describe(agent) == words


@pytest.mark.django_db
def test_sessions_are_listed_by_browser() -> None:
    user = User.objects.create_user("alice", password="open sesame")
    browser = Client(headers={"user-agent": _LINUX_CHROME})
    browser.post("/login", {"username": user.username, "password": "open sesame"})
    page = browser.get("/account").content.decode()
    assert f'title="{_LINUX_CHROME}"' in page
    assert 'aria-label="Sign out Chrome 150 on Linux, 127.0.0.1"' in page
