"""One command: a request of an API, and the same for kubectl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Condition:
    """A filter that the API does not have, applied to the items of its answer."""

    #: of `.items[]`
    jq: str
    #: of `item`
    python: str


@dataclass(frozen=True, slots=True)
class Recipe:
    """A request, and the arguments of kubectl if kubectl can send it."""

    title: str
    path: str
    method: str = "GET"
    query: Mapping[str, str] = field(default_factory=dict)
    #: JSON, or the text of a YAML body.
    body: Any = None
    #: Of a Kubernetes list: prints the names of the items that match.
    conditions: Sequence[Condition] = ()
    kubectl: Sequence[str] = ()
    #: The standard input of kubectl.
    stdin: str = ""
