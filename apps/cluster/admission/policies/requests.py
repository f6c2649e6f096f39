"""A request as policies see it: what they match, and the values of their variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from apps.cel.authorization import Authorizer, Decision, Question
from apps.cel.conversions import to_timestamp
from apps.cel.values import Value
from apps.cluster.access.deciding import decide
from apps.cluster.access.identity import (
    AUTHENTICATED,
    Identity,
    service_account_groups,
    service_account_name,
)
from apps.cluster.access.questions import Access
from apps.cluster.kind import Kind
from apps.cluster.writes import Actor

Body = Mapping[str, Any]

CREATE, UPDATE, DELETE = "CREATE", "UPDATE", "DELETE"
#: Policies and webhooks never decide about what governs admission itself.
EXEMPT: Final = "admissionregistration.k8s.io"
_OPTIONS: Final = {CREATE: "CreateOptions", UPDATE: "UpdateOptions", DELETE: "DeleteOptions"}
_META: Final = "meta.k8s.io/v1"
_TIMES: Final = ("creationTimestamp", "deletionTimestamp")
#: What expressions do not see of a namespace.
_HIDDEN: Final = ("managedFields", "ownerReferences")


@dataclass(frozen=True, slots=True)
class Review:
    """One request for an object, as policies and webhooks see it."""

    operation: str
    kind: Kind
    actor: Actor
    namespace: str
    name: str
    #: None in a deletion.
    object: Body | None
    #: None in a creation.
    old: Body | None
    subresource: str = ""
    dry_run: bool = False
    #: (apiVersion, kind) of `object`, where it is not of the kind: a Binding, a Scale.
    shape: tuple[str, str] = ("", "")
    #: The resource, where it is not that of the kind: `bindings`.
    resource: str = ""
    #: The DeleteOptions of a deletion.
    options: Body = field(default_factory=dict)
    #: The version of the objects, where it is not that of the kind.
    seen_version: str = ""

    @property
    def of_namespace(self) -> bool:
        """Whether it is about a namespace, which is in itself."""
        return self.kind.name == "Namespace" and not self.kind.group

    @property
    def place(self) -> str:
        """The namespace, as rules see it."""
        return self.name if self.of_namespace else self.namespace

    @property
    def plural(self) -> str:
        return self.resource or self.kind.plural

    @property
    def shown_name(self) -> str:
        """The name in messages and in `request`: none for a collection."""
        return "" if self.actor.asked.collection else self.name

    def variables(self, namespace: Body | None, params: Body | None) -> dict[str, Value]:
        """The values of the variables of expressions, without those of the policy."""
        identity = self._identity()
        about = Question(
            group=self.kind.group,
            resource=self.plural,
            subresource=self.subresource,
            namespace=self.namespace,
            name=self.name,
        )
        return {
            "object": self.object,
            "oldObject": self.old,
            "params": params,
            "request": self.request(self.seen_version or self.kind.version),
            "namespaceObject": None if namespace is None else _visible(namespace),
            "authorizer": Authorizer(lambda question: _answer(identity, question), about),
        }

    def _identity(self) -> Identity:
        return self.actor.identity or Identity(self.actor.user, (AUTHENTICATED,))

    def request(self, version: str) -> dict[str, Value]:
        """The request as one for this version of the kind, without the objects."""
        request: dict[str, Value] = {
            **self._addressed("", version),
            **self._addressed("request", self.kind.version),
            "name": self.shown_name,
            "operation": self.operation,
            "userInfo": self._identity().user_info,
            "dryRun": self.dry_run,
            "options": self._options(),
        }
        if self.place:
            request["namespace"] = self.place
        return request

    def _addressed(self, prefix: str, version: str) -> dict[str, Value]:
        """Kind, resource and subresource; the names of the fields have the prefix."""
        given, name = self.shape
        kind_version = given or f"{self.kind.group}/{version}"
        kind_group, _, kind_version = kind_version.rpartition("/")
        addressed: dict[str, Value] = {
            "kind": {"group": kind_group, "version": kind_version, "kind": name or self.kind.name},
            "resource": {
                "group": self.kind.group,
                "version": version,
                "resource": self.plural,
            },
        }
        if self.subresource:
            addressed["subResource"] = self.subresource
        if not prefix:
            return addressed
        return {f"{prefix}{key[0].upper()}{key[1:]}": value for key, value in addressed.items()}

    def _options(self) -> dict[str, Value]:
        given = self.options if self.operation == DELETE else self.actor.asked.options
        options = {key: value for key, value in given.items() if key != "dryRun"}
        options |= {"kind": _OPTIONS[self.operation], "apiVersion": _META}
        return {**options, "dryRun": ["All"]} if self.dry_run else options


def _visible(namespace: Body) -> dict[str, Value]:
    metadata = {k: v for k, v in namespace["metadata"].items() if k not in _HIDDEN}
    metadata |= {each: to_timestamp(metadata[each]) for each in _TIMES if metadata.get(each)}
    return {**namespace, "metadata": metadata}


def _answer(identity: Identity, question: Question) -> Decision:
    if question.account is not None:
        name = service_account_name(*question.account)
        groups = (*service_account_groups(name), AUTHENTICATED)
        identity = Identity(name, groups, find_policy=identity.find_policy)
    if question.path:
        access = Access(question.verb, path=question.path)
    else:
        access = Access(
            question.verb,
            question.group,
            "*",
            question.resource,
            question.subresource,
            question.namespace,
            question.name,
        )
    verdict = decide(identity, access)
    return Decision(verdict.allowed, verdict.reason)
