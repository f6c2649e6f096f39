"""Gives ClusterRoles with an aggregationRule the rules of those that its selectors match."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.access.policy_rules import aggregate
from apps.controllers.cache import ControllerCache, Ref
from apps.controllers.controller import Controller, Step
from apps.controllers.writes import update_object
from apps.scheduler.objects import ClusterRole

Body = dict[str, Any]

_KIND: Final = kinds.by_name("ClusterRole")
#: They are reconciled together: each may be a part of any other one.
_ALL: Final[Ref] = (_KIND.name, "", "")


def refs_for_role(
    _: ControllerCache, old: ClusterRole | None, new: ClusterRole | None
) -> Iterable[Ref]:
    return [_ALL]


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    roles = {each["metadata"]["name"]: each for each in cache.list_stored(_KIND, "")}
    for name, rules in aggregate(roles).items():
        uid = roles[name]["metadata"]["uid"]
        yield update_object((_KIND.name, "", name), uid, _with_rules(rules))


def _with_rules(rules: Sequence[Mapping[str, Any]]) -> Callable[[Body], Body]:
    return lambda body: {**body, "rules": [*rules]}


CONTROLLER = Controller(
    name="aggregated roles",
    user="clusterrole-aggregation-controller",
    concerns={_KIND.name: refs_for_role},
    reconcile=reconcile,
)
