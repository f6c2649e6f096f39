"""What a story consists of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tools.truth.stories.kubelet import Fate

Body = dict[str, Any]


@dataclass(frozen=True)
class Create:
    """An object is created, in the namespace of the story."""

    body: Body


@dataclass(frozen=True)
class Patch:
    """An object is changed with a merge patch."""

    kind: str
    name: str
    patch: Body
    part: str = ""


@dataclass(frozen=True)
class Delete:
    """An object is deleted, with these options. "" for the namespace itself."""

    kind: str
    name: str
    options: Body = field(default_factory=dict)


@dataclass(frozen=True)
class EachPod:
    """Change (a patch) or delete (None) the first pods that have these labels, by name."""

    labels: dict[str, str]
    patch: Body | None = None
    count: int = 100
    part: str = ""
    options: Body = field(default_factory=dict)


@dataclass(frozen=True)
class Evict:
    """Evict the first pods that have these labels, by name; the answers are compared, too."""

    labels: dict[str, str]
    count: int = 100


@dataclass(frozen=True)
class Play:
    """From now on the kubelets do something else with the pods of the story."""

    fate: Fate


@dataclass(frozen=True)
class Wait:
    """The step lasts so long at least."""

    seconds: float


@dataclass(frozen=True)
class NextMinute:
    """The step lasts until the middle of the next minute."""


Act = Create | Patch | Delete | EachPod | Evict | Play | Wait | NextMinute


@dataclass(frozen=True)
class Story:
    """Steps, after each of which the controllers come to rest."""

    name: str
    steps: Sequence[Sequence[Act]]
    fate: Fate = lambda _: "Ready"
    #: its own nodes, Ready before the first step: "ab" for a.STORY and b.STORY
    nodes: str = ""
    #: its kubelets act on all pods at once
    crowd: bool = False
