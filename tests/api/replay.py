"""Replays recorded exchanges against the live views, and compares the responses.

A recorded file is a list of requests with the responses of a Kubernetes API server; the README
beside the recordings describes what is normalized. Files that say so with the field `full` have
complete responses: everything is compared, managedFields, descriptions and decoders' texts too.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import yaml
from django.test import Client

from apps.api.kubernetes.protobuf import envelopes
from apps.cluster.models import Change, Cluster
from tests.api.asgi import request_stream

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
IP = re.compile(r"\d+\.\d+\.\d+\.\d+")
VARIABLE = re.compile(r"\$\{(\w+)\}")
VERSIONS = re.compile(r"(?<=too old resource version: )\d+ \(\d+\)|(?<=in record \()\d+(?=\))")
AGES = {"Age", "Last Seen", "First Seen", "Last Schedule", "Duration"}
#: Messages of Go's decoders, which may differ.
GO_TEXT = re.compile(r"json: cannot unmarshal|strconv\.Parse(Uint|Int|Bool)|yaml: ")
CORE = (
    "nodes pods namespaces persistentvolumes persistentvolumeclaims services "
    "replicationcontrollers events bindings"
)
LISTED = {
    "v1": set(CORE.split()),
    "apps/v1": {"replicasets", "statefulsets"},
    "policy/v1": {"poddisruptionbudgets"},
    "scheduling.k8s.io/v1": {"priorityclasses"},
    "storage.k8s.io/v1": {"storageclasses", "csinodes"},
    "node.k8s.io/v1": {"runtimeclasses"},
    "events.k8s.io/v1": {"events"},
    "coordination.k8s.io/v1": {"leases"},
}
LISTED_GROUPS = {name.rpartition("/")[0] for name in LISTED}
SUBRESOURCES = {"status", "binding", "eviction", "scale", "finalize"}


@dataclass(frozen=True)
class StepDifference:
    """A step whose response differs from the recorded one."""

    step: int
    name: str
    where: str
    expected: Any
    actual: Any

    def __str__(self) -> str:
        return (
            f"{self.step} {self.name}: {self.where}\n    expected {_short(self.expected)}"
            f"\n    actual   {_short(self.actual)}"
        )


class Server(Protocol):
    """A server that answers requests below its root."""

    @property
    def root(self) -> str: ...

    def request(
        self, method: str, path: str, data: bytes, headers: dict[str, str], *, streamed: bool
    ) -> tuple[int, dict[str, str], bytes]:
        """The status, headers and body of the response, a stream until its end."""


@dataclass
class Views:
    """The views and the streams of one cluster."""

    root: str

    def request(
        self, method: str, path: str, data: bytes, headers: dict[str, str], *, streamed: bool
    ) -> tuple[int, dict[str, str], bytes]:
        if streamed:
            return asyncio.run(request_stream(self.root + path, headers))
        headers = dict(headers)
        content_type = headers.pop("Content-Type", "")
        response = Client().generic(
            method, self.root + path, data=data, content_type=content_type, headers=headers
        )
        return response.status_code, dict(response.headers), response.getvalue()


@dataclass
class Replay:
    """One scenario, replayed against one server."""

    server: Server
    key: str
    variables: dict[str, Any] = field(default_factory=dict)
    #: generated names in normalized form
    names: dict[str, str] = field(default_factory=dict)
    #: what they begin with
    stems: set[str] = field(default_factory=set)
    #: whether the responses were recorded completely
    complete: bool = False

    def play(self, path: Path) -> Iterator[StepDifference | None]:
        """The difference of each step; None for a step that equals the recording."""
        steps = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        self.complete = any("full" in step for step in steps)
        for step in steps:
            if "method" in step and _is_compared(step):
                yield self.compare(step, *self.send(step))
            elif "method" in step:
                self.send(step)
            elif step["op"] == "forget-history":
                self.forget_history()

    def forget_history(self) -> None:
        """Delete the change log, as retention does; objects stay."""
        cluster = Cluster.objects.get(name=self.server.root.rpartition("/")[2])
        Change.objects.filter(cluster=cluster).delete()
        Cluster.objects.update(forgotten_version=cluster.resource_version)

    def send(self, step: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
        headers = dict(step.get("headers") or {})
        auth = step.get("auth", "")
        if auth != "none":
            key = "nobody" if auth == "bad" else self.filled(auth) or self.key
            headers["Authorization"] = f"Bearer {key}"
        path, data = self.filled(step["path"]), self._data(step)
        streamed = step["method"] == "GET" and ("watch=1" in path or "/watch/" in path)
        status, answered, raw = self.server.request(
            step["method"], path, data, headers, streamed=streamed
        )
        answered = {name.lower(): value for name, value in answered.items()}
        content_type = answered.get("content-type", "")
        body = raw if step.get("raw") else _decode(raw, content_type, streamed)
        for name, place in (step.get("capture") or {}).items():
            self.variables[name] = _at(body, place)
        return status, answered, body

    def _data(self, step: dict[str, Any]) -> bytes:
        if "body_raw" in step:
            return str(step["body_raw"]).encode()
        if "body" not in step:
            return b""
        body = json.loads(self.filled(json.dumps(step["body"])))
        metadata = body.get("metadata") if isinstance(body, dict) else None
        if isinstance(metadata, dict) and isinstance(metadata.get("generateName"), str):
            self.stems.add(metadata["generateName"])
        if step.get("body_pad"):
            pad = {"pad": "x" * step["body_pad"]}
            body["metadata"]["annotations"] = {**body["metadata"].get("annotations", {}), **pad}
        return json.dumps(body, separators=(",", ":")).encode()

    def filled(self, text: str) -> str:
        return VARIABLE.sub(lambda found: str(self.variables.get(found[1], found[0])), text)

    def compare(
        self, step: dict[str, Any], status: int, headers: dict[str, str], body: Any
    ) -> StepDifference | None:
        def differs(where: str, expected: Any, actual: Any) -> StepDifference:
            return StepDifference(step["step"], step["name"], where, expected, actual)

        expect = step["expect"]
        wanted_status = 400 if expect["status"] == 500 and status < 500 else expect["status"]
        if (400 if expect["status"] == 500 and status >= 400 else status) != wanted_status:
            return differs("status", expect["status"], (status, body))
        if step.get("compare") == "status" or expect["status"] == 500:
            return None
        wanted = expect.get("headers") or {}
        content_type = headers.get("content-type", "").replace(" ", "")
        if content_type != wanted.get("content-type", "").replace(" ", ""):
            return differs("content type", wanted.get("content-type"), content_type)
        if wanted.get("warning", []) != warnings(headers):
            return differs("warnings", wanted.get("warning", []), warnings(headers))
        if expect.get("body") == "<protobuf>" and content_type == envelopes.MEDIA_TYPE:
            # this recording has no more of it; that the body is protobuf shows its decoding
            return None
        expected, actual = self.normalize(expect.get("body")), self.normalize(body)
        actual = blanked_like(expected, actual)
        if step["path"] == "/openapi/v3":
            expected, actual = _index(expected), _index(actual.replace(self.server.root, ""))
        found = _difference(differs, _compared_part(expected), _compared_part(actual))
        if found is None and self.complete:
            expected = self.normalize(step.get("full", expect.get("body")))
            actual = blanked_like(expected, actual)
            found = None if expected == actual else differs(*first_difference(expected, actual))
        return found

    def normalize(self, value: Any, field_name: str = "") -> Any:
        if isinstance(value, dict):
            return self._normalize_object(value)
        if isinstance(value, list):
            return [self.normalize(item) for item in value]
        if isinstance(value, str):
            return self._normalize_text(value, field_name)
        return "<port>" if field_name == "nodePort" else value

    def _normalize_object(self, value: dict[str, Any]) -> dict[str, Any]:
        if {"gitVersion", "goVersion"} <= set(value):
            return dict.fromkeys(value, "<any>")
        if value.get("kind") == "Table" and value["rows"]:
            value = _table_without_ages(value)
        stem = value.get("generateName")
        if (
            isinstance(stem, str)
            and stem
            and re.fullmatch(re.escape(stem) + "[a-z0-9]{5}", value.get("name", ""))
        ):
            self.names[value["name"]] = f"{stem}<rand>"
            self.stems.add(stem)
        if value.get("reason") == "Invalid" and _is_custom(value):
            value = _with_sorted_causes(value)
        normal = {key: self.normalize(item, key) for key, item in value.items()}
        if isinstance(normal.get("managedFields"), list):
            # sorted by their times, which depend on the speed of the machine
            normal["managedFields"].sort(key=lambda entry: json.dumps(entry, sort_keys=True))
        for name in ("resourceRules", "nonResourceRules"):
            if isinstance(normal.get(name), list):
                # the server lists bindings in random order
                normal[name].sort(key=lambda rule: json.dumps(rule, sort_keys=True))
        if normal.get("clusterIP") == "<ip>":
            normal["clusterIPs"] = ["<ip>" for _ in value["clusterIPs"]]
        return normal

    def _normalize_text(self, value: str, field_name: str) -> str:
        if field_name == "resourceVersion" and value not in ("", "0"):
            return "<rv>"
        if field_name == "uid" and value:
            return "<uid>"
        for stem in self.stems:
            value = re.sub(re.escape(stem) + r"[a-z0-9]{5}\b", f"{stem}<rand>", value)
        if field_name == "continue":
            return "<continue>"
        if field_name == "storageVersionHash":
            return "<hash>"
        if field_name == "clusterIP" and IP.fullmatch(value):
            return "<ip>"
        if field_name == "serverAddressByClientCIDRs":
            return "<any>"
        if field_name == "evaluationError" and value.startswith("["):
            return ", ".join(sorted(value.strip("[]").split(", ")))
        if field_name == "token":
            return "<token>"
        if TIME.fullmatch(value):
            return "<time>"
        if value in self.names:
            return self.names[value]
        value = re.sub(r'Invalid value: "\{.*?\}": ', "Invalid value: <object>: ", value)
        value = VERSIONS.sub("<rv>", value.replace("<rv> (<rv>)", "<rv>"))
        value = re.sub(r"hash=[0-9A-Za-z]+", "hash=<hash>", value)
        for name, shown in self.names.items():
            value = value.replace(name, shown)
        return UUID.sub("<uid>", value)


def _is_custom(status: dict[str, Any]) -> bool:
    return str((status.get("details") or {}).get("group", "")).endswith(".example.com")


def _with_sorted_causes(status: dict[str, Any]) -> dict[str, Any]:
    """The Status of an invalid custom resource, whose fields the server checks in random order."""
    causes = status["details"].get("causes") or []
    texts = [f"{cause.get('field')}: {cause['message']}" for cause in causes]
    message = status["message"]
    for text in texts:
        message = message.replace(text, "<cause>", 1)
    details = {**status["details"], "causes": sorted(causes, key=lambda each: sorted(each.items()))}
    return {**status, "message": [message, sorted(texts)], "details": details}


def blanked_like(expected: Any, actual: Any) -> Any:
    """`actual` without the addresses that the recording has blanked in a text."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return {name: blanked_like(expected.get(name), item) for name, item in actual.items()}
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        return [blanked_like(*each) for each in zip(expected, actual, strict=True)]
    if isinstance(expected, str) and isinstance(actual, str) and "<ip>" in expected:
        return IP.sub("<ip>", actual)
    return actual


def _is_compared(step: dict[str, Any]) -> bool:
    """Whether the step has a response to compare with: one server hung up instead (-1)."""
    return step.get("compare") != "none" and step["expect"]["status"] > 0


def _difference(differs: Any, expected: Any, actual: Any) -> StepDifference | None:
    if expected == actual:
        return None
    texts = [str(v.get("message", "")) if isinstance(v, dict) else "" for v in (expected, actual)]
    if all(texts) and GO_TEXT.search(texts[0]):
        same = ("kind", "status", "reason", "code")
        if all(expected.get(name) == actual.get(name) for name in same):
            return None
    where, left, right = first_difference(expected, actual)
    found: StepDifference = differs(where, left, right)
    return found


def first_difference(expected: Any, actual: Any, path: str = "") -> tuple[str, Any, Any]:
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in [*expected, *(key for key in actual if key not in expected)]:
            left, right = expected.get(key, "(absent)"), actual.get(key, "(absent)")
            if left != right:
                return first_difference(left, right, f"{path}.{key}")
    if isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, (left, right) in enumerate(zip(expected, actual, strict=True)):
            if left != right:
                return first_difference(left, right, f"{path}[{index}]")
    return path or ".", expected, actual


def _restrict_discovery(body: Any) -> Any:
    """Restrict discovery documents to the recorded resources, and remove CIDRs."""
    if not isinstance(body, dict):
        return body
    if "serverAddressByClientCIDRs" in body:
        return {**body, "serverAddressByClientCIDRs": "<any>"}
    match body.get("kind"):
        case "APIResourceList":
            listed = LISTED.get(body["groupVersion"], set())
            rows = [row for row in body["resources"] if _is_listed(row["name"], listed)]
            return {**body, "resources": sorted(rows, key=lambda row: row["name"])}
        case "APIGroupList":
            groups = [group for group in body["groups"] if group["name"] in LISTED_GROUPS]
            return {**body, "groups": sorted(groups, key=lambda group: group["name"])}
        case "APIGroupDiscoveryList":
            items = [item for item in body["items"] if _group_name(item) in LISTED_GROUPS]
            items.sort(key=lambda item: _group_name(item))
            return {**body, "items": [_restricted_group(item) for item in items]}
    if body.get("type") == "BOOKMARK":
        # of the object in it, the metadata alone means something
        shown = ("kind", "apiVersion", "metadata")
        return {**body, "object": {name: body["object"].get(name) for name in shown}}
    match body.get("kind"):
        case "Table":
            columns = body["columnDefinitions"]
            plain = columns and [{**column, "description": ""} for column in columns]
            return {**body, "columnDefinitions": plain}
    if isinstance(body.get("object"), dict):
        return {**body, "object": _restrict_discovery(body["object"])}
    return body


def _compared_part(body: Any) -> Any:
    """The part of any response that is compared: each event of a stream, or the object."""
    body = _without_managers(body)
    return (
        [_restrict_discovery(item) for item in body]
        if isinstance(body, list)
        else _restrict_discovery(body)
    )


def _without_managers(body: Any) -> Any:
    if isinstance(body, list):
        return [_without_managers(item) for item in body]
    if not isinstance(body, dict):
        return body
    return {name: _without_managers(item) for name, item in body.items() if name != "managedFields"}


def _group_name(group: dict[str, Any]) -> str:
    return str(group["metadata"].get("name", ""))


def _restricted_group(group: dict[str, Any]) -> dict[str, Any]:
    name = _group_name(group)
    versions = []
    for version in group["versions"]:
        known = f"{name}/{version['version']}" if name else version["version"]
        rows = [
            _with_known_subresources(row)
            for row in version["resources"]
            if row["resource"] in LISTED.get(known, set())
        ]
        versions.append({**version, "resources": rows})
    return {**group, "versions": versions}


def _with_known_subresources(row: dict[str, Any]) -> dict[str, Any]:
    if "subresources" not in row:
        return row
    kept = [sub for sub in row["subresources"] if sub["subresource"] in SUBRESOURCES]
    return {**row, "subresources": kept}


def _index(text: str) -> dict[str, Any]:
    """The OpenAPI index of the recorded group versions."""
    wanted = {"api/v1", *(f"apis/{name}" for name in LISTED if "/" in name)}
    return {k: v for k, v in json.loads(text)["paths"].items() if k in wanted}


def _is_listed(name: str, listed: set[str]) -> bool:
    plural, _, sub = name.partition("/")
    return plural in listed and (not sub or sub in SUBRESOURCES)


def _table_without_ages(table: dict[str, Any]) -> dict[str, Any]:
    columns = table["columnDefinitions"]
    rows = []
    for row in table["rows"]:
        cells = list(row["cells"])
        for index, cell in enumerate(cells):
            # rows may have more cells than columns
            named = columns and index < len(columns) and columns[index]["name"] in AGES
            if named or (columns is None and re.fullmatch(r"(\d+[smhdy])+", str(cell))):
                cells[index] = "<age>"
        rows.append({**row, "cells": cells})
    return {**table, "rows": rows}


def _decode(raw: bytes, content_type: str, streamed: bool) -> Any:
    if content_type == envelopes.MEDIA_TYPE:
        return envelopes.decode(raw)
    text = raw.decode()
    if content_type.startswith("application/yaml"):
        return json.loads(json.dumps(yaml.safe_load(text), default=str))
    if not content_type.startswith("application/json"):
        return text
    if streamed and not text.startswith(('{"kind":"Status"', "{\n")):
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text) if text else text


def warnings(headers: dict[str, str]) -> list[str]:
    value = headers.get("warning", "")
    return re.findall(r'299 - "(?:[^"\\]|\\.)*"', value)


def _at(body: Any, place: str) -> Any:
    for step in place.split("."):
        body = body.get(step) if isinstance(body, dict) else None
    return body


def _short(value: Any) -> str:
    return json.dumps(value, default=str)[:300]
