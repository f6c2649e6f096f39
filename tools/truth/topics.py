"""Requests about what kinds share: selectors, media types, texts of bodies, custom resources."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

from tools.truth.requests import JSON, Body, Step, mutated

_MAPS: Final = "/api/v1/namespaces/default/configmaps"
_GROUP: Final = "truth.example.com"
_TOKENS: Final = ("a", "-b", "a.b/c", "in", "notin", "(", ")", ",", "=", "!=", "!", ">", "5", " ")
_FIELDS: Final = ("metadata.name", "spec.x", "=", "==", "!=", "a", "\\", "\\,", ",", " ")
_TYPES: Final = ("application/json", "application/yaml", "application/*", "*/*", "text/html")
_PARAMETERS: Final = ("as=Table", "as=Wrong", "v=v1", "g=meta.k8s.io", "q=0.5", "stream=watch")
_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
_SPEC: Final[Body] = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "name": {"type": "string", "maxLength": 5, "pattern": "^[a-z]*$", "default": "x"},
        "mode": {"type": "string", "enum": ["a", "b"]},
        "ratio": {"type": "number", "multipleOf": 0.5},
        "tags": {"type": "array", "maxItems": 2, "items": {"type": "string"}},
        "any": {"x-kubernetes-int-or-string": True},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "x-kubernetes-validations": [{"rule": "self.size < 8", "message": "too large"}],
}
_VALUES: Final[tuple[Any, ...]] = (None, "", "abcdefg", "A", 0, 8, 2.0, 1.5, 10**20, True, [], {})


def topics(seed: str, number: int) -> Iterator[Step]:
    """`number` requests of each topic."""
    dice = random.Random(seed)
    for name in ("one", "two", "two-b"):
        yield _step("paths", "POST", _MAPS, {"metadata": {"name": name, "labels": {"a": name}}})
    for _ in range(number):
        selector = "".join(dice.choices(_TOKENS, k=dice.randint(1, 6)))
        yield _step("label selectors", "GET", f"{_MAPS}?labelSelector={quote(selector)}")
        selector = "".join(dice.choices(_FIELDS, k=dice.randint(1, 5)))
        yield _step("field selectors", "GET", f"{_MAPS}?fieldSelector={quote(selector)}")
        accept = ",".join(
            ";".join((dice.choice(_TYPES), *dice.sample(_PARAMETERS, dice.randint(0, 3))))
            for _ in range(dice.randint(1, 2))
        )
        place = dice.choice((_MAPS, f"{_MAPS}/one", f"{_MAPS}?watch=1&timeoutSeconds=1"))
        yield _step("media types", "GET", place, Accept=accept)
        yield _broken(dice)
    yield from _custom(dice, number)


def _step(about: str, method: str, path: str, body: Any = None, **headers: str) -> Step:
    step: Step = {"about": about, "kind": "topic", "method": method, "path": path}
    step["headers"] = {**(JSON if body is not None else {"Accept": JSON["Accept"]}), **headers}
    return step if body is None else {**step, "body": body}


def _broken(dice: random.Random) -> Step:
    """A creation whose text has lost, or got, a character."""
    text = json.dumps({"kind": "ConfigMap", "metadata": {"name": "t"}, "data": {"a": "b"}})
    at = dice.randrange(len(text))
    text = text[:at] + dice.choice(("", *'{}[]",:x1\\\n')) + text[at + dice.randint(0, 1) :]
    return {**_step("texts", "POST", f"{_MAPS}?dryRun=All", {}), "body_raw": text}


def _custom(dice: random.Random, number: int) -> Iterator[Step]:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    schema = {"type": "object", "properties": {"spec": _SPEC}}
    columns = [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}]
    version = {"name": "v1", "served": True, "storage": True, "additionalPrinterColumns": columns}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{_GROUP}"},
        "spec": {
            "group": _GROUP,
            "scope": "Namespaced",
            "names": {
                "plural": "things",
                "singular": "thing",
                "kind": "Thing",
                "listKind": "ThingList",
            },
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    for _ in range(number):
        yield _step("definitions", "POST", f"{definitions}?dryRun=All", mutated(definition, dice))
    yield _step("definitions", "POST", definitions, definition)
    # the real server serves it after a moment
    yield _step("watches", "GET", f"{_MAPS}?watch=1&timeoutSeconds=3&labelSelector=none")
    place = f"/apis/{_GROUP}/v1/namespaces/default/things"
    thing: Body = {"apiVersion": f"{_GROUP}/v1", "kind": "Thing", "metadata": {"name": "t"}}
    for _ in range(number):
        names = dice.sample(sorted(_SPEC["properties"]), dice.randint(1, 3))
        spec = {"size": 3, **{name: dice.choice(_VALUES) for name in names}}
        yield _step("custom objects", "POST", f"{place}?dryRun=All", {**thing, "spec": spec})
    yield _step("custom objects", "POST", place, {**thing, "spec": {"size": 3}})
    group = f"/apis/{_GROUP}"
    for each in (place, f"{place}/t", f"{place}/t/", f"{place}/none", group, f"{group}/v1"):
        yield _step("custom reads", "GET", each)
        yield _step("custom reads", "GET", each, Accept=_TABLE)
    yield _step("custom objects", "DELETE", f"{place}/t")
