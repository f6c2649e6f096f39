"""Requests about all kinds, from the OpenAPI documents and from mutated manifests."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

Body = dict[str, Any]
#: A request in the form of the recordings, with what it is about.
Step = dict[str, Any]

EXAMPLES = Path(__file__).resolve().parents[2] / "apps/dashboard/forms/examples"
JSON = {"Accept": "application/json", "Content-Type": "application/json"}
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
#: What a mutation puts in the place of a value.
_VALUES: tuple[Any, ...] = (
    None,
    "",
    "Bad_Name!",
    "1.5x",
    "x" * 300,
    -1,
    0,
    2**40,
    1.5,
    True,
    [],
    {},
    {"unknown": 1},
    [None],
)
_PARAMETERS = (
    "limit=-1",
    "limit=x",
    "labelSelector=a in (b",
    "labelSelector=a!=b,c",
    "labelSelector=-a=b",
    "fieldSelector=metadata.name=a",
    "fieldSelector=spec.unknown=a",
    "fieldSelector=metadata.name",
    "resourceVersion=x",
    "resourceVersion=0&resourceVersionMatch=Exact",
    "resourceVersionMatch=Exact",
    "resourceVersion=1&resourceVersionMatch=Wrong",
    "continue=x",
    "timeoutSeconds=x",
    "pretty=1&limit=1",
    "watch=1&sendInitialEvents=true",
    "watch=1&allowWatchBookmarks=true&fieldSelector=a",
)
_WRITE_PARAMETERS = (
    "dryRun=x",
    "fieldValidation=x",
    "fieldManager=" + "m" * 130,
    "fieldManager=a&dryRun=All&fieldValidation=Strict",
    "pretty=1&dryRun=All",
)


def manifests() -> Iterator[Body]:
    """A valid object of each kind that users create."""
    for file in sorted(EXAMPLES.glob("*.yaml")):
        for body in yaml.safe_load_all(file.read_text()):
            # dates in YAML have no form in JSON
            yield json.loads(json.dumps(body, default=str))


def collections(document: Body) -> dict[str, tuple[str, list[str]]]:
    """Kind -> path of its collection, and its subresources, in an OpenAPI document."""
    by_kind: dict[str, tuple[str, list[str]]] = {}
    paths = document["paths"]
    for path, operations in paths.items():
        kind = operations.get("post", {}).get("x-kubernetes-group-version-kind", {}).get("kind")
        own = f"{path}/{{name}}"
        if own not in paths or "delete" not in paths[own]:
            continue
        below = [each[len(own) + 1 :] for each in paths if each.startswith(f"{own}/")]
        simple = [
            each
            for each in below
            if not each.startswith("proxy") and {"get", "patch"} <= paths[f"{own}/{each}"].keys()
        ]
        by_kind[kind] = (path.replace("{namespace}", "default"), simple)
    return by_kind


def reading(about: str, path: str) -> Step:
    """A GET of a document."""
    headers = {"Accept": JSON["Accept"]}
    return {"about": about, "kind": about, "method": "GET", "path": path, "headers": headers}


def creation(body: Body) -> Step:
    """A dry run that shows the defaults of an object."""
    group = "apis" if "/" in body["apiVersion"] else "api"
    plural = f"{body['kind'].lower()}s"
    return {
        "about": "defaults",
        "kind": body["kind"],
        "method": "POST",
        "path": f"/{group}/{body['apiVersion']}/namespaces/default/{plural}?dryRun=All",
        "headers": JSON,
        "body": body,
    }


class Requests:
    """The requests about one kind; `manifest` is a valid object of it, if users create any."""

    def __init__(self, path: str, below: list[str], manifest: Body | None, seed: str) -> None:
        self.path, self.below, self.manifest = path, below, manifest
        self.dice = random.Random(seed)
        self.kind = manifest["kind"] if manifest else path.rpartition("/")[2]
        self.own = f"{path}/{manifest['metadata']['name']}" if manifest else f"{path}/missing"

    def all(self, mutations: int) -> Iterator[Step]:
        """Every request, in the order in which they build on each other."""
        yield from self._reads(self.path, "empty list")
        yield self._step("missing", "GET", f"{self.path}/missing", Accept=_TABLE)
        if self.manifest is None:
            return
        yield from self._creations(self.manifest, mutations)
        yield from self._reads(self.path, "list")
        yield from self._reads(self.own, "object")
        yield from self._updates(self.manifest, mutations)
        for parameter in self.dice.sample(_PARAMETERS, 6):
            place = f"{self.path}?{parameter.replace(' ', '%20')}&timeoutSeconds=1"
            yield self._step("parameters", "GET", place)
        yield from self._deletions()

    def _step(self, about: str, method: str, path: str, body: Any = None, **headers: str) -> Step:
        step: Step = {"about": about, "kind": self.kind, "method": method, "path": path}
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        step["headers"] = {**(JSON if body is not None else {"Accept": JSON["Accept"]}), **given}
        return step if body is None else {**step, "body": body}

    def _reads(self, path: str, about: str) -> Iterator[Step]:
        metadata = _METADATA if path == self.own else _METADATA_LIST
        for accept in ("application/json", _TABLE, metadata, "application/yaml"):
            yield self._step(about, "GET", path, Accept=accept)

    def _creations(self, manifest: Body, mutations: int) -> Iterator[Step]:
        for _ in range(mutations):
            body = mutated(manifest, self.dice)
            strict = self.dice.choice(("", "&fieldValidation=Strict"))
            place = f"{self.path}?dryRun=All{strict}"
            yield self._step("mutated create", "POST", place, body)
        for parameter in _WRITE_PARAMETERS:
            yield self._step("parameters", "POST", f"{self.path}?{parameter}", manifest)
        yield self._step("create", "POST", self.path, manifest)
        yield self._step("create", "POST", self.path, manifest)
        yield self._step("create", "POST", self.path, {"kind": "Pod"})
        yield self._step("create", "POST", self.path, {}, Content_Type="text/plain")

    def _updates(self, manifest: Body, mutations: int) -> Iterator[Step]:
        labelled = copy.deepcopy(manifest)
        labelled["metadata"]["labels"] = {"app": "other"}
        yield self._step("update", "PUT", self.own, labelled)
        yield self._step("update", "PUT", self.own, labelled)
        yield self._step("update", "PUT", f"{self.path}/missing", manifest)
        for form in ("merge-patch", "strategic-merge-patch", "json-patch"):
            sent: Any = {"metadata": {"annotations": {form: "x"}}}
            if form == "json-patch":
                sent = [{"op": "add", "path": "/metadata/labels/b", "value": "c"}]
            headers = {"Content_Type": f"application/{form}+json"}
            yield self._step("patch", "PATCH", self.own, sent, **headers)
            yield self._step("patch", "PATCH", self.own, sent, **headers)
            yield self._step("patch", "PATCH", self.own, "x", **headers)
        for _ in range(mutations):
            sent = mutated(manifest, self.dice)
            form = self.dice.choice(("merge-patch", "strategic-merge-patch"))
            headers = {"Content_Type": f"application/{form}+json"}
            place = f"{self.own}?dryRun=All"
            yield self._step("mutated patch", "PATCH", place, sent, **headers)
        apply = {"Content_Type": "application/apply-patch+yaml"}
        for query in ("", "?fieldManager=a", "?fieldManager=b", "?fieldManager=b&force=true"):
            labels = {"m": str(len(query))}
            sent = {**manifest, "metadata": {**manifest["metadata"], "labels": labels}}
            yield self._step("apply", "PATCH", self.own + query, sent, **apply)
        for sub in self.below:
            yield self._step("subresource", "GET", f"{self.own}/{sub}")
            sent = {"metadata": {"annotations": {"sub": "x"}}, "status": {"unknown": 1}}
            merge = {"Content_Type": "application/merge-patch+json"}
            yield self._step("subresource", "PATCH", f"{self.own}/{sub}", sent, **merge)
            yield self._step("subresource", "PUT", f"{self.own}/{sub}", manifest)

    def _deletions(self) -> Iterator[Step]:
        yield self._step("delete", "DELETE", f"{self.own}?dryRun=All")
        yield self._step("delete", "DELETE", self.own, {"propagationPolicy": "Wrong"})
        yield self._step("delete", "DELETE", self.own, {"preconditions": {"uid": "x"}})
        yield self._step("delete", "DELETE", self.own, {"gracePeriodSeconds": 0})
        yield self._step("delete", "DELETE", self.own)
        yield self._step("delete", "DELETE", f"{self.path}?labelSelector=app=other")


def mutated(manifest: Body, dice: random.Random) -> Body:
    """The manifest with a change at a random place, or with a few."""
    body = copy.deepcopy(manifest)
    for _ in range(dice.choice((1, 1, 2, 4))):
        _mutate(body, dice)
    return body


def _mutate(body: Body, dice: random.Random) -> None:
    places = list(_places(body))
    if not places:
        return
    container, key = dice.choice(places)
    change = dice.choice(("delete", "set", "set", "set", "rename", "repeat"))
    if change == "delete":
        del container[key]
    elif change == "rename" and isinstance(container, dict):
        container[f"{key}X"] = container.pop(key)
    elif change == "repeat" and isinstance(container, list):
        container.append(copy.deepcopy(container[key]))
    else:
        container[key] = copy.deepcopy(dice.choice(_VALUES))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each field and item of an object, except its type and what it is found by."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if key not in ("apiVersion", "kind", "namespace"):
            yield value, key
        if isinstance(item, dict | list):
            yield from _places(item)
