"""Compare published CustomResourceDefinitions, and samples of their objects, on both API servers.

    PUBLISHED=FOLDER python -m tools.truth.published [--mutations 4] [--seed 1] [--only PROJECT ...]

Each folder in FOLDER is a project: YAML files, in it and below, with its definitions and with
objects of their kinds, such as a checkout of its repository. Others among the documents are
ignored. Both servers get each definition, reads of it, the OpenAPI documents of its groups, a
creation of every sample, and all requests of `tools.truth.exchanges` about one sample of each kind.
Without the folder, or the real server, nothing is compared, and the output says so. Exchanges that
differ are written to var/truth/published.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import django
import yaml

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
django.setup()

# ruff: noqa: E402
from tests.api.replay import Replay
from tools.truth.comparing import compare, get
from tools.truth.requests import JSON, Requests, Step, reading
from tools.truth.servers import our_server, real_server
from tools.truth.table import OUTPUT, Row, heading, real_folder, skip

Body = dict[str, Any]

_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_LARGEST_FILE: Final = 4 * 1024 * 1024


def main() -> int:
    options = _parser().parse_args()
    scripts, folder = real_folder(), Path(os.environ.get("PUBLISHED", ""))
    if not (scripts / "start").exists():
        print(f"NOTHING WAS COMPARED: {scripts / 'start'} does not exist (set REAL_KUBERNETES)")
        return 0
    if not os.environ.get("PUBLISHED") or not folder.is_dir():
        return skip("published", "set PUBLISHED to a folder with a folder for each project")
    OUTPUT.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    with (
        our_server() as ours,
        real_server(scripts, OUTPUT / "real") as real,
        (OUTPUT / "published.jsonl").open("w") as file,
    ):
        for project in sorted(each for each in folder.iterdir() if each.is_dir()):
            if options.only is None or project.name in options.only:
                compared = compare(real, ours, _steps(real, project, options), file)
                rows.append(Row.of_all(project.name, compared))
    print(heading("published definitions"))
    total = Row.of_all("total", rows)
    print(*rows, total, sep="\n")
    return total.save("published")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.truth.published")
    parser.add_argument("--mutations", type=int, default=4, help="of a sample of each kind, twice")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", metavar="PROJECT")
    return parser


def _steps(real: Replay, project: Path, options: argparse.Namespace) -> Iterator[Step]:
    """The definitions of a project, then its samples."""
    documents = list(_documents(project))
    definitions: dict[str, Body] = {}
    for body in documents:
        if body.get("kind") == "CustomResourceDefinition":
            definitions.setdefault(body["metadata"]["name"], body)
    for body in definitions.values():
        yield _step("create definition", "POST", _DEFINITIONS, body)
    for name in definitions:
        _wait(real, f"{_DEFINITIONS}/{name}")
    # and documents are published after a moment
    time.sleep(5)
    for name in definitions:
        yield _step("definition", "GET", f"{_DEFINITIONS}/{name}")
    for group_version in sorted(_group_versions(definitions.values())):
        yield reading("documents", f"/openapi/v3/apis/{group_version}")
        yield reading("documents", f"/apis/{group_version}")
    kinds = {
        (f"{body['spec']['group']}/{version['name']}", body["spec"]["names"]["kind"]): (
            body,
            version,
        )
        for body in definitions.values()
        for version in body["spec"]["versions"]
        if version.get("served")
    }
    asked: set[tuple[str, str]] = set()
    for sample in documents:
        key = str(sample.get("apiVersion")), str(sample.get("kind"))
        if key not in kinds or not isinstance(sample.get("metadata"), dict):
            continue
        definition, version = kinds[key]
        path, sample = _placed(definition, version, sample)
        yield _step("sample", "POST", f"{path}?dryRun=All&fieldValidation=Strict", sample)
        yield _step("sample", "POST", f"{path}?dryRun=All", sample)
        name = sample["metadata"].get("name")
        if key not in asked and name:
            asked.add(key)
            below = list(version.get("subresources") or {})
            seed = f"{options.seed} {key}"
            yield from Requests(path, below, sample, seed).all(options.mutations)


def _wait(real: Replay, path: str) -> None:
    """Until the real server serves a definition, if it has accepted it."""
    for _ in range(120):
        status = get(real, path).get("status")
        # where there is none, the answer has the status "Failure"
        conditions = status.get("conditions") if isinstance(status, dict) else None
        if conditions is None or ("Established", "True") in {
            (each["type"], each["status"]) for each in conditions
        }:
            return
        time.sleep(0.5)


def _group_versions(definitions: Any) -> set[str]:
    return {
        f"{body['spec']['group']}/{version['name']}"
        for body in definitions
        for version in body["spec"]["versions"]
        if version.get("served")
    }


def _placed(definition: Body, version: Body, sample: Body) -> tuple[str, Body]:
    """The path of the collection of a sample, and the sample in a namespace that exists."""
    spec = definition["spec"]
    metadata = dict(sample["metadata"])
    place = ""
    if spec["scope"] == "Namespaced":
        place, metadata["namespace"] = "/namespaces/default", "default"
    else:
        metadata.pop("namespace", None)
    path = f"/apis/{spec['group']}/{version['name']}{place}/{spec['names']['plural']}"
    return path, {**sample, "metadata": metadata}


def _step(about: str, method: str, path: str, body: Any = None) -> Step:
    step: Step = {"about": about, "kind": about, "method": method, "path": path, "headers": JSON}
    return step if body is None else {**step, "body": body}


class _Loader(yaml.CSafeLoader):
    """YAML in which times are texts, as in JSON."""


_Loader.yaml_implicit_resolvers = {
    first: [each for each in resolvers if each[0] != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def _documents(folder: Path) -> Iterator[Body]:
    """The objects in all YAML files of a folder; files that are templates are not YAML."""
    for file in sorted(folder.rglob("*.y*ml")):
        if file.stat().st_size > _LARGEST_FILE:
            continue
        try:
            documents = list(yaml.load_all(file.read_text(errors="replace"), Loader=_Loader))
        except (yaml.YAMLError, ValueError):
            continue
        for body in documents:
            try:
                json.dumps(body)
            except (TypeError, ValueError):
                continue
            if isinstance(body, dict):
                yield body


if __name__ == "__main__":
    sys.exit(main())
