"""Whether a policy, or its binding, is about a request: rules, names and selectors."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from apps.cluster.admission.policies.requests import DELETE, Review
from apps.cluster.lookups import Lookups
from apps.scheduler.labels import Selector, from_label_selector
from apps.scheduler.objects import LabelSelector

Resources = Mapping[str, Any]


def matches(resources: Resources, review: Review, lookups: Lookups) -> bool:
    """Whether `matchConstraints` of a policy or `matchResources` of a binding match."""
    if not _in_namespaces(resources.get("namespaceSelector"), review, lookups):
        return False
    selector = resources.get("objectSelector")
    if selector and not _selects_object(selector, review):
        return False
    versions = _versions(review, is_exact=resources.get("matchPolicy") == "Exact")
    excluded = resources.get("excludeResourceRules") or ()
    if any(_matches_rule(rule, review, versions) for rule in excluded):
        return False
    rules = resources.get("resourceRules")
    return not rules or any(_matches_rule(rule, review, versions) for rule in rules)


def may_match(resources: Resources, kind_group: str, plural: str, operation: str) -> bool:
    """Whether the rules alone may match a request for objects of a kind, without selectors."""
    rules = resources.get("resourceRules")
    return not rules or any(
        _has(rule.get("operations"), operation)
        and _has(rule.get("apiGroups"), kind_group)
        and any(_is_resource(each, plural, "") for each in rule.get("resources") or ())
        for rule in rules
    )


def _versions(review: Review, *, is_exact: bool) -> Container[str]:
    """The versions of which a rule has to name one: objects are reviewed as they are stored."""
    kind = review.kind
    if is_exact:
        return (kind.version,)
    return _ANY if kind.definition_name else (kind.version, *kind.other_versions)


class _Any(Container[str]):
    """The versions of a custom resource: a rule does not have to name the stored one."""

    def __contains__(self, version: object) -> bool:
        return True


_ANY: Final = _Any()


def _matches_rule(rule: Mapping[str, Any], review: Review, versions: Container[str]) -> bool:
    kind, scope = review.kind, rule.get("scope") or "*"
    is_namespaced = bool(review.namespace) and not review.of_namespace
    if scope != "*" and (scope == "Namespaced") != is_namespaced:
        return False
    names = rule.get("resourceNames")
    return (
        _has(rule.get("operations"), review.operation)
        and _has(rule.get("apiGroups"), kind.group)
        and any(each == "*" or each in versions for each in rule.get("apiVersions") or ())
        and any(
            _is_resource(each, kind.plural, review.subresource)
            for each in rule.get("resources") or ()
        )
        and (not names or review.name in names)
    )


def _has(values: Sequence[str] | None, wanted: str) -> bool:
    return values is not None and ("*" in values or wanted in values)


def _is_resource(given: str, plural: str, subresource: str) -> bool:
    resource, _, part = given.partition("/")
    return resource in ("*", plural) and part in ("*", subresource)


def _in_namespaces(selector: Mapping[str, Any] | None, review: Review, lookups: Lookups) -> bool:
    """Objects outside of namespaces are never exempted."""
    if not selector or not review.place:
        return True
    if review.of_namespace and review.operation != DELETE:
        return _selects(selector, review.object)
    return _selects(selector, lookups.namespace(review.place))


def _selects_object(selector: Mapping[str, Any], review: Review) -> bool:
    """The new object or the old one."""
    return _selects(selector, review.object) or _selects(selector, review.old)


def _selects(selector: Mapping[str, Any], body: Mapping[str, Any] | None) -> bool:
    if body is None:
        return False
    labels = (body.get("metadata") or {}).get("labels") or {}
    return parse_selector(selector).matches(labels)


def parse_selector(selector: Mapping[str, Any]) -> Selector:
    """A valid label selector."""
    return _parsed(msgspec.json.encode(selector, order="sorted"))


@lru_cache(maxsize=1024)
def _parsed(selector: bytes) -> Selector:
    return from_label_selector(msgspec.json.decode(selector, type=LabelSelector))
