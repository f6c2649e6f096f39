"""Priority and fairness of requests: FlowSchemas and PriorityLevelConfigurations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from apps.cluster.errors import Cause
from apps.cluster.validation import names
from apps.cluster.validation.causes import (
    Causes,
    all_invalid,
    forbidden,
    invalid,
    not_supported,
    required,
)

Body = Mapping[str, Any]

_HIGHEST_PRECEDENCE: Final = 10_000
_DISTINGUISHERS: Final = ("ByNamespace", "ByUser")
#: kind of a subject -> the field that describes it
_SUBJECTS: Final = {"User": "user", "Group": "group", "ServiceAccount": "serviceAccount"}
_VERBS: Final = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "proxy",
    "update",
    "watch",
)
_LEVELS: Final = ("Exempt", "Limited")
_RESPONSES: Final = ("Queue", "Reject")
_EXEMPT_NAME: Final = "exempt"
_ONLY_EXEMPT: Final = "must be 'Exempt' if and only if `name` is 'exempt'"
_NOT_NEGATIVE: Final = "must be a non-negative integer"
_MOST_QUEUES: Final = 10_000_000


def validate_flow_schema(schema: Body) -> Causes:
    """A FlowSchema: requests of some subjects, and the priority level they belong to."""
    spec = schema.get("spec") or {}
    precedence = spec.get("matchingPrecedence", 0)
    if precedence <= 0:
        yield invalid("spec.matchingPrecedence", precedence, "must be a positive value")
    if precedence > _HIGHEST_PRECEDENCE:
        detail = f"must not be greater than {_HIGHEST_PRECEDENCE}"
        yield invalid("spec.matchingPrecedence", precedence, detail)
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in _DISTINGUISHERS:
        shown = {"Type": method.get("type", "")}
        yield not_supported("spec.distinguisherMethod.type", shown, _DISTINGUISHERS)
    name = (spec.get("priorityLevelConfiguration") or {}).get("name", "")
    path = "spec.priorityLevelConfiguration.name"
    if not name:
        yield required(path, "must reference a priority level")
    else:
        yield from all_invalid(path, name, names.dns_subdomain(name))
    for index, rules in enumerate(spec.get("rules") or ()):
        yield from _rules(rules, f"spec.rules[{index}]")


def _rules(rules: Body, path: str) -> Causes:
    if not rules.get("subjects"):
        yield required(f"{path}.subjects", "subjects must contain at least one value")
    for index, subject in enumerate(rules.get("subjects") or ()):
        yield from _subject(subject, f"{path}.subjects[{index}]")
    if not rules.get("resourceRules") and not rules.get("nonResourceRules"):
        yield required(
            path, "at least one of resourceRules and nonResourceRules has to be non-empty"
        )
    for index, rule in enumerate(rules.get("resourceRules") or ()):
        yield from _resource_rule(rule, f"{path}.resourceRules[{index}]")
    for index, rule in enumerate(rules.get("nonResourceRules") or ()):
        yield from _plain_rule(rule, f"{path}.nonResourceRules[{index}]")


def _subject(subject: Body, path: str) -> Causes:
    kind = subject.get("kind", "")
    if kind not in _SUBJECTS:
        yield not_supported(f"{path}.kind", kind, sorted(_SUBJECTS))
        return
    for other, field in _SUBJECTS.items():
        described = subject.get(field)
        if other != kind:
            if described is not None:
                why = f"{field} is forbidden when subject kind is not '{other}'"
                yield forbidden(f"{path}.{field}", why)
        elif described is None:
            yield required(f"{path}.{field}", f"{field} is required when subject kind is '{kind}'")
        elif not described.get("name"):
            yield required(f"{path}.{field}.name")
        if other == kind == "ServiceAccount" and described is not None:
            yield from _namespace(described.get("namespace", ""), f"{path}.{field}.namespace")


def _namespace(namespace: str, path: str) -> Causes:
    if not namespace:
        yield required(path, "must specify namespace for service account")
    else:
        yield from all_invalid(path, namespace, names.dns_label(namespace))


def _resource_rule(rule: Body, path: str) -> Causes:
    yield from _verbs(rule.get("verbs") or (), f"{path}.verbs")
    for field, what in (("apiGroups", "api groups"), ("resources", "resources")):
        values = rule.get(field) or ()
        if not values:
            said = "resource rules must supply at least one "
            yield required(f"{path}.{field}", said + what.removesuffix("s"))
        yield from _alone(values, f"{path}.{field}", what)
    namespaces = rule.get("namespaces") or ()
    if not namespaces and not rule.get("clusterScope"):
        why = "resource rules that are not cluster scoped must supply at least one namespace"
        yield required(f"{path}.namespaces", why)
    yield from _alone(namespaces, f"{path}.namespaces", "namespaces")
    for index, namespace in enumerate(namespaces):
        for problem in names.dns_label(namespace) if namespace != "*" else ():
            detail = f"each member of this list must be '*' or a DNS-1123 label; {problem}"
            yield invalid(f"{path}.namespaces[{index}]", namespace, detail)


def _plain_rule(rule: Body, path: str) -> Causes:
    yield from _verbs(rule.get("verbs") or (), f"{path}.verbs")
    urls = rule.get("nonResourceURLs") or ()
    if not urls:
        why = "nonResourceURLs must contain at least one value"
        yield required(f"{path}.nonResourceURLs", why)
    elif len(urls) > 1 and "*" in urls:
        detail = "if '*' is present, must not specify other non-resource URLs"
        yield invalid(f"{path}.nonResourceURLs", list(urls), detail)
        return
    for index, url in enumerate(urls):
        problem = "" if url == "*" else _problem_of_url(url)
        if problem:
            yield invalid(f"{path}.nonResourceURLs[{index}]", url, problem)


def _problem_of_url(url: str) -> str:
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    if "*" in url.removesuffix("/*"):
        return "wildcard can only do suffix matching"
    return ""


def _verbs(verbs: Sequence[str], path: str) -> Causes:
    if not verbs:
        yield required(path, "verbs must contain at least one value")
    elif "*" in verbs:
        yield from _alone(verbs, path, "verbs")
    elif set(verbs) - set(_VERBS):
        yield not_supported(path, list(verbs), _VERBS)


def _alone(values: Sequence[str], path: str, what: str) -> Iterator[Cause]:
    if len(values) > 1 and "*" in values:
        detail = f"if '*' is present, must not specify other {what}"
        yield invalid(path, list(values), detail)


def validate_priority_level(level: Body) -> Causes:
    """A PriorityLevelConfiguration: how many requests run at a time, and what the others do."""
    spec, name = level.get("spec") or {}, level["metadata"].get("name")
    kind, limited = spec.get("type", ""), spec.get("limited")
    if (name == _EXEMPT_NAME) != (kind == "Exempt") and kind in _LEVELS:
        yield invalid("spec.type", kind, _ONLY_EXEMPT)
    if kind not in _LEVELS:
        yield not_supported("spec.type", kind, _LEVELS)
    elif kind == "Exempt":
        if limited is not None:
            yield forbidden("spec.limited", "must be nil if the type is not Limited")
        yield from _shares(spec.get("exempt") or {}, "spec.exempt")
    else:
        if spec.get("exempt") is not None:
            yield forbidden("spec.exempt", "must be nil if the type is Limited")
        if limited is None:
            yield required("spec.limited", "must not be empty when type is Limited")
        else:
            yield from _limited(limited, "spec.limited")


def _shares(exempt: Body, path: str) -> Causes:
    if exempt.get("nominalConcurrencyShares", 0) < 0:
        shares = exempt["nominalConcurrencyShares"]
        yield invalid(f"{path}.nominalConcurrencyShares", shares, _NOT_NEGATIVE)
    yield from _lendable(exempt, path)


def _limited(limited: Body, path: str) -> Causes:
    if limited.get("nominalConcurrencyShares", 0) < 0:
        shares = limited["nominalConcurrencyShares"]
        yield invalid(f"{path}.nominalConcurrencyShares", shares, _NOT_NEGATIVE)
    yield from _response(limited.get("limitResponse") or {}, f"{path}.limitResponse")
    yield from _lendable(limited, path)
    borrowed = limited.get("borrowingLimitPercent")
    if borrowed is not None and borrowed < 0:
        detail = f"if specified, {_NOT_NEGATIVE}"
        yield invalid(f"{path}.borrowingLimitPercent", borrowed, detail)


def _lendable(level: Body, path: str) -> Causes:
    share = level.get("lendablePercent", 0)
    if not 0 <= share <= 100:
        yield invalid(f"{path}.lendablePercent", share, "must be between 0 and 100, inclusive")


def _response(response: Body, path: str) -> Causes:
    kind, queuing = response.get("type", ""), response.get("queuing")
    if kind not in _RESPONSES:
        yield not_supported(f"{path}.type", kind, _RESPONSES)
    elif kind == "Reject" and queuing is not None:
        why = "must be nil if limited.limitResponse.type is not Limited"
        yield forbidden(f"{path}.queuing", why)
    elif queuing is not None:
        yield from _queuing(queuing, f"{path}.queuing")
    elif kind == "Queue":
        why = "must not be empty if limited.limitResponse.type is Limited"
        yield required(f"{path}.queuing", why)


def _queuing(queuing: Body, path: str) -> Causes:
    for field in ("queueLengthLimit", "queues"):
        if queuing.get(field, 0) <= 0:
            yield invalid(f"{path}.{field}", queuing.get(field, 0), "must be positive")
    queues, hand = queuing.get("queues", 0), queuing.get("handSize", 0)
    if queues > _MOST_QUEUES:
        yield invalid(f"{path}.queues", queues, f"must not be greater than {_MOST_QUEUES}")
    if hand <= 0:
        yield invalid(f"{path}.handSize", hand, "must be positive")
    elif hand > queues:
        yield invalid(f"{path}.handSize", hand, f"should not be greater than queues ({queues})")
