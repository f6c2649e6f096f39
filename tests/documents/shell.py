"""A shell in which the commands of a document are typed, beside a running site."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

from tests.documents.blocks import ROOT

_END: Final = "<<<end of the command: "
_SECONDS: Final = 180
WARM: Final = str(ROOT / "tests/documents/warm.py")
#: What a reader has: kubectl for the cluster, `api`, and manage.py by its short name.
_PROFILE: Final = """\
manage.py() { "$PYTHON" -S -E "$WARM" "$MANAGE" "$@"; }
api() { curl -s -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" "$@"; }
export -f manage.py api
"""


class Shell:
    """bash in a folder with links to the files of the repository."""

    def __init__(self, folder: Path, environment: dict[str, str], ports: dict[str, str]) -> None:
        for path in ROOT.iterdir():
            if not path.name.startswith(".") and not (folder / path.name).exists():
                (folder / path.name).symlink_to(path)
        self._ports = ports
        self._bash = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env=environment
            | {"PYTHON": sys.executable, "WARM": str(ROOT / "tests/documents/warm.py")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.run(_PROFILE)

    def run(self, command: str) -> tuple[int, str]:
        """The exit code and the output, those of the last and of all commands."""
        for documented, actual in self._ports.items():
            command = command.replace(f"localhost:{documented}", f"localhost:{actual}")
        command = command.replace(".venv/bin/python manage.py", "manage.py")
        command = command.replace(".venv/bin/python", '"$PYTHON"')
        assert self._bash.stdin is not None and self._bash.stdout is not None
        timer = threading.Timer(_SECONDS, self._bash.kill)
        timer.start()
        try:
            self._bash.stdin.write(f"{{ {command}\n}} </dev/null\nprintf '\\n{_END}%s\\n' $?\n")
            self._bash.stdin.flush()
            lines: list[str] = []
            for line in self._bash.stdout:
                if line.startswith(_END):
                    return int(line.removeprefix(_END)), "".join(lines).strip()
                lines.append(line)
        finally:
            timer.cancel()
        raise AssertionError(f"the shell has ended in: {command}\n{''.join(lines)}")

    def close(self) -> None:
        assert self._bash.stdin is not None and self._bash.stdout is not None
        self._bash.stdin.close()
        self._bash.wait(timeout=10)
        self._bash.stdout.close()
