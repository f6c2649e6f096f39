"""The rules of roles: what they allow, which others they cover, and what roles aggregate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from apps.cluster.access.questions import Access
from apps.scheduler.labels.selectors import from_label_selector
from apps.scheduler.objects import LabelSelector

Body = Mapping[str, Any]

_ANY: Final = "*"
#: A role with more rules of others than this aggregates no more of them.
MOST_AGGREGATED: Final = 10_000


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: verbs on resources, or on addresses without a resource."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    def allows(self, access: Access) -> bool:
        """Whether it allows what a request does."""
        if not _has(self.verbs, access.verb):
            return False
        if access.path:
            return any(_matches_url(url, access.path) for url in self.urls)
        return (
            _has(self.groups, access.group)
            and any(_matches(each, access.resource, access.subresource) for each in self.resources)
            and (not self.names or access.name in self.names)
        )

    def covers(self, part: Rule) -> bool:
        """Whether this rule allows everything that `part`, a part of another rule, allows."""
        if not _has(self.verbs, part.verbs[0]):
            return False
        if part.urls:
            return any(url == part.urls[0] or _is_below(part.urls[0], url) for url in self.urls)
        resource, _, subresource = part.resources[0].partition("/")
        return (
            _has(self.groups, part.groups[0])
            and any(_matches(each, resource, subresource) for each in self.resources)
            and (not self.names or bool(part.names and part.names[0] in self.names))
        )

    def parts(self) -> Iterator[Rule]:
        """Rules of one verb, one group, one resource and at most one name, or of one address."""
        for group in self.groups:
            for resource in self.resources:
                for verb in self.verbs:
                    for name in self.names or ("",):
                        names = (name,) if name else ()
                        yield Rule((verb,), (group,), (resource,), names)
        for url in self.urls:
            for verb in self.verbs:
                yield Rule((verb,), urls=(url,))

    @property
    def size(self) -> int:
        """The number of its parts, which grows faster than the rule."""
        named = len(self.groups) * len(self.resources) * max(1, len(self.names))
        return (named + len(self.urls)) * len(self.verbs)

    def __str__(self) -> str:
        """The rule as errors of the API server show it."""
        fields = (
            ("APIGroups", self.groups),
            ("Resources", self.resources),
            ("NonResourceURLs", self.urls),
            ("ResourceNames", self.names),
            ("Verbs", self.verbs),
        )
        shown = (f"{name}:[{' '.join(map(_quoted, texts))}]" for name, texts in fields if texts)
        return f"{{{', '.join(shown)}}}"

    @property
    def body(self) -> dict[str, Any]:
        """The rule as reviews list it."""
        fields = (
            ("verbs", self.verbs),
            ("apiGroups", self.groups),
            ("resources", self.resources),
            ("resourceNames", self.names),
            ("nonResourceURLs", self.urls),
        )
        return {name: list(texts) for name, texts in fields if texts}


#: What only those hold who may do everything.
EVERYTHING: Final = (
    Rule((_ANY,), (_ANY,), (_ANY,)),
    Rule((_ANY,), urls=(_ANY,)),
)


def rules_of(role: Body) -> tuple[Rule, ...]:
    """The rules of a stored role."""
    return tuple(
        Rule(
            *(
                tuple(rule.get(name) or ())
                for name in ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
            )
        )
        for rule in role.get("rules") or ()
    )


def uncovered(wanted: Iterable[Rule], held: Sequence[Rule]) -> list[Rule]:
    """The parts of rules that no rule covers that is held."""
    parts = (part for rule in wanted for part in rule.parts())
    return [part for part in parts if not any(rule.covers(part) for rule in held)]


def describe(parts: Iterable[Rule]) -> str:
    """Parts of rules as errors list them: one line for each resource with all its verbs."""
    merged: dict[object, Rule] = {}
    for part in parts:
        key = part if part.urls else (part.groups, part.resources, part.names)
        known = merged.get(key)
        merged[key] = replace(known, verbs=known.verbs + part.verbs) if known else part
    return "\n".join(sorted({str(rule) for rule in merged.values()}))


def aggregate(roles: Mapping[str, Body]) -> dict[str, list[Body]]:
    """The rules that ClusterRoles with an aggregationRule should have; only those that differ.

    `roles` are all ClusterRoles by name. A role that aggregates another such role follows it: what
    this returns has to be written, and this be called again, until it returns nothing.
    """
    aggregated = {
        name: _distinct(_selected(name, role, roles))
        for name, role in roles.items()
        if role.get("aggregationRule")
    }
    return {
        name: rules
        for name, rules in aggregated.items()
        if rules != (roles[name].get("rules") or [])
    }


def _selected(name: str, role: Body, roles: Mapping[str, Body]) -> Iterator[Body]:
    """The rules of all roles that the selectors of a role match, each selector's by name."""
    for selector in role["aggregationRule"].get("clusterRoleSelectors") or ():
        selects = from_label_selector(msgspec.convert(selector, LabelSelector)).matches
        for other in sorted(roles):
            if other != name and selects(roles[other]["metadata"].get("labels") or {}):
                yield from roles[other].get("rules") or ()


def _distinct(rules: Iterable[Body]) -> list[Body]:
    distinct: dict[bytes, Body] = {}
    for rule in rules:
        distinct.setdefault(msgspec.json.encode(rule, order="deterministic"), rule)
        if len(distinct) >= MOST_AGGREGATED:
            break
    return list(distinct.values())


def _has(texts: Sequence[str], text: str) -> bool:
    return _ANY in texts or text in texts


def _matches(resource: str, wanted: str, subresource: str) -> bool:
    if resource == _ANY:
        return True
    if not subresource:
        return resource == wanted
    return resource in (f"{wanted}/{subresource}", f"*/{subresource}")


def _matches_url(url: str, path: str) -> bool:
    return url in (_ANY, path) or _is_below(path, url)


def _is_below(path: str, url: str) -> bool:
    return url.endswith(_ANY) and path.startswith(url.rstrip(_ANY))


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()
