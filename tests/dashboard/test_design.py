"""The face of the pages: what is shipped is complete, readable and all used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.test import Client

from apps.dashboard import navigation
from apps.dashboard.templatetags.dashboard import STATES
from tools.design import CONTRAST, FONTS, HUES, ICONS, NEUTRAL, contrast

ROOT = Path(__file__).parents[2]
CSS = ROOT / "static" / "css"


def test_the_sprite_has_exactly_the_icons_that_pages_use() -> None:
    shipped = set(re.findall(r'<symbol id="([^"]+)"', (ROOT / "static" / "icons.svg").read_text()))
    used = {icon for icon, _, _ in STATES.values()}
    for groups in (navigation.GROUPS, navigation.OPINIONS, navigation.PAST_GROUPS):
        used |= {section.icon for _, sections in groups for section in sections}
    for path in [*(ROOT / "templates").rglob("*.html"), *(ROOT / "static" / "js").glob("*.js")]:
        used |= set(re.findall(r'(?:{% icon "|icons\.svg#)([\w-]+)', path.read_text()))
    assert used == shipped == set(ICONS)


@pytest.mark.parametrize("scheme", ["colors", "dark"])
def test_words_are_readable_on_every_ground_that_pages_have(scheme: str) -> None:
    colors = dict(re.findall(r"--([\w-]+): (#\w{6});", (CSS / f"{scheme}.css").read_text()))
    plain = ["panel", "paper", f"{NEUTRAL}-3", f"{NEUTRAL}-4", "amber-3"]
    words = {f"{NEUTRAL}-11": plain, f"{NEUTRAL}-12": plain}
    words |= {f"{hue}-text": [*plain, f"{hue}-3"] for hue in HUES}
    pale = [
        (word, ground)
        for word, grounds in words.items()
        for ground in grounds
        if contrast(colors[word], colors[ground]) < CONTRAST
    ]
    assert pale == []


def test_every_color_that_a_style_names_is_in_both_schemes() -> None:
    named = set()
    for path in CSS.glob("*.css"):
        named |= set(re.findall(r"var\(--((?:[a-z]+)-(?:\d+|text))\)", path.read_text()))
    scales = {name for name in named if name.rsplit("-", 1)[0] in (NEUTRAL, *HUES)}
    for scheme in ("colors", "dark"):
        there = set(re.findall(r"--([\w-]+): #", (CSS / f"{scheme}.css").read_text()))
        assert scales <= there, scheme


def test_fonts_are_shipped_with_their_licences() -> None:
    styles = (CSS / "colors.css").read_text()
    listed = (ROOT / "docs" / "licenses.md").read_text()
    for package, (folder, file) in FONTS.items():
        place = ROOT / "static" / "vendor" / folder
        assert (place / file).stat().st_size < 50_000
        assert "SIL" in (place / "LICENSE").read_text()
        assert f"../vendor/{folder}/{file}" in styles
        assert package in listed


@pytest.mark.django_db
def test_the_account_menu_makes_pages_denser(alice: Client) -> None:
    assert 'data-density="comfortable"' in alice.get("/").content.decode()
    answer = alice.post("/account/theme", {"density": "compact", "next": "/operations"})
    assert answer.headers["Location"] == "/operations"
    assert 'data-density="compact"' in alice.get("/operations").content.decode()
    alice.post("/account/theme", {"density": "tiny"})
    assert 'data-density="compact"' in alice.get("/").content.decode()
