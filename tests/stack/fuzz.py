"""Sends generated requests to a site of its own, from the OpenAPI documents of both APIs.

    make fuzz                      # FUZZ_SECONDS: for each document; 120 by default

`schemathesis`, which is not among the dependencies, must be on the PATH. Fails at an answer of 5xx,
at one of the Kubernetes API that does not have the documented form, and if the memory of the web
process has grown by more than 100 MB. An answer that takes FUZZ_SLOWEST seconds fails, too.

Objects are generated from a document that is cut off below a few levels: with all of a pod template
in each body, generating one request takes longer than sending hundreds. Lists are not watched: a
watch does not end, and its events are not the list of the document.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final
from urllib.request import Request, urlopen

from tests.stack.running_site import RunningSite

#: Operations that would end the run: they delete its token or never end. Schemathesis does not read
#: the YAML streams of imports and exports, nor bundles. What is proxied to a pod, or to a Service
#: without endpoints, is answered with 503.
_EXCLUDED: Final = (
    "token|password|stream|live|import|export|bundles|/watch/|(pods|services)/[^/]+/proxy"
)
#: By how much the memory of the web process may grow, in MB.
_GROWTH: Final = 100
#: How many references a generated object follows; below them anything is sent.
_LEVELS: Final = 3
_CHECKS: Final = ("not_a_server_error", "response_schema_conformance", "content_type_conformance")
_DOCUMENTS: Final = ("api/v1", "apis/apps/v1", "apis/autoscaling/v1", "apis/certificates.k8s.io/v1")


def main() -> int:
    program = shutil.which("schemathesis")
    if program is None:
        print("schemathesis is not on the PATH: pip install schemathesis", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="schedweb-fuzz-") as folder:
        Path(folder).chmod(0o755)
        site = RunningSite(Path(folder))
        site.start()
        try:
            before = _web_megabytes(site)
            failed = _fuzz(program, site, Path(folder))
            after = _web_megabytes(site)
            print(f"memory of the web process: {before:.0f} MB, then {after:.0f} MB")
            return failed or int(after > before + _GROWTH)
        finally:
            site.close()


def _web_megabytes(site: RunningSite) -> float:
    status = Path(f"/proc/{site.process(r'schedweb.front')}/status").read_text()
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


def _fuzz(program: str, site: RunningSite, folder: Path) -> int:
    kubeconfig = site.manage("kubeconfig", "demo", "--user", "admin")
    token = re.findall(r"token: (\S+)", kubeconfig)[0]
    slowest = os.environ.get("FUZZ_SLOWEST")
    base, failed = f"http://localhost:{site.port()}", 0
    for number, document in enumerate((*_DOCUMENTS, "")):
        # the control API last: its requests delete clusters
        root = f"{base}/k8s/demo" if document else base
        address = f"{root}/openapi/v3/{document}" if document else f"{base}/api/schema"
        accept = "application/json" if document else "application/vnd.oai.openapi+json"
        headers = {"Authorization": f"Bearer {token}", "Accept": accept}
        with urlopen(
            Request(address, headers=headers), context=ssl.create_default_context()
        ) as got:
            schema = folder / f"{number}.json"
            text = got.read()
        schema.write_bytes(_cut_document(text) if document else text)
        print(f"== {address}", flush=True)
        arguments = [
            *("run", str(schema), "--url", root, "--header", f"Authorization: Bearer {token}"),
            *("--checks", ",".join(_CHECKS if document else _CHECKS[:1])),
            *("--phases", "fuzzing", "--warnings", "off"),
            *("--max-time", os.environ.get("FUZZ_SECONDS", "120"), "--request-timeout", "30"),
            *(("--max-response-time", slowest) if slowest else ()),
            *("--suppress-health-check", "all", "--exclude-path-regex", _EXCLUDED),
        ]
        failed |= subprocess.run([program, *arguments], check=False, cwd=folder).returncode
    return failed


def _cut_document(text: bytes) -> bytes:
    document = json.loads(text)
    schemas = document.pop("components")["schemas"]
    document["paths"] = _cut(document["paths"], schemas, _LEVELS)
    for path in document["paths"].values():
        for operation in filter(None, map(path.get, ("get", "post", "put", "patch", "delete"))):
            given = operation.get("parameters", ())
            operation["parameters"] = [each for each in given if each["name"] != "watch"]
    return json.dumps(document).encode()


def _cut(value: Any, schemas: dict[str, Any], levels: int) -> Any:
    """A part of a document with its references replaced by what they mean."""
    if isinstance(value, list):
        return [_cut(each, schemas, levels) for each in value]
    if not isinstance(value, dict):
        return value
    if isinstance(target := value.get("$ref"), str):
        return _cut(schemas[target.rpartition("/")[2]], schemas, levels - 1) if levels else {}
    found = {name: _cut(each, schemas, levels) for name, each in value.items()}
    # a required list without an element is null, and so is a time, as the real API server writes it
    may_be_null = found.get("type") == "array" or found.get("format") == "date-time"
    return found | ({"nullable": True} if may_be_null else {})


if __name__ == "__main__":
    sys.exit(main())
