"""What a user prefers in a browser: theme, time zone, full times and shortcuts, in cookies."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from apps.dashboard.zones import chosen_zone

THEME_COOKIE = "schedweb-theme"
#: Theme -> for which systems the dark scheme is used, as a media query.
THEMES = {"auto": "(prefers-color-scheme: dark)", "light": "not all", "dark": "all"}
#: Off: keys of one character do nothing, as speech input and tremors may press them.
KEYS_COOKIE = "schedweb-keys"
KEYS = ("on", "off")
#: Full: date, time and zone are written out, which pages otherwise show under the pointer alone.
TIMES_COOKIE = "schedweb-times"
TIMES = ("short", "full")
#: Compact: smaller text and rows, for more of them on a screen.
DENSITY_COOKIE = "schedweb-density"
DENSITIES = ("comfortable", "compact")
_YEAR_SECONDS = 31_536_000


def preferences(request: HttpRequest) -> dict[str, str]:
    """Context processor: `theme`, `dark_media`, `zone` ("" if none was chosen), `keys`, …."""
    theme = request.COOKIES.get(THEME_COOKIE, "")
    theme = theme if theme in THEMES else "auto"
    zone = chosen_zone(request)
    keys = request.COOKIES.get(KEYS_COOKIE, "")
    density = request.COOKIES.get(DENSITY_COOKIE, "")
    return {
        "theme": theme,
        "dark_media": THEMES[theme],
        "density": density if density in DENSITIES else DENSITIES[0],
        "zone": zone.key if zone else "",
        "keys": keys if keys in KEYS else "on",
        "times": "full" if wants_full_times(request) else "short",
    }


def wants_full_times(request: HttpRequest) -> bool:
    """Whether times are written out in this browser."""
    return request.COOKIES.get(TIMES_COOKIE, "") == "full"


def set_preference(request: HttpRequest, response: HttpResponse, cookie: str, value: str) -> None:
    """Keep a preference for a year; an empty one is deleted."""
    if not value:
        response.delete_cookie(cookie)
        return
    secure = request.is_secure()
    response.set_cookie(cookie, value, max_age=_YEAR_SECONDS, secure=secure, samesite="Lax")
