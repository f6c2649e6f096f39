"""Every block of code in every document is run, and does what the document says.

`examples.yaml` says what a block needs, or which other test compares it. A block that neither this
test nor the file can place fails: so an example cannot be written that nothing tries.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from apps.scheduler.config import load
from apps.scheduler.framework.declaration import plugin_table
from apps.scheduler.framework.per_node import columnar
from apps.scheduler.plugins.registry import EXAMPLES as SHIPPED_EXAMPLES
from apps.scheduler.plugins.registry import PLUGINS
from tests.documents.blocks import DOCUMENTS, ROOT, Block, matches, read_blocks
from tests.documents.shell import Shell
from tests.example_plugins import Licences
from tests.stack.running_site import RunningSite

pytestmark = pytest.mark.stack

DJANGO: Final = {
    "DJANGO_SETTINGS_MODULE": "schedweb.settings",
    "SCHEDWEB_CONNECTION_POOL": "0",
}
HERE: Final = Path(__file__).parent
EXAMPLES: Final[Mapping[str, Mapping[str, Any]]] = yaml.safe_load(
    (HERE / "examples.yaml").read_text()
)
PROGRAMS: Final = ("bash", "curl", "jq", "kubectl")
TABLE: Final = plugin_table((*PLUGINS, *SHIPPED_EXAMPLES, columnar(Licences)))
#: So long the cluster has until a question has the documented answer.
SETTLING_SECONDS: Final = 20
_ASKS: Final = re.compile(r"api (?!.*( -d | -X ))")
BLOCKS: Final = {document: read_blocks(document) for document in DOCUMENTS}


def needs_of(block: Block) -> Mapping[str, Any]:
    """The entry of `examples.yaml` with which the block begins."""
    entries = EXAMPLES.get(block.document) or {}
    return next((need for start, need in entries.items() if block.text.startswith(start)), {})


@pytest.fixture(scope="module")
def site() -> Iterator[RunningSite]:
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        pytest.skip(f"NOT ON THE PATH: {', '.join(missing)}; THE DOCUMENTS WERE NOT TRIED")
    with tempfile.TemporaryDirectory(prefix="documents-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        running = RunningSite(Path(folder))
        running.start()
        yield running
        running.close()


@pytest.fixture(scope="module")
def warm_commands(site: RunningSite) -> Iterator[str]:
    """The socket of a process that runs commands of manage.py."""
    address = str(site.data / "manage.socket")
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.documents.warm", "serve", address],
        cwd=ROOT,
        env=site.environment
        | {"DJANGO_SETTINGS_MODULE": "schedweb.settings", "SCHEDWEB_CONNECTION_POOL": "0"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None and server.stdout.readline() == "ready\n"
    yield address
    server.terminate()
    server.wait(timeout=30)
    server.stdout.close()


@pytest.fixture
def shell(site: RunningSite, warm_commands: str, tmp_path: Path) -> Iterator[Shell]:
    environment = site.environment | {"MANAGE": warm_commands}
    ports = {"8000": str(site.port()), "8443": str(site.port("https"))}
    shell = Shell(tmp_path, dict(os.environ) | environment, ports)
    shell.run((HERE / "prepare.sh").read_text())
    shell.run("API=http://localhost:8000/api/v1")
    shell.run("TOKEN=$(manage.py token create --user admin --name documents-$$)")
    yield shell
    shell.close()


@pytest.mark.parametrize("document", [name for name, blocks in BLOCKS.items() if blocks])
def test_every_block_does_what_the_document_says(
    document: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    wrong = []
    for block in BLOCKS[document]:
        need = needs_of(block)
        if "elsewhere" in need:
            if not (ROOT / need["elsewhere"]).exists():
                wrong.append(f"{block.place}: {need['elsewhere']} is no file")
            continue
        if block.language == "python" and "python" not in need:
            compile(block.text, block.place, "exec")
        elif block.language == "yaml":
            check_yaml(block)
        if "file" in need:
            (tmp_path / need["file"]).write_text(block.text)
        elif block.language not in ("python", "yaml") or "python" in need:
            wrong += run_block(block, need, request.getfixturevalue("shell"), tmp_path)
    assert not wrong, "\n\n".join(wrong)


def check_yaml(block: Block) -> None:
    for manifest in yaml.safe_load_all(block.text):
        if not isinstance(manifest, dict):
            continue
        if "profiles" in manifest or manifest.get("kind") == "KubeSchedulerConfiguration":
            header = {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
            }
            load(header | manifest, TABLE)


def run_block(block: Block, need: Mapping[str, Any], shell: Shell, folder: Path) -> Iterator[str]:
    """What differs from the document."""
    if "before" in need:
        code, printed = shell.run(need["before"])
        assert code == 0, f"{block.place}: before: {printed}"
    if "shows" in need:
        _, printed = shell.run(need["shows"])
        for line in block.text.splitlines():
            if not matches(f"…{line}…", printed):
                yield f"{block.place}: {line}\nis not in\n{printed}"
        return
    if "python" in need:
        (folder / "example.py").write_text(need["python"] + block.text)
        code, printed = shell.run(
            "SCHEDWEB_URL=http://localhost:8000 SCHEDWEB_TOKEN=$TOKEN "
            'PYTHONPATH=clients/python "$PYTHON" example.py'
        )
        if code:
            yield f"{block.place}: {printed}"
        return
    steps = [(need["run"], "")] if "run" in need else block.steps()
    for command, output in steps:
        code, printed = shell.run(watch_briefly(command))
        deadline = time.monotonic() + SETTLING_SECONDS
        while _ASKS.match(command) and output and not matches(output, printed):
            if time.monotonic() > deadline:
                break
            code, printed = shell.run(command)
        if code not in (0, 124) or '"reason":"' in printed and '"reason"' not in output:
            yield f"{block.place}: {command}\nended with {code}:\n{printed}"
        elif output and not matches(output, printed):
            yield f"{block.place}: {command}\nprinted\n{printed}\nand not\n{output}"


def watch_briefly(command: str) -> str:
    return re.sub(r"(?m)^(kubectl .* -w)\b", r"timeout 5 \1", command)
