"""Write the bill of materials (CycloneDX, JSON) of what is installed from a lock file.

    python tools/sbom.py var/sbom.json [--licenses docs/licenses.md]

Names, versions and hashes are those of requirements.lock, licences those that the installed
packages declare. With --licenses the list of licences is written as well.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"

_PINNED = re.compile(r"^([a-z0-9-]+)==(\S+)(.*?)(?=^[a-z0-9-]+==|\Z)", re.MULTILINE | re.DOTALL)
_SHA256 = re.compile(r"--hash=sha256:([0-9a-f]{64})")
#: Of packages that ship a licence, but do not declare it in their metadata.
_SHIPPED = {"protobuf": "BSD-3-Clause", "uritemplate": "BSD-3-Clause OR Apache-2.0"}
_INTRODUCTION = """# Licences of dependencies

Written by `make sbom` from what the packages of `requirements.lock` declare. schedweb itself is
licensed under the Apache License 2.0.

| package | version | licence |
|---|---|---|
"""
#: What pages ship in static/, each with its licence beside it.
_OF_PAGES = """
## Shipped with the pages

| npm package | licence |
|---|---|
| @fontsource-variable/inter, @fontsource/ibm-plex-mono (the fonts) | OFL-1.1 |
| @radix-ui/colors, uplot | MIT |
| htmx.org, htmx-ext-sse, idiomorph | 0BSD |
| lucide-static | ISC, and MIT for the icons that come from Feather |
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tools/sbom.py")
    parser.add_argument("file", type=Path)
    parser.add_argument("--licenses", type=Path)
    options = parser.parse_args()
    bill = build()
    options.file.parent.mkdir(parents=True, exist_ok=True)
    options.file.write_text(json.dumps(bill, indent=2, sort_keys=True) + "\n")
    if options.licenses:
        rows = "".join(map(_row, bill["components"]))
        options.licenses.write_text(_INTRODUCTION + rows + _OF_PAGES)
    unknown = [each["name"] for each in bill["components"] if not license_of(each)]
    if unknown:
        sys.exit(f"no licence is declared by {', '.join(unknown)}")
    return 0


def build() -> dict[str, Any]:
    """The bill of the installed packages that requirements.lock lists."""
    command = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible"]
    command += ["--pyproject", str(ROOT / "pyproject.toml"), "--of", "JSON", sys.executable]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    bill: dict[str, Any] = json.loads(result.stdout)
    locked = read_lock()
    bill["components"] = [
        each | {"hashes": [{"alg": "SHA-256", "content": one} for one in locked[name][1]]}
        for each in sorted(bill["components"], key=lambda each: normalize(each["name"]))
        if (name := normalize(each["name"])) in locked
    ]
    references = {each["bom-ref"] for each in bill["components"]}
    references.add(bill["metadata"]["component"]["bom-ref"])
    bill["dependencies"] = [
        each | {"dependsOn": [one for one in each.get("dependsOn", ()) if one in references]}
        for each in bill["dependencies"]
        if each["ref"] in references
    ]
    return bill


def read_lock() -> dict[str, tuple[str, list[str]]]:
    """Package -> version and SHA-256 of its files."""
    pins = _PINNED.findall(LOCK.read_text())
    return {normalize(name): (version, _SHA256.findall(rest)) for name, version, rest in pins}


def normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def license_of(component: dict[str, Any]) -> str:
    """The declared licence: an SPDX expression or name; "" if there is none."""
    names = []
    for choice in component.get("licenses", ()):
        entry = choice.get("license", {})
        names.append(choice.get("expression") or entry.get("id") or entry.get("name") or "")
    declared = [name.removeprefix("License :: OSI Approved :: ") for name in names if name]
    text = " / ".join(dict.fromkeys(" ".join(name.split())[:60] for name in declared))
    return text or _SHIPPED.get(normalize(component["name"]), "")


def _row(component: dict[str, Any]) -> str:
    text = license_of(component).replace("|", "or")
    return f"| {normalize(component['name'])} | {component['version']} | {text} |\n"


if __name__ == "__main__":
    sys.exit(main())
