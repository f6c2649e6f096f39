"""Write the colors, fonts and icons that the pages ship, from pinned npm packages.

    python tools/design.py

needs npm. Writes static/css/colors.css and static/css/dark.css (the scales of Radix Colors),
static/icons.svg (those icons of Lucide that the pages use) and the fonts in static/vendor, each
with its licence.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
STATIC = ROOT / "static"

PACKAGES = {
    "@radix-ui/colors": "3.0.0",
    "lucide-static": "1.62.0",
    "@fontsource-variable/inter": "5.3.0",
    "@fontsource/ibm-plex-mono": "5.3.0",
}
#: package -> its folder in static/vendor, and the file that is shipped
FONTS = {
    "@fontsource-variable/inter": ("inter", "inter-latin-wght-normal.woff2"),
    "@fontsource/ibm-plex-mono": ("ibm-plex-mono", "ibm-plex-mono-latin-400-normal.woff2"),
}
#: The characters that these two files have.
LATIN = (
    "U+0000-00FF, U+0131, U+0152-0153, U+02BB-02BC, U+02C6, U+02DA, U+02DC, U+0304, U+0308,\n    "
    "U+0329, U+2000-206F, U+20AC, U+2122, U+2191, U+2193, U+2212, U+2215, U+FEFF, U+FFFD"
)
NEUTRAL = "slate"
HUES = ("indigo", "blue", "teal", "amber", "orange", "tomato", "violet", "crimson")
#: The least contrast of text, as in WCAG 2.2, 1.4.3.
CONTRAST = 4.5
#: Icons of Lucide that templates and the tables of states and of the navigation name.
ICONS = (
    "activity",
    "ban",
    "bell",
    "book-open",
    "box",
    "boxes",
    "chart-line",
    "check",
    "circle-question-mark",
    "clock",
    "copy",
    "download",
    "file-text",
    "flask-conical",
    "git-fork",
    "history",
    "layout-dashboard",
    "lightbulb",
    "list-ordered",
    "lock",
    "pause",
    "pencil",
    "play",
    "plus",
    "printer",
    "rewind",
    "scale",
    "search",
    "server",
    "share-2",
    "sliders-horizontal",
    "trash-2",
    "triangle-alert",
    "upload",
    "users",
    "x",
)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wanted = [f"{package}@{version}" for package, version in PACKAGES.items()]
        command = [
            "npm",
            "install",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--prefix",
            name,
        ]
        subprocess.run([*command, *wanted], check=True, stdout=subprocess.DEVNULL)
        packages = folder / "node_modules"
        for package, (place, file) in FONTS.items():
            _copy(packages / package / "files" / file, STATIC / "vendor" / place)
            _copy(packages / package / "LICENSE", STATIC / "vendor" / place)
        _copy(packages / "@radix-ui/colors" / "LICENSE", STATIC / "vendor" / "radix-colors")
        _copy(packages / "lucide-static" / "LICENSE", STATIC / "vendor" / "lucide")
        light = read_scales(packages / "@radix-ui/colors", "")
        dark = read_scales(packages / "@radix-ui/colors", "-dark")
        (STATIC / "css" / "colors.css").write_text(
            "/* Written by tools/design.py: two fonts, and the light scales of Radix Colors. */\n\n"
            + _font_face("Inter", "100 900", *FONTS["@fontsource-variable/inter"])
            + _font_face("IBM Plex Mono", "400", *FONTS["@fontsource/ibm-plex-mono"])
            + _root("light", light, paper=light["slate-2"], panel="#ffffff")
        )
        (STATIC / "css" / "dark.css").write_text(
            "/* Written by tools/design.py: the dark scales of Radix Colors. Pages include them\n"
            "   for a dark system, or always or never if the user has chosen a theme. */\n\n"
            + _root("dark", dark, paper=dark["slate-1"], panel=dark["slate-2"])
        )
        (STATIC / "icons.svg").write_text(sprite(packages / "lucide-static" / "icons"))


def read_scales(package: Path, suffix: str) -> dict[str, str]:
    """`hue-step` -> color, and `hue-text`, the color of words in this hue.

    Step 11 is made for text on steps 1 and 2 of its scale. Here words are on grey rows and on
    tints, too: `hue-text` is step 11 with the least share of step 12 that is readable there.
    """
    scales: dict[str, str] = {}
    for hue in (NEUTRAL, *HUES):
        plain = (package / f"{hue}{suffix}.css").read_text().split("@supports")[0]
        scales |= re.findall(rf"--({hue}-\d+): (#\w{{6}});", plain)
    for hue in HUES:
        grounds = [scales[f"{NEUTRAL}-4"], scales[f"{hue}-3"], scales["amber-3"]]
        for share in range(0, 101, 5):
            color = _mix(scales[f"{hue}-12"], scales[f"{hue}-11"], share / 100)
            if all(contrast(color, ground) >= CONTRAST for ground in grounds):
                scales[f"{hue}-text"] = color
                break
    return scales


def sprite(icons: Path) -> str:
    """The icons as symbols of one file."""
    return (
        '<svg xmlns="http://www.w3.org/2000/svg">\n'
        "<!-- Icons of Lucide, with the licence in vendor/lucide. Written by tools/design.py. -->\n"
        + "".join(_symbol(name, (icons / f"{name}.svg").read_text()) for name in ICONS)
        + "</svg>\n"
    )


def contrast(first: str, second: str) -> float:
    """The ratio of two colors' luminance, as WCAG defines it."""
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


def _luminance(color: str) -> float:
    parts = [value / 255 for value in bytes.fromhex(color[1:])]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _mix(first: str, second: str, share: float) -> str:
    pairs = zip(bytes.fromhex(first[1:]), bytes.fromhex(second[1:]), strict=True)
    return "#" + bytes(round(a * share + b * (1 - share)) for a, b in pairs).hex()


def _symbol(name: str, text: str) -> str:
    inner = text[text.index(">", text.index("<svg")) + 1 : text.index("</svg>")]
    paths = "".join(map(str.strip, inner.splitlines()))
    return f'<symbol id="{name}" viewBox="0 0 24 24">{paths}</symbol>\n'


def _font_face(family: str, weight: str, place: str, file: str) -> str:
    return (
        "@font-face {\n"
        f'  font-family: "{family}";\n'
        f"  font-weight: {weight};\n"
        "  font-display: swap;\n"
        f'  src: url("../vendor/{place}/{file}") format("woff2");\n'
        f"  unicode-range: {LATIN};\n"
        "}\n\n"
    )


def _root(scheme: str, scales: dict[str, str], **more: str) -> str:
    lines = [f"  --{name}: {color};\n" for name, color in {**scales, **more}.items()]
    return f":root {{\n  color-scheme: {scheme};\n{''.join(lines)}}}\n"


def _copy(file: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, folder / file.name)


if __name__ == "__main__":
    main()
