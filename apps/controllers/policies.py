"""Checks the types of ValidatingAdmissionPolicies, and writes what is wrong to their status."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from apps.cluster import kinds
from apps.cluster.custom.versions import all_versions
from apps.cluster.schema import definition_of
from apps.cluster.validation.policy_types import TypedKind, type_warnings
from apps.controllers.cache import ControllerCache, Ref
from apps.controllers.controller import Controller, Step
from apps.controllers.writes import set_status
from apps.scheduler.objects import ValidatingAdmissionPolicy

Body = Mapping[str, Any]
#: group, version, plural -> kind and definition
_Served = Mapping[tuple[str, str, str], tuple[str, str]]

_KIND: Final = kinds.by_name("ValidatingAdmissionPolicy")
#: A policy is checked against so many kinds.
_MOST_KINDS: Final = 10
#: What the API serves beside the kinds that are stored: other versions, and questions.
_ALSO_SERVED: Final = (
    ("", "v1", "bindings", "Binding"),
    ("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview"),
    ("authentication.k8s.io", "v1", "tokenreviews", "TokenReview"),
    ("authorization.k8s.io", "v1", "localsubjectaccessreviews", "LocalSubjectAccessReview"),
    ("authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview"),
    ("authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview"),
    ("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview"),
    ("autoscaling", "v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler"),
    ("events.k8s.io", "v1", "events", "Event"),
)


def refs_for_policy(
    cache: ControllerCache,
    old: ValidatingAdmissionPolicy | None,
    new: ValidatingAdmissionPolicy | None,
) -> Iterable[Ref]:
    return [] if new is None else [(_KIND.name, "", new.metadata.name)]


def reconcile(cache: ControllerCache, ref: Ref, now: datetime) -> Iterator[Step]:
    policy = cache.find_stored(_KIND, *ref[1:])
    if policy is None:
        return
    generation = policy["metadata"]["generation"]
    if (policy.get("status") or {}).get("observedGeneration") == generation:
        return
    served = _served(cache)
    spec = policy["spec"]
    matched = sorted(_matched(spec, served), key=lambda kind: (kind.group, kind.version, kind.name))
    warnings = type_warnings(spec, matched, _params(spec, served))
    checking = {"expressionWarnings": warnings} if warnings else {}
    status = {"observedGeneration": generation, "typeChecking": checking}
    yield set_status(ref, policy["metadata"]["uid"], status)


def _served(cache: ControllerCache) -> _Served:
    gates = cache.gates()
    listed = [
        (kind.group, kind.version, kind.plural, kind.name)
        for kind in kinds.ALL
        if not kind.feature_gate or gates.enabled(kind.feature_gate)
    ]
    served = {
        each[:3]: (each[3], definition_of(each[0], each[1], each[3]))
        for each in (*listed, *_ALSO_SERVED)
    }
    for version in all_versions(cache.cluster):
        kind = version.kind
        served[kind.group, kind.version, kind.plural] = kind.name, kind.schema_name
    return served


def _matched(spec: Body, served: _Served) -> Iterable[TypedKind]:
    """The kinds that the rules of a policy name, without those of rules with a wildcard."""
    matched: dict[TypedKind, None] = {}
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        names = [rule.get(field) or () for field in ("apiGroups", "apiVersions", "resources")]
        if any("*" in each for each in names):
            continue
        groups, versions, plurals = map(sorted, map(set, names))
        for kind in _named(groups, versions, plurals, served):
            matched[kind] = None
            if len(matched) == _MOST_KINDS:
                return matched
    return matched


def _named(
    groups: list[str], versions: list[str], plurals: list[str], served: _Served
) -> Iterator[TypedKind]:
    for group in groups:
        for version in versions:
            for plural in plurals:
                for key, (name, definition) in served.items():
                    # without a group, any that has such a resource is meant
                    if key[1:] == (version, plural) and group in ("", key[0]):
                        yield TypedKind(*key[:2], name, definition)


def _params(spec: Body, served: _Served) -> TypedKind | None:
    given = spec.get("paramKind") or {}
    group, _, version = str(given.get("apiVersion", "")).rpartition("/")
    for key, (name, definition) in served.items():
        if (*key[:2], name) == (group, version, given.get("kind")):
            return TypedKind(group, version, name, definition)
    return None


CONTROLLER = Controller(
    name="types of policies",
    user="validatingadmissionpolicy-status-controller",
    concerns={_KIND.name: refs_for_policy},
    reconcile=reconcile,
)
