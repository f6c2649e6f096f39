"""Look up the packages of a lock file in a database of advisories.

    python tools/audit.py requirements.lock [--database all.zip]

The database is a service, PyPI or OSV, or with --database a file: the archive of all advisories
about PyPI that OSV publishes, which can be brought to a machine without a network.

Exits with 0 if no vulnerability is known, 1 if one is, and 2 if no database could answer for every
package. A database that knows nothing against an old release with many advisories, such as an
index that serves packages only, does not count as an answer.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.advisories import Database

SERVICES = ("pypi", "osv")
#: Has had many advisories for years.
KNOWN_TO_BE_VULNERABLE = "django==3.2.0\n"
NOT_AUDITED = "!!! NOT AUDITED: no database of advisories answered for every package !!!"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python tools/audit.py")
    parser.add_argument("lock")
    parser.add_argument("--database", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.database is not None:
        return look_into(options.database, Path(options.lock).read_text(encoding="utf-8"))
    return ask_services(options.lock)


def look_into(file: Path, lock: str) -> int:
    """Look the packages up in a file."""
    try:
        database = Database(file)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        print(NOT_AUDITED, f"{file}: {error}", sep="\n", file=sys.stderr)
        return 2
    if not database.look_up(KNOWN_TO_BE_VULNERABLE):
        reason = f"{file}: it knows no advisory for {KNOWN_TO_BE_VULNERABLE.strip()}"
        print(NOT_AUDITED, reason, sep="\n", file=sys.stderr)
        return 2
    return report(f"{file}, changed {database.changed[:10]}", database.look_up(lock))


def ask_services(lock: str) -> int:
    reasons = []
    for service in SERVICES:
        problem, vulnerable = ask(service, lock)
        if not problem:
            return report(service, vulnerable)
        reasons.append(f"{service}: {problem}")
    print(NOT_AUDITED, *reasons, sep="\n", file=sys.stderr)
    return 2


def ask(service: str, lock: str) -> tuple[str, list[Any]]:
    """Why the service cannot answer ("" if it can), and the packages with vulnerabilities."""
    with tempfile.TemporaryDirectory() as folder:
        known = Path(folder, "requirements.txt")
        known.write_text(KNOWN_TO_BE_VULNERABLE)
        advisories, error = look_up(service, str(known), "--no-deps")
    if advisories is None:
        return error, []
    if not advisories:
        return f"it knows no advisory for {KNOWN_TO_BE_VULNERABLE.strip()}", []
    advisories, error = look_up(service, lock, "--require-hashes")
    return (error, []) if advisories is None else ("", advisories)


def look_up(service: str, requirements: str, option: str) -> tuple[list[Any] | None, str]:
    """The packages with vulnerabilities; None, and the reason, if one could not be looked up."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip_audit", "--strict", "--disable-pip", option),
            *("--vulnerability-service", service, "--format", "json"),
            *("--progress-spinner", "off", "--requirement", requirements),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        return None, (done.stderr.strip().splitlines() or ["no answer"])[-1]
    skipped = [each["name"] for each in packages if "skip_reason" in each]
    if skipped or not packages:
        return None, f"it did not look up {', '.join(skipped) or 'anything'}"
    return [each for each in packages if each["vulns"]], ""


def report(service: str, vulnerable: list[Any]) -> int:
    for package in vulnerable:
        for each in package["vulns"]:
            fixed = ", ".join(each["fix_versions"]) or "no version"
            print(f"{package['name']} {package['version']}: {each['id']}, fixed in {fixed}")
    print(f"{service}: {len(vulnerable)} packages with known vulnerabilities")
    return 1 if vulnerable else 0


if __name__ == "__main__":
    sys.exit(main())
