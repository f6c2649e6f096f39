"""Whether a policy, or its binding, is about a request: rules, names and selectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import msgspec

from apps.cluster.admission.policies.requests import DELETE, Review
from apps.cluster.kind import Kind
from apps.cluster.lookups import Lookups
from apps.scheduler.labels import Selector, from_label_selector
from apps.scheduler.objects import LabelSelector

Resources = Mapping[str, Any]
#: An object of a kind in another version.
Convert = Callable[[Kind, Mapping[str, Any], str], Mapping[str, Any]]


def matches(resources: Resources, review: Review, lookups: Lookups) -> bool:
    """Whether `matchConstraints` of a policy or `matchResources` of a binding match."""
    return matched_version(resources, review, lookups) is not None


def as_matched(
    resources: Resources, review: Review, lookups: Lookups, convert: Convert | None
) -> Review | None:
    """The request in the version for which `matchConstraints` match; None if they do not.

    Objects of built-in kinds are the same in all versions; others remain as they are where they
    cannot be converted.
    """
    version = matched_version(resources, review, lookups)
    if version is None:
        return None
    kind = review.kind
    if convert is None or version == kind.version or kind.conversion is None or review.shape[0]:
        return review
    new, old = (
        None if body is None else convert(kind, body, version)
        for body in (review.object, review.old)
    )
    return replace(review, object=new, old=old, seen_version=version)


def matched_version(resources: Resources, review: Review, lookups: Lookups) -> str | None:
    """The version of the kind for which they match; None if they do not."""
    if not _in_namespaces(resources.get("namespaceSelector"), review, lookups):
        return None
    selector = resources.get("objectSelector")
    if selector and not _selects_object(selector, review):
        return None
    versions = _versions(review, is_exact=resources.get("matchPolicy") == "Exact")
    excluded = resources.get("excludeResourceRules") or ()
    if any(_matches_rule(rule, review, each) for rule in excluded for each in versions):
        return None
    rules = resources.get("resourceRules")
    if not rules:
        return review.kind.version
    matched = (each for each in versions for rule in rules if _matches_rule(rule, review, each))
    return next(matched, None)


def may_match(resources: Resources, kind_group: str, plural: str, operation: str) -> bool:
    """Whether the rules alone may match a request for objects of a kind, without selectors."""
    rules = resources.get("resourceRules")
    return not rules or any(
        _has(rule.get("operations"), operation)
        and _has(rule.get("apiGroups"), kind_group)
        and any(_is_resource(each, plural, "") for each in rule.get("resources") or ())
        for rule in rules
    )


def _versions(review: Review, *, is_exact: bool) -> Sequence[str]:
    """The versions of which a rule has to name one, the requested one first."""
    if is_exact:
        return (review.kind.version,)
    kind = review.kind
    return (kind.version, *kind.other_versions)


def _matches_rule(rule: Mapping[str, Any], review: Review, version: str) -> bool:
    scope = rule.get("scope") or "*"
    is_namespaced = bool(review.namespace) and not review.of_namespace
    if scope != "*" and (scope == "Namespaced") != is_namespaced:
        return False
    names = rule.get("resourceNames")
    return (
        _has(rule.get("operations"), review.operation)
        and _has(rule.get("apiGroups"), review.kind.group)
        and _has(rule.get("apiVersions"), version)
        and any(
            _is_resource(each, review.plural, review.subresource)
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
