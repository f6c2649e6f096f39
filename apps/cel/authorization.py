"""The values behind the variable `authorizer`: questions about what a user may do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from apps.cel.types import Type
from apps.cel.values import CelError, Value

AUTHORIZER: Final = Type("kubernetes.authorization.Authorizer")
RESOURCE_CHECK: Final = Type("kubernetes.authorization.ResourceCheck")


@dataclass(frozen=True, slots=True)
class Question:
    """What may be asked. `account`: the (namespace, name) of a service account, or the user."""

    verb: str = ""
    account: tuple[str, str] | None = None
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to a question."""

    is_allowed: bool
    why: str = ""


Decide = Callable[[Question], Decision]


@dataclass(frozen=True, slots=True)
class GroupCheck:
    decide: Decide
    question: Question


@dataclass(frozen=True, slots=True)
class ResourceCheck:
    decide: Decide
    question: Question


@dataclass(frozen=True, slots=True)
class PathCheck:
    decide: Decide
    question: Question


class Authorizer(dict[str, Value]):
    """Its one field is `requestResource`: the check of what the request is about."""

    def __init__(self, decide: Decide, about: Question, account: tuple[str, str] | None = None):
        super().__init__(requestResource=ResourceCheck(decide, replace(about, account=account)))
        self.decide = decide
        self.about = about
        self.account = account


def check_path(authorizer: Authorizer, path: str) -> Value:
    if not path.strip():
        return CelError("path must not be empty")
    return PathCheck(authorizer.decide, Question(account=authorizer.account, path=path))


def check_group(authorizer: Authorizer, group: str) -> Value:
    return GroupCheck(authorizer.decide, Question(account=authorizer.account, group=group))


def of_service_account(authorizer: Authorizer, namespace: str, name: str) -> Value:
    return Authorizer(authorizer.decide, authorizer.about, (namespace, name))


def check_resource(check: GroupCheck, resource: str) -> Value:
    if not resource.strip():
        return CelError("resource must not be empty")
    return ResourceCheck(check.decide, replace(check.question, resource=resource))


def with_subresource(check: ResourceCheck, subresource: str) -> Value:
    return ResourceCheck(check.decide, replace(check.question, subresource=subresource))


def with_namespace(check: ResourceCheck, namespace: str) -> Value:
    return ResourceCheck(check.decide, replace(check.question, namespace=namespace))


def with_name(check: ResourceCheck, name: str) -> Value:
    return ResourceCheck(check.decide, replace(check.question, name=name))


def with_selector(check: ResourceCheck, selector: str) -> Value:
    """Selectors narrow what is asked about; here no decision depends on them."""
    return check


def ask(check: ResourceCheck | PathCheck, verb: str) -> Value:
    return check.decide(replace(check.question, verb=verb))
