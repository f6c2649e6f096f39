"""The JSON of requests to extenders and their answers: extender/v1 of kube-scheduler.

Objects and lists of them are JSON already. Field names are written as upstream writes them, and
read as Go reads them: case-insensitively. null means that a field is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
_Fields = dict[str, msgspec.Raw]


class WireError(ValueError):
    """The answer is not valid according to extender/v1."""


class _Meta(msgspec.Struct):
    name: str = ""


class _Node(msgspec.Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)


class _NodeList(msgspec.Struct):
    items: list[_Node] | None = None


@dataclass(frozen=True, slots=True)
class FilterResult:
    """ExtenderFilterResult; the names of nodes that were answered as objects."""

    #: None = the field was left out
    nodes: Sequence[str] | None = None
    node_names: Sequence[str] | None = None
    failed: Mapping[str, str] = field(default_factory=dict)
    failed_and_unresolvable: Mapping[str, str] = field(default_factory=dict)
    error: str = ""


@dataclass(frozen=True, slots=True)
class MetaVictims:
    """Pods by uid, and how many of the evictions violate a PodDisruptionBudget."""

    uids: tuple[str, ...]
    pdb_violations: int = 0


def encode_args(
    pod: bytes, *, nodes: Sequence[bytes] | None = None, names: Sequence[str] | None = None
) -> bytes:
    """ExtenderArgs: the pod, and the nodes as objects or by name."""
    listed = None
    if nodes is not None:
        listed = {"metadata": {}, "items": [msgspec.Raw(node) for node in nodes]}
    return msgspec.json.encode({"Pod": msgspec.Raw(pod), "Nodes": listed, "NodeNames": names})


def encode_preemption(
    pod: bytes,
    *,
    victims: Mapping[str, tuple[Sequence[bytes], int]] | None = None,
    meta_victims: Mapping[str, MetaVictims] | None = None,
) -> bytes:
    """ExtenderPreemptionArgs: per node the victims as objects, or by uid, and the violations."""
    return msgspec.json.encode(
        {
            "Pod": msgspec.Raw(pod),
            "NodeNameToVictims": victims
            and {
                node: {"Pods": [msgspec.Raw(each) for each in pods], "NumPDBViolations": violations}
                for node, (pods, violations) in victims.items()
            },
            "NodeNameToMetaVictims": meta_victims
            and {
                node: {
                    "Pods": [{"UID": uid} for uid in each.uids],
                    "NumPDBViolations": each.pdb_violations,
                }
                for node, each in meta_victims.items()
            },
        }
    )


def encode_binding(*, name: str, namespace: str, uid: str, node: str) -> bytes:
    """ExtenderBindingArgs."""
    return msgspec.json.encode(
        {"PodName": name, "PodNamespace": namespace, "PodUID": uid, "Node": node}
    )


def decode_filter(answer: bytes) -> FilterResult:
    """ExtenderFilterResult. Raises WireError, as the others here."""
    fields = _fields(_decode(answer, _Fields | None))
    nodes = _get(fields, "Nodes", _NodeList | None, None)
    return FilterResult(
        nodes=None if nodes is None else [node.metadata.name for node in nodes.items or ()],
        node_names=_get(fields, "NodeNames", list[str] | None, None),
        failed=_get(fields, "FailedNodes", dict[str, str] | None, None) or {},
        failed_and_unresolvable=(
            _get(fields, "FailedAndUnresolvableNodes", dict[str, str] | None, None) or {}
        ),
        error=_get(fields, "Error", str | None, None) or "",
    )


def decode_priorities(answer: bytes) -> dict[str, int]:
    """HostPriorityList as host -> the sum of its scores in the list."""
    scores: dict[str, int] = {}
    for entry in _decode(answer, list[_Fields | None] | None) or ():
        fields = _fields(entry)
        host = _get(fields, "Host", str | None, None) or ""
        scores[host] = scores.get(host, 0) + (_get(fields, "Score", int | None, None) or 0)
    return scores


def decode_preemption(answer: bytes) -> dict[str, MetaVictims]:
    """ExtenderPreemptionResult: node -> victims by uid."""
    fields = _fields(_decode(answer, _Fields | None))
    nodes = _get(fields, "NodeNameToMetaVictims", dict[str, _Fields | None] | None, None)
    return {node: _meta_victims(_fields(victims)) for node, victims in (nodes or {}).items()}


def decode_binding(answer: bytes) -> str:
    """ExtenderBindingResult: its error, "" for success."""
    fields = _fields(_decode(answer, _Fields | None))
    return _get(fields, "Error", str | None, None) or ""


def _meta_victims(fields: _Fields) -> MetaVictims:
    pods = _get(fields, "Pods", list[_Fields | None] | None, None) or ()
    return MetaVictims(
        tuple(_get(_fields(pod), "UID", str | None, None) or "" for pod in pods),
        _get(fields, "NumPDBViolations", int | None, None) or 0,
    )


def _fields(fields: _Fields | None) -> _Fields:
    """Fields by lowercase name; of names that differ only in case the last one counts."""
    return {name.lower(): value for name, value in (fields or {}).items()}


def _get(fields: _Fields, name: str, kind: Any, default: T) -> Any:
    raw = fields.get(name.lower())
    return default if raw is None else _decode(raw, kind, name)


def _decode(text: bytes | msgspec.Raw, kind: Any, name: str = "") -> Any:
    if not name and not bytes(text).strip():
        raise WireError("EOF")
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as failure:
        place = f"{name}: " if name else ""
        raise WireError(f"cannot read the answer: {place}{failure}") from None
    except msgspec.DecodeError as failure:
        raise WireError(f"the answer is not JSON: {failure}") from None
    except UnicodeDecodeError:
        raise WireError("the answer is not UTF-8") from None
