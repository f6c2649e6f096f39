"""Cases like recorded ones: objects, pods, fields and configurations change places.

What a family of recorded cases contains is valid, so its parts are valid in other cases, too.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from apps.conformance.runner import read_cases

Body = dict[str, Any]

DATA = Path(__file__).resolve().parents[2] / "tests" / "conformance" / "data"
#: Fields by which objects refer to each other, or that follow from others, stay as they are.
_KEPT: Final = {
    "Pod": {"nodeName", "nominatedNodeName", "resourceClaims", "resourceClaimStatuses"},
    "PersistentVolume": {"claimRef"},
    "PersistentVolumeClaim": {"volumeName"},
    "CSINode": {"driver"},
    "ResourceSlice": {"pool", "driver", "sharedCounters", "devices"}
    | {"nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection"},
    "ResourceClaim": {"devices"},
}
_BORROWED_METADATA: Final = ("labels", "annotations", "deletionTimestamp")
_MOST_CHANGES: Final = 8


def families() -> dict[str, Path]:
    """The families of recorded scheduling cases, by name."""
    by_name = {}
    for path in sorted(DATA.rglob("*.jsonl.gz")):
        case, expect = next(read_cases(path))
        if "pods" in expect and "objects" in case:
            by_name[path.name.removesuffix(".jsonl.gz")] = path
    return by_name


class Recombined:
    """Endless cases from those of a family."""

    def __init__(self, path: Path, seed: str) -> None:
        self.dice = random.Random(seed)
        recorded = [case for case, expect in read_cases(path) if "configError" not in expect]
        #: the feature gates of the family
        self.gates = _gates(recorded[0])
        self._cases = [case for case in recorded if _gates(case) == self.gates]
        self._changes: tuple[Callable[[Body, Body], None], ...] = (
            self._borrow,
            self._borrow,
            self._borrow,
            self._add_object,
            self._remove_object,
            self._add_pod,
            self._exchange_pods,
            self._configure,
        )

    def cases(self) -> Iterator[Body]:
        number = 0
        while True:
            case = copy.deepcopy(self.dice.choice(self._cases))
            case["id"] = f"{case['id']}-{number}"
            for _ in range(self.dice.randint(1, _MOST_CHANGES)):
                change, other = self.dice.choice(self._changes), self.dice.choice(self._cases)
                change(case, copy.deepcopy(other))
            number += 1
            # `decide` does not run PreBind, and takes every pod once
            case.pop("preBind", None)
            case["pods"] = [*{_identity(each): each for each in case["pods"]}.values()]
            yield case

    def _borrow(self, case: Body, other: Body) -> None:
        """A field of an object becomes that of another object of its kind."""
        mine = self.dice.choice(_bodies(case))
        kind = _kind(mine)
        theirs = [each for each in _bodies(other) if _kind(each) == kind]
        if not theirs:
            return
        source = self.dice.choice(theirs)
        names = [("metadata", name) for name in _BORROWED_METADATA]
        for part in ("spec", "status"):
            fields = {*(mine.get(part) or ()), *(source.get(part) or ())}
            names += [(part, name) for name in sorted(fields - _KEPT.get(kind, set()))]
        part, name = self.dice.choice(names)
        value = (source.get(part) or {}).get(name)
        if value is not None:
            mine[part] = {**(mine.get(part) or {}), name: value}
        elif mine.get(part):
            mine[part].pop(name, None)

    def _add_object(self, case: Body, other: Body) -> None:
        body = self.dice.choice(other.get("objects") or [None])
        if body is None or _identity(body) in map(_identity, _bodies(case)):
            return
        if (body.get("spec") or {}).get("nodeName") and body["kind"] == "Pod":
            body["spec"]["nodeName"] = self._node(case) or body["spec"]["nodeName"]
        # `decide` visits nodes in their order here, and a replay in that of their names
        case["objects"] = sorted([*(case.get("objects") or ()), body], key=_node_name)

    def _node(self, case: Body) -> str:
        nodes = [e["metadata"]["name"] for e in case.get("objects") or () if e["kind"] == "Node"]
        return self.dice.choice(nodes) if nodes else ""

    def _remove_object(self, case: Body, other: Body) -> None:
        objects = case.get("objects") or []
        if objects:
            gone = objects.pop(self.dice.randrange(len(objects)))
            if gone["kind"] == "Node":
                # pods without their node are no state of a cluster
                case["objects"] = [e for e in objects if not _is_on(e, gone["metadata"]["name"])]

    def _add_pod(self, case: Body, other: Body) -> None:
        known = {_identity(each) for each in _bodies(case)}
        new = [each for each in other.get("pods") or () if _identity(each) not in known]
        if new:
            case["pods"] = [*(case.get("pods") or ()), self.dice.choice(new)]

    def _exchange_pods(self, case: Body, other: Body) -> None:
        self.dice.shuffle(case["pods"])

    def _configure(self, case: Body, other: Body) -> None:
        if "config" in other:
            case["config"] = other["config"]


def _gates(case: Body) -> dict[str, bool]:
    return dict((case.get("config") or {}).get("featureGates") or {})


def _bodies(case: Body) -> list[Body]:
    return [*(case.get("objects") or ()), *(case.get("pods") or ())]


def _kind(body: Body) -> str:
    return str(body.get("kind", "Pod"))


def _identity(body: Body) -> tuple[str, str, str]:
    metadata = body["metadata"]
    return _kind(body), metadata.get("namespace", ""), metadata["name"]


def _node_name(body: Body) -> str:
    return str(body["metadata"]["name"]) if body["kind"] == "Node" else ""


def _is_on(body: Body, node: str) -> bool:
    spec = body.get("spec") or {}
    return (body["kind"] == "Pod" and spec.get("nodeName") == node) or (
        body["kind"] == "CSINode" and body["metadata"]["name"] == node
    )
