"""Nobody gives more than they have: checks of new and changed roles and bindings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from apps.cluster.access.deciding import decide
from apps.cluster.access.default_policy import RBAC
from apps.cluster.access.identity import Identity
from apps.cluster.access.policy_rules import EVERYTHING, Rule, describe, rules_of, uncovered
from apps.cluster.access.questions import Access
from apps.cluster.errors import BadRequest, Forbidden, NotFound, qualified

Body = Mapping[str, Any]

#: kind -> its plural
_ROLES: Final = {"Role": "roles", "ClusterRole": "clusterroles"}
_BINDINGS: Final = {"RoleBinding": "rolebindings", "ClusterRoleBinding": "clusterrolebindings"}
#: Of the parts of a rule with rules that are held: about a second.
_MOST_COMPARISONS: Final = 1_000_000
#: What only matters to the garbage collector.
_COLLECTED: Final = ("finalizers", "managedFields", "ownerReferences", "resourceVersion")


def check_grant(identity: Identity, new: Body, old: Body | None = None) -> None:
    """Raise Forbidden if a user may not write the role or binding `new`, `old` before.

    Such users need the verb `escalate` for roles, `bind` for the role of a binding, or everything
    that the role allows. Raises NotFound if a binding refers to a role that does not exist, and
    BadRequest for rules that take too long to compare.
    """
    if old is not None and _content(new) == _content(old):
        return
    if new["kind"] in _ROLES:
        _check_role(identity, new, old)
    elif new["kind"] in _BINDINGS:
        _check_binding(identity, new)


def _check_role(identity: Identity, new: Body, old: Body | None) -> None:
    plural, metadata = _ROLES[new["kind"]], new["metadata"]
    namespace, name = metadata.get("namespace", ""), metadata.get("name", "")
    if decide(identity, Access("escalate", RBAC, "v1", plural, "", namespace, name)).allowed:
        return
    _check_covered(identity, rules_of(new), plural, namespace, name)
    aggregates = new.get("aggregationRule") or (old or {}).get("aggregationRule")
    if aggregates and _missing(identity, EVERYTHING, namespace)[0]:
        why = "must have cluster-admin privileges to use the aggregationRule"
        raise _refusal(plural, name, why)


def _check_binding(identity: Identity, new: Body) -> None:
    plural, metadata, reference = _BINDINGS[new["kind"]], new["metadata"], new.get("roleRef") or {}
    namespace, role = metadata.get("namespace", ""), reference.get("name", "")
    kind = _ROLES.get(reference.get("kind", ""), "")
    if decide(identity, Access("bind", RBAC, "v1", kind, "", namespace, role)).allowed:
        return
    find = identity.find_policy
    rules = find().role(reference, namespace) if find and kind else None
    if rules is None:
        raise NotFound(plural, role, RBAC)
    _check_covered(identity, rules, plural, namespace, metadata.get("name", ""))


def _check_covered(
    identity: Identity, rules: Sequence[Rule], plural: str, namespace: str, name: str
) -> None:
    missing, errors = _missing(identity, rules, namespace)
    if not missing:
        return
    groups = " ".join(msgspec.json.encode(group).decode() for group in identity.groups)
    why = (
        f'user "{identity.name}" (groups=[{groups}]) is attempting to grant RBAC permissions not '
        f"currently held:\n{describe(missing)}"
    )
    raise _refusal(plural, name, f"{why}; resolution errors: [{errors}]" if errors else why)


def _missing(identity: Identity, rules: Sequence[Rule], namespace: str) -> tuple[list[Rule], str]:
    """What a user does not have of these rules, and why its own may be incomplete."""
    held: Sequence[Rule] = ()
    errors, size = "", sum(rule.size for rule in rules)
    if identity.role is None and identity.find_policy is not None:
        held, errors = identity.find_policy().rules(identity.name, identity.groups, namespace)
    if size * max(1, len(held)) > _MOST_COMPARISONS:
        raise BadRequest(f"the rules combine verbs, resources and names in {size} ways")
    if identity.role is None:
        return uncovered(rules, held), errors
    parts = (part for rule in rules for part in rule.parts())
    return [part for part in parts if not decide(identity, _access(part)).allowed], ""


def _access(part: Rule) -> Access:
    if part.urls:
        return Access(part.verbs[0], path=part.urls[0])
    resource, _, subresource = part.resources[0].partition("/")
    return Access(part.verbs[0], part.groups[0], "", resource, subresource)


def _content(body: Body) -> Body:
    metadata = {key: each for key, each in body["metadata"].items() if key not in _COLLECTED}
    return {**body, "metadata": metadata}


def _refusal(plural: str, name: str, why: str) -> Forbidden:
    details = {"name": name, "group": RBAC, "kind": plural}
    return Forbidden(f'{qualified(plural, RBAC)} "{name}" is forbidden: {why}', details=details)
