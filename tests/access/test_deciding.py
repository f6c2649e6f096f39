"""What each role may do in the Kubernetes API: every verb of every resource."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from apps.api.kubernetes.resources import SERVED
from apps.cluster.access.deciding import decide
from apps.cluster.access.default_policy import default_policy
from apps.cluster.access.identity import AUTHENTICATED, MASTERS, OPERATORS, VIEWERS, Identity
from apps.cluster.access.policy import Policy
from apps.cluster.access.questions import Access

VIEWER = Identity("vera", (VIEWERS, AUTHENTICATED))
OPERATOR = Identity("otto", (OPERATORS, AUTHENTICATED))
ADMIN = Identity("ann", (MASTERS, AUTHENTICATED))
READER = replace(ADMIN, read_only=True)
STRANGER = Identity(
    "eve", (AUTHENTICATED,), find_policy=lambda: Policy(default_policy(aggregated=True))
)
SESSIONS = {"pods/attach", "pods/exec", "pods/portforward"}
ONLY_ADMINS = {
    "serviceaccounts/token",
    "tokenreviews",
    "subjectaccessreviews",
    "localsubjectaccessreviews",
}
EVERYONE = {"selfsubjectreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews"}


def accesses() -> Iterator[tuple[str, Access]]:
    for resource in SERVED:
        own = ("", resource.verbs)
        for name, verbs in (own, *((sub.name, sub.verbs) for sub in resource.subresources)):
            qualified = f"{resource.plural}/{name}" if name else resource.plural
            for verb in verbs:
                group, version = resource.group, resource.version
                yield qualified, Access(verb, group, version, resource.plural, name, "default")


def test_every_verb_of_every_resource() -> None:
    checked = 0
    for name, access in accesses():
        reading = access.verb in ("get", "list", "watch") and name not in SESSIONS
        allowed = {
            VIEWER.name: (reading and name != "secrets") or name in EVERYONE,
            OPERATOR.name: name not in ONLY_ADMINS,
            ADMIN.name: True,
        }
        for identity in (VIEWER, OPERATOR, ADMIN):
            assert decide(identity, access).allowed is allowed[identity.name], (name, access.verb)
        assert decide(READER, access).allowed is (reading or name in EVERYONE), name
        assert decide(STRANGER, access).allowed is (name in EVERYONE), name
        checked += 1
    assert checked > 500


def test_viewers_read_no_secrets_whatever_stands_for_them() -> None:
    for group, resource in (("", "secrets"), ("*", "secrets"), ("", "*"), ("*", "*")):
        assert not decide(VIEWER, Access("list", group, "v1", resource)).allowed
        assert decide(OPERATOR, Access("list", group, "v1", resource)).allowed
    assert decide(VIEWER, Access("list", "apps", "v1", "*")).allowed


def test_impersonation_and_addresses_without_a_resource() -> None:
    impersonate = Access("impersonate", "", "v1", "users", name="bob")
    metrics, version = Access("get", path="/metrics"), Access("get", path="/version")
    everyone = (VIEWER, OPERATOR, ADMIN, READER, STRANGER)
    assert [decide(each, impersonate).allowed for each in everyone] == [0, 0, 1, 0, 0]
    assert [decide(each, metrics).allowed for each in everyone] == [1, 1, 1, 1, 0]
    assert all(decide(each, version).allowed for each in everyone)
