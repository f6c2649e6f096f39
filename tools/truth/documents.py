"""Compare the OpenAPI documents of ours with those of a real kube-apiserver.

    python -m tools.truth.documents

The folder named by REAL_KUBERNETES, or ../shared/real beside the checkout, starts the real one;
without it nothing is compared, and the output says so. Compared are the index of v3, its document
of every group and version, and the document of v2, as JSON and as protobuf: each schema, each
operation, and the parameters that operations of a path share count as one. Both clusters have
custom resources, too. What differs is written to var/truth/documents.jsonl.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator
from typing import IO, Any, Final

import django
import yaml

os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
django.setup()

# ruff: noqa: E402
from apps.api.kubernetes.protobuf import swagger
from tests.api.replay import Replay, first_difference
from tools.truth.comparing import get
from tools.truth.requests import JSON
from tools.truth.servers import our_server, real_server
from tools.truth.table import OUTPUT, Row, heading, real_folder

Body = dict[str, Any]

_INDEX: Final = "/openapi/v3"
_V2: Final = "/openapi/v2"
_MISSING: Final = "(absent)"
_VALUE: Final = re.compile(r'(?<=yaml: )"((?:[^"\\]|\\.)*)"')
_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_GROUP: Final = "truth.example.com"
_FIELDS: Final[Body] = {
    "size": {"type": "integer", "format": "int32", "minimum": 1, "default": 3},
    "name": {"type": "string", "maxLength": 5, "pattern": "^[a-z]*$", "nullable": True},
    "mode": {"type": "string", "enum": ["a", "b"], "description": "How it works."},
    "ratio": {"type": "number", "multipleOf": 0.5},
    "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
    "port": {
        "x-kubernetes-int-or-string": True,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
    },
    "null": {"type": "object", "nullable": True, "properties": {"a": {"type": "string"}}},
    "open": {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
    },
    "list": {"type": "array", "nullable": True, "items": {"type": "string"}, "maxItems": 3},
    "map": {"type": "object", "additionalProperties": {"type": "integer", "nullable": True}},
    "text": {"type": "string", "anyOf": [{"pattern": "a"}, {"maxLength": 2}], "example": "a: b"},
    "duration": {"type": "string", "format": "duration", "title": "T", "default": "5s"},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "pod": {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": {"spec": {"type": "object"}},
    },
    "one": {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"type": "string"}, "default": {"type": "boolean"}},
        "oneOf": [{"required": ["a"]}, {"required": ["default"]}],
        "x-kubernetes-validations": [{"rule": "has(self.a)", "message": "has no a"}],
    },
    "rows": {
        "type": "array",
        "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
    },
}


def main() -> int:
    scripts = real_folder()
    if not (scripts / "start").exists():
        print(f"NOTHING WAS COMPARED: {scripts / 'start'} does not exist (set REAL_KUBERNETES)")
        return 0
    OUTPUT.mkdir(parents=True, exist_ok=True)
    with (
        our_server() as ours,
        real_server(scripts, OUTPUT / "real-documents") as real,
        (OUTPUT / "documents.jsonl").open("w") as file,
    ):
        for server in (real, ours):
            _define(server)
        rows = list(_rows(real, ours, file))
    print(heading("documents"))
    total = Row.of_all("total", rows)
    print(*rows, total, sep="\n")
    return total.save("documents")


def _define(server: Replay) -> None:
    """Create two custom resources, and wait until they are in the documents."""
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": _FIELDS}}}
    subresources = {
        "status": {},
        "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
    }
    version = {"name": "v1", "served": True, "storage": True}
    old = {**version, "name": "v1beta1", "storage": False, "deprecated": True}
    for plural, scope, versions in (
        ("things", "Namespaced", [{**version, "subresources": subresources}, old]),
        ("worlds", "Cluster", [version]),
    ):
        kind = plural.capitalize()[:-1]
        names = {
            "plural": plural,
            "singular": kind.lower(),
            "kind": kind,
            "listKind": f"{kind}List",
        }
        versions = [{**each, "schema": {"openAPIV3Schema": schema}} for each in versions]
        body = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{_GROUP}"},
            "spec": {"group": _GROUP, "scope": scope, "names": names, "versions": versions},
        }
        step = {"method": "POST", "path": _DEFINITIONS, "headers": JSON, "body": body}
        status, _, answered = server.send(step)
        assert status == 201, answered
    for place in (f"{_INDEX}/apis/{_GROUP}/v1", _V2):
        step = {"method": "GET", "path": place, "headers": {}, "raw": True}
        # the real server publishes definitions one after the other
        while b'"World"' not in server.send(step)[2]:
            time.sleep(0.5)


def _rows(real: Replay, ours: Replay, file: IO[str]) -> Iterator[Row]:
    indexes = [dict.fromkeys(get(server, _INDEX)["paths"], True) for server in (real, ours)]
    yield _row(_INDEX, *indexes, file)
    both = [each for each in indexes[0] if each in indexes[1]]
    for place in (*(f"{_INDEX}/{each}" for each in both), _V2):
        parts = [dict(_parts(get(server, place))) for server in (real, ours)]
        yield _row(place, *parts, file)
    messages = [dict(_parts_of_message(server)) for server in (real, ours)]
    yield _row(f"{_V2} as protobuf", *messages, file)


def _row(place: str, expected: Body, actual: Body, file: IO[str]) -> Row:
    row = Row(place)
    for name in sorted(expected.keys() | actual.keys()):
        row.compared += 1
        pair = expected.get(name, _MISSING), actual.get(name, _MISSING)
        if pair[0] != pair[1]:
            where, left, right = first_difference(*pair)
            row.differing.append(f"{name} {where}")
            difference = {
                "document": place,
                "part": name,
                "where": where,
                "real": left,
                "ours": right,
            }
            print(json.dumps(difference), file=file, flush=True)
    return row


def _parts(document: Body) -> Iterator[tuple[str, Any]]:
    """What a document consists of, by name: its operations, its schemas, and all else."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield f"{path} {method}", operation
    components = dict(document.get("components") or {})
    schemas = components.pop("schemas", None) or document.get("definitions") or {}
    yield from schemas.items()
    whole = ("paths", "components", "definitions")
    head = {name: each for name, each in document.items() if name not in whole}
    yield "head", {**head, "components": components}


def _parts_of_message(server: Replay) -> Iterator[tuple[str, str]]:
    """The parts of the document of v2 as protobuf, by name."""
    step = {"method": "GET", "path": _V2, "headers": {"Accept": swagger.MEDIA_TYPE}}
    _, headers, body = server.send({**step, "raw": True})
    assert headers["content-type"] == swagger.MEDIA_TYPE, headers
    document = swagger.parse(body)
    for each in (*document.paths.path, *document.definitions.additional_properties):
        yield each.name, _VALUE.sub(_sorted, str(each.value))
    document.ClearField("paths")
    document.ClearField("definitions")
    yield "head", str(document)


def _sorted(match: re.Match[str]) -> str:
    """A value in YAML whose keys are in an order of Go's types."""
    text = match[1].encode().decode("unicode_escape")
    return json.dumps(yaml.safe_load(text), sort_keys=True)


if __name__ == "__main__":
    sys.exit(main())
