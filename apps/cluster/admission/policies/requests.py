"""A request as policies see it: what they match, and the values of their variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
_OPTIONS: Final = {CREATE: "CreateOptions", UPDATE: "UpdateOptions", DELETE: "DeleteOptions"}
_META: Final = "meta.k8s.io/v1"
_TIMES: Final = ("creationTimestamp", "deletionTimestamp")
#: What expressions do not see of a namespace.
_HIDDEN: Final = ("managedFields", "ownerReferences")


@dataclass(frozen=True, slots=True)
class Review:
    """One request for an object, as far as policies are concerned."""

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

    @property
    def of_namespace(self) -> bool:
        """Whether it is about a namespace, which is in itself."""
        return self.kind.name == "Namespace" and not self.kind.group

    @property
    def place(self) -> str:
        """The namespace, as rules see it."""
        return self.name if self.of_namespace else self.namespace

    def variables(self, namespace: Body | None, params: Body | None) -> dict[str, Value]:
        """The values of the variables of expressions, without those of the policy."""
        identity = self._identity()
        about = Question(
            group=self.kind.group,
            resource=self.kind.plural,
            subresource=self.subresource,
            namespace=self.namespace,
            name=self.name,
        )
        return {
            "object": self.object,
            "oldObject": self.old,
            "params": params,
            "request": self._request(identity),
            "namespaceObject": None if namespace is None else _visible(namespace),
            "authorizer": Authorizer(lambda question: _answer(identity, question), about),
        }

    def _identity(self) -> Identity:
        return self.actor.identity or Identity(self.actor.user, (AUTHENTICATED,))

    def _request(self, identity: Identity) -> dict[str, Value]:
        version, name = self.shape if self.shape[1] else (self.kind.api_version, self.kind.name)
        group, _, version = version.rpartition("/")
        kind = {"group": group, "version": version, "kind": name}
        resource = {
            "group": self.kind.group,
            "version": self.kind.version,
            "resource": self.kind.plural,
        }
        options = {"kind": _OPTIONS[self.operation], "apiVersion": _META}
        if self.actor.manager and self.operation != DELETE:
            options["fieldManager"] = self.actor.manager
        request: dict[str, Value] = {
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "name": self.name,
            "operation": self.operation,
            "userInfo": identity.user_info,
            "dryRun": self.dry_run,
            "options": options,
        }
        if self.place:
            request["namespace"] = self.place
        if self.subresource:
            request |= dict.fromkeys(("subResource", "requestSubResource"), self.subresource)
        return request


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
