"""What the roles and bindings of a cluster allow: role-based access control.

A `Policy` is read once for each `admission_version` of a cluster, which every change of a role or a
binding raises. Only service accounts and impersonated users are asked about here: the role of a
user of the site decides alone, without a query.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection

from apps.cluster import sql
from apps.cluster.access.default_policy import CLUSTER_ADMIN, RBAC, default_policy
from apps.cluster.access.policy_rules import Rule, rules_of
from apps.cluster.access.questions import Access, Verdict
from apps.cluster.models import Cluster

Body = Mapping[str, Any]

_CLUSTER_ROLE, _ROLE = "ClusterRole", "Role"
_CLUSTER_BINDING, _BINDING = "ClusterRoleBinding", "RoleBinding"
_KINDS: Final = (_CLUSTER_ROLE, _ROLE, _CLUSTER_BINDING, _BINDING)
_CLUSTERS_KEPT: Final = 200
_known: Final[OrderedDict[int, tuple[int, Policy]]] = OrderedDict()
_lock: Final = threading.Lock()


def policy_of(cluster: Cluster) -> Policy:
    """The policy of a cluster, as of its `admission_version` or later."""
    known = _known.get(cluster.pk)
    if known is not None and known[0] == cluster.admission_version:
        return known[1]
    policy = Policy(_read(cluster))
    with _lock:
        _known[cluster.pk] = (cluster.admission_version, policy)
        _known.move_to_end(cluster.pk)
        while len(_known) > _CLUSTERS_KEPT:
            _known.popitem(last=False)
    return policy


def _read(cluster: Cluster) -> list[Body]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT body::text FROM cluster_dataobject WHERE cluster_id = %s AND kind = ANY(%s)",
            [cluster.pk, list(_KINDS)],
        )
        objects: list[Body] = [sql.load_json(text) for (text,) in cursor.fetchall()]
    if cluster.has_default_policy or any(_key(each)[2] == CLUSTER_ADMIN for each in objects):
        return objects
    # nobody has read or changed them yet
    names = {_key(each) for each in objects}
    return [
        *objects,
        *(each for each in default_policy(aggregated=True) if _key(each) not in names),
    ]


def _key(body: Body) -> tuple[str, str, str]:
    metadata = body["metadata"]
    return body["kind"], metadata.get("namespace", ""), metadata["name"]


@dataclass(frozen=True, slots=True)
class _Bound:
    """One binding."""

    name: str
    #: As reasons name it.
    text: str
    role: tuple[str, str, str]
    #: (key, as reasons name it), in their order.
    subjects: tuple[tuple[str, str], ...]

    def subject(self, keys: set[str]) -> str:
        """The first subject with one of these keys."""
        return next(text for key, text in self.subjects if key in keys)


class Policy:
    """The roles and bindings of one cluster."""

    def __init__(self, objects: Iterable[Body]) -> None:
        self._roles: dict[tuple[str, str, str], Body] = {}
        self._rules: dict[tuple[str, str, str], tuple[Rule, ...]] = {}
        #: namespace, "" for all -> key of a subject -> its bindings
        self._bound: defaultdict[str, defaultdict[str, list[_Bound]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for each in sorted(objects, key=_key):
            if each["kind"] in (_CLUSTER_ROLE, _ROLE):
                self._roles[_key(each)] = each
            elif each["kind"] in (_CLUSTER_BINDING, _BINDING):
                self._bind(each)

    def decide(self, user: str, groups: Sequence[str], access: Access) -> Verdict:
        """Whether a binding allows something to a user in these groups."""
        errors: list[str] = []
        for text, rules in self._granted(user, groups, access.namespace, errors):
            if any(rule.allows(access) for rule in rules):
                return Verdict(True, f"RBAC: allowed by {text}")
        return Verdict(False, f"RBAC: {_joined(errors)}" if errors else "")

    def rules(self, user: str, groups: Sequence[str], namespace: str) -> tuple[list[Rule], str]:
        """All rules that apply to a user in a namespace, and the errors; "" without any."""
        errors: list[str] = []
        granted = self._granted(user, groups, namespace, errors)
        return [rule for _, rules in granted for rule in rules], _joined(errors)

    def role(self, reference: Body, namespace: str) -> tuple[Rule, ...] | None:
        """The rules of the role to which a binding in a namespace refers; None without it."""
        return self._rules_of(_referenced(reference, namespace))

    def _granted(
        self, user: str, groups: Sequence[str], namespace: str, errors: list[str]
    ) -> Iterator[tuple[str, tuple[Rule, ...]]]:
        """Each binding of a user, in words, with the rules of its role; errors are added."""
        keys = {f"user {user}", *(f"group {group}" for group in groups)}
        for place in ("", namespace) if namespace else ("",):
            by_subject = self._bound.get(place)
            if by_subject is None:
                continue
            bindings = {each.name: each for key in keys for each in by_subject.get(key, ())}
            for _, bound in sorted(bindings.items()):
                rules = self._rules_of(bound.role)
                kind, _, role = bound.role
                if rules is None:
                    errors.append(f'{kind.lower()}.{RBAC} "{role}" not found')
                else:
                    yield f'{bound.text} of {kind} "{role}" to {bound.subject(keys)}', rules

    def _rules_of(self, key: tuple[str, str, str]) -> tuple[Rule, ...] | None:
        rules = self._rules.get(key)
        if rules is None and (role := self._roles.get(key)) is not None:
            rules = self._rules[key] = rules_of(role)
        return rules

    def _bind(self, binding: Body) -> None:
        kind, namespace, name = _key(binding)
        shown = f"{name}/{namespace}" if namespace else name
        subjects = tuple(_subject(each, namespace) for each in binding.get("subjects") or ())
        role = _referenced(binding["roleRef"], namespace)
        bound = _Bound(name, f'{kind} "{shown}"', role, subjects)
        for key in dict.fromkeys(key for key, _ in subjects):
            self._bound[namespace][key].append(bound)


def _referenced(reference: Body, namespace: str) -> tuple[str, str, str]:
    kind = reference["kind"]
    return kind, namespace if kind == _ROLE else "", reference["name"]


def _subject(subject: Body, namespace: str) -> tuple[str, str]:
    kind, name = subject["kind"], subject["name"]
    if kind != "ServiceAccount":
        return f"{kind.lower()} {name}", f'{kind} "{name}"'
    place = subject.get("namespace") or namespace
    return f"user system:serviceaccount:{place}:{name}", f'ServiceAccount "{name}/{place}"'


def _joined(errors: Sequence[str]) -> str:
    return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]" if errors else ""
