"""The program that a `User-Agent` header names, in words: `Chrome 150 on Linux`."""

from __future__ import annotations

import re
from typing import Final

#: (product, its name). Browsers also name those that they are compatible with, so the order counts:
#: Edge and Opera name Chrome, and Chrome names Safari.
_BROWSERS: Final = (
    ("Edg", "Edge"),
    ("EdgA", "Edge"),
    ("EdgiOS", "Edge"),
    ("OPR", "Opera"),
    ("Vivaldi", "Vivaldi"),
    ("SamsungBrowser", "Samsung Internet"),
    ("FxiOS", "Firefox"),
    ("Firefox", "Firefox"),
    ("CriOS", "Chrome"),
    ("HeadlessChrome", "Headless Chrome"),
    ("Chromium", "Chromium"),
    ("Chrome", "Chrome"),
)
#: (text, the system). Android also names Linux; iPhones and iPads name Mac OS X.
_SYSTEMS: Final = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)
_PRODUCT: Final = re.compile(r"(?<![\w.-])([\w.-]++)/(\d++)[\w.-]*+")
_PROGRAM: Final = re.compile(r"([\w.-]+)/(\d[\w.-]*)(?:\s.*)?")


def describe(agent: str) -> str:
    """The browser and its system, or the program; a text that is not recognized stays as it is."""
    versions = dict(_PRODUCT.findall(agent))
    system = next((name for text, name in _SYSTEMS if text in agent), "")
    for product, name in _BROWSERS:
        if product in versions:
            return _join(name, versions[product], system)
    if "Safari" in versions and "Version" in versions:
        return _join("Safari", versions["Version"], system)
    program = _PROGRAM.fullmatch(agent)
    if program and program[1] != "Mozilla":
        return f"{program[1]} {program[2]}"
    return agent or "unknown"


def _join(browser: str, version: str, system: str) -> str:
    return f"{browser} {version} on {system}" if system else f"{browser} {version}"
