"""The exercises of a class, as its ConfigMaps have them."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

import msgspec

from apps.cluster import kinds, limits
from apps.cluster.documents import UnreadableDocument, parse_yaml
from apps.cluster.errors import BadRequest
from apps.cluster.models import Cluster, DataObject

#: The name of a ConfigMap with an exercise, in the namespace default; its number.
NAME: Final = re.compile(r"exercise-(\d\d)")
#: Its kind, as objects are stored.
CONFIG_MAP: Final = kinds.by_name("ConfigMap").key
#: The key of its data.
KEY: Final = "exercise"

Labels = dict[str, str]


class Skew(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """How far domains of a label of nodes may differ in pods."""

    topology_key: str
    at_most: int


class Why(msgspec.Struct, forbid_unknown_fields=True):
    """A question whose answer the ledger has."""

    #: the key of the student's answer in the ConfigMap `answers`
    answer: str
    pod: str
    field: Literal["plugin", "node", "nodes"]
    plugin: str = ""
    result: Literal["scheduled", "unschedulable", "error"] = "unschedulable"


class Check(msgspec.Struct, forbid_unknown_fields=True, rename={"fields": "is"}):
    """What has to be so; kits/class/README.md describes the fields."""

    say: str
    pod: str | None = None
    labels: Labels = {}
    bound: int | None = None
    nodes: Labels | None = None
    skew: Skew | None = None
    has: dict[str, Any] | None = None
    node: str | None = None
    fields: dict[str, Any] = {}
    emptied: str | None = None
    why: Why | None = None


class Exercise(msgspec.Struct, forbid_unknown_fields=True):
    """One exercise: a task, and when it is done."""

    title: str
    task: str
    checks: Annotated[
        list[Check], msgspec.Meta(min_length=1, max_length=limits.CLASS_CHECKS.highest)
    ]
    #: what its cluster is created with, which is the business of the program that does it
    cluster: dict[str, Any] = {}
    objects: list[dict[str, Any]] = []
    nodes: list[dict[str, Any]] = []


def read_exercises(cluster: Cluster) -> dict[str, Exercise]:
    """The exercises of a class by number, "01"; BadRequest names what is wrong with one."""
    rows = DataObject.objects.filter(
        cluster=cluster,
        kind=CONFIG_MAP,
        namespace="default",
        name__startswith="exercise-",
    )
    exercises = {}
    for name, data in rows.order_by("name").values_list("name", "body__data"):
        if number := NAME.fullmatch(name):
            exercises[number[1]] = read_exercise(name, (data or {}).get(KEY, ""))
    return exercises


def read_exercise(name: str, text: str) -> Exercise:
    """The exercise in a text; BadRequest begins with the name."""
    try:
        return msgspec.convert(parse_yaml(text, strict=True), Exercise)
    except UnreadableDocument as error:
        raise BadRequest(f"{name}: {error}") from error
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$")
        where = f"{place.strip('`.')}: " if place else ""
        raise BadRequest(f"{name}: {where}{message}") from error
