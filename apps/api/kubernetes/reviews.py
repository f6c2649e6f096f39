"""Access reviews and the identity of a user: questions that are posted, answered and not stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from apps.api.kubernetes import params, resources
from apps.api.kubernetes.calls import Answer, Call
from apps.api.kubernetes.custom import resources_of
from apps.cluster import service_tokens
from apps.cluster.access import deciding
from apps.cluster.access.identity import Identity, identity_of, service_account_groups
from apps.cluster.access.questions import Access
from apps.cluster.errors import BadRequest, Cause, Invalid, NotFound
from apps.cluster.ownership.creation import own_created
from apps.cluster.ownership.managers import creation_entry
from apps.cluster.validation.causes import invalid, required, sort_keys
from apps.people.authentication import InvalidCredentials, user_of_authorization

Body = dict[str, Any]

_AUTHORIZATION = "authorization.k8s.io"
#: Kinds whose answers have nothing of the metadata that was sent.
_UNOWNED = ("SelfSubjectReview", "SelfSubjectRulesReview")
_OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})


def answer(call: Call) -> Answer:
    """POST of a review; its answer is the review with a status."""
    validation = params.write_options(call.query, call.method).validation
    body, warnings = call.read_object(validation)
    if attributes := (body.get("spec") or {}).get("resourceAttributes"):
        # empty ones are not sent
        given = {name: value for name, value in attributes.items() if value not in ("", None)}
        body = {**body, "spec": {**body["spec"], "resourceAttributes": given}}
    kind = call.resource.kind.name
    if kind not in _UNOWNED:
        body = {**body, "metadata": _owned_by_client(call, body)}
    status = _REVIEWS[kind](call, body)
    metadata = body.get("metadata") or {}
    if call.resource.namespaced:
        metadata = {**metadata, "namespace": call.namespace}
    if kind in _UNOWNED:
        metadata = {}
    if kind == "SelfSubjectReview":
        metadata = {"creationTimestamp": f"{call.cluster.now():%Y-%m-%dT%H:%M:%SZ}"}
    typed = {"kind": kind, "apiVersion": call.resource.api_version}
    return Answer({**typed, **body, "metadata": metadata, "status": status}, 201, warnings)


def _owned_by_client(call: Call, body: Body) -> Body:
    """The metadata of a review that says which fields its client has set."""
    now = f"{call.cluster.now():%Y-%m-%dT%H:%M:%SZ}"
    entry = creation_entry(call.actor.manager, call.resource.api_version, now)
    draft = {**body, "metadata": {**(body.get("metadata") or {}), "managedFields": [entry]}}
    own_created(draft, call.resource.definition, call.resource.kind)
    metadata: Body = draft["metadata"]
    for each in metadata.get("managedFields", ()):
        each["fieldsV1"] = sort_keys(each["fieldsV1"])
    return metadata


def _review_own_access(call: Call, body: Body) -> Body:
    """SelfSubjectAccessReview: may the user of this request do that?"""
    spec = body.get("spec") or {}
    _check([*_attribute_causes(spec), *_metadata_causes(body)])
    return _decide(call.identity, spec)


def _review_access(call: Call, body: Body) -> Body:
    """SubjectAccessReview: may that user do that?"""
    spec = body.get("spec") or {}
    _check([*_subject_causes(spec), *_metadata_causes(body)])
    return _decide(deciding.with_role(_subject(spec), call.cluster), spec)


def _review_local_access(call: Call, body: Body) -> Body:
    """LocalSubjectAccessReview: the same in one namespace."""
    spec = body.get("spec") or {}
    metadata = body.get("metadata") or {}
    if metadata.get("namespace", call.namespace) != call.namespace:
        raise BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    causes = [*_subject_causes(spec), *_metadata_causes(body, namespaced=True)]
    attributes = spec.get("resourceAttributes")
    if attributes is not None and attributes.get("namespace", "") != call.namespace:
        field = "spec.resourceAttributes.namespace"
        why = "must match metadata.namespace"
        causes.append(invalid(field, attributes.get("namespace", ""), why))
    if (other := spec.get("nonResourceAttributes")) is not None:
        field = "spec.nonResourceAttributes"
        causes.append(invalid(field, _shown(other), "disallowed on this kind of request"))
    _check(causes)
    return _decide(deciding.with_role(_subject(spec), call.cluster), spec)


def _review_own_rules(call: Call, body: Body) -> Body:
    """SelfSubjectRulesReview: all that the user of this request may do in a namespace."""
    if not (body.get("spec") or {}).get("namespace"):
        raise BadRequest("no namespace on request")
    namespace = body.pop("spec")["namespace"]
    # the API server drops it
    body["spec"] = {}
    identity = call.identity
    if identity.find_policy is None or not deciding.is_decided_by_policy(identity):
        paths = deciding.public_paths(identity)
        other = [{"verbs": ["get"], "nonResourceURLs": paths}] if paths else []
        rules = {"resourceRules": _resource_rules(call), "nonResourceRules": other}
        return {**rules, "incomplete": False}
    granted, errors = identity.find_policy().rules(identity.name, identity.groups, namespace)
    return {
        "resourceRules": [rule.body for rule in granted if not rule.urls],
        "nonResourceRules": [rule.body for rule in granted if rule.urls],
        "incomplete": False,
        **({"evaluationError": errors} if errors else {}),
    }


def _resource_rules(call: Call) -> list[Body]:
    """The decision on each verb of each resource, grouped by verbs and API group."""
    grouped: defaultdict[tuple[tuple[str, ...], str], list[str]] = defaultdict(list)
    served = (*resources.SERVED, *resources_of(call.cluster))
    # one version of a group stands for all
    named = {(each.group, each.plural): each for each in served}
    for (group, plural), resource in named.items():
        subresources = [(sub.name, sub.verbs) for sub in resource.subresources]
        for name, verbs in (("", resource.verbs), *subresources):
            access = Access("", group, resource.version, plural, name)
            allowed = tuple(
                verb
                for verb in verbs
                if deciding.decide(call.identity, replace(access, verb=verb)).allowed
            )
            if allowed:
                grouped[allowed, group].append(f"{plural}/{name}" if name else plural)
    return [
        {"verbs": list(verbs), "apiGroups": [group], "resources": plurals}
        for (verbs, group), plurals in grouped.items()
    ]


def _review_self(call: Call, body: Body) -> Body:
    """SelfSubjectReview: who is the user of this request?"""
    return {"userInfo": call.identity.user_info}


def _review_token(call: Call, body: Body) -> Body:
    """TokenReview: whose token is this?"""
    spec = body.get("spec") or {}
    token = spec.get("token", "")
    if not token:
        raise BadRequest("token is required for TokenReview in authentication")
    audiences = spec.get("audiences") or [service_tokens.AUDIENCE]
    try:
        if service_tokens.is_service_token(token):
            user = service_tokens.verify(call.cluster, token, audiences)
        else:
            token_user = user_of_authorization(f"Bearer {token}")
            if token_user is None or service_tokens.AUDIENCE not in audiences:
                raise InvalidCredentials
            user = token_user
        info = identity_of(user, call.cluster).user_info
    except NotFound:
        return {"user": {}, "error": "the user has no role in this cluster"}
    except (InvalidCredentials, service_tokens.InvalidToken) as error:
        text = f": {error}" if isinstance(error, service_tokens.InvalidToken) else ""
        return {"user": {}, "error": f"invalid bearer token{text}"}
    return {"authenticated": True, "user": info, "audiences": audiences}


_REVIEWS: Mapping[str, Callable[[Call, Body], Body]] = {
    "LocalSubjectAccessReview": _review_local_access,
    "SelfSubjectAccessReview": _review_own_access,
    "SelfSubjectReview": _review_self,
    "SelfSubjectRulesReview": _review_own_rules,
    "SubjectAccessReview": _review_access,
    "TokenReview": _review_token,
}


def _decide(identity: Identity, spec: Body) -> Body:
    verdict = deciding.decide(identity, _access(spec))
    status: Body = {"allowed": verdict.allowed}
    if verdict.reason:
        status["reason"] = verdict.reason
    if errors := [*_selector_errors(spec)]:
        status["evaluationError"] = errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
    return status


def _selector_errors(spec: Body) -> Iterator[str]:
    """Why the selectors of a review are ignored."""
    attributes = spec.get("resourceAttributes") or {}
    for name in ("fieldSelector", "labelSelector"):
        requirements = (attributes.get(name) or {}).get("requirements") or ()
        if any(each.get("operator") not in _OPERATORS for each in requirements):
            yield f"spec.resourceAttributes.{name} ignored due to parse error"


def _access(spec: Body) -> Access:
    if (attributes := spec.get("nonResourceAttributes")) is not None:
        return Access(attributes.get("verb", ""), path=attributes.get("path", "") or "/")
    attributes = spec["resourceAttributes"]
    names = ("verb", "group", "version", "resource", "subresource", "namespace", "name")
    return Access(**{name: attributes.get(name, "") for name in names})


def _subject(spec: Body) -> Identity:
    """The user that an access review names; its groups are those that it names, too."""
    name = spec.get("user", "")
    groups = tuple(spec.get("groups") or ()) or service_account_groups(name)
    return Identity(name, groups, spec.get("uid", ""), spec.get("extra") or {})


def _subject_causes(spec: Body) -> Iterator[Cause]:
    yield from _attribute_causes(spec)
    if not spec.get("user") and not spec.get("groups"):
        yield invalid("spec.user", "", "at least one of user or group must be specified")


def _attribute_causes(spec: Body) -> Iterator[Cause]:
    attributes, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if attributes is not None and other is not None:
        why = "cannot be specified in combination with resourceAttributes"
        yield invalid("spec.nonResourceAttributes", _shown(other), why)
    if attributes is None and other is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        yield invalid("spec.resourceAttributes", None, why)
    for name in ("fieldSelector", "labelSelector"):
        if attributes is not None and name in attributes:
            yield from _selector_causes(attributes[name], f"spec.resourceAttributes.{name}")


def _shown(attributes: Body) -> Body:
    """Attributes as errors of the API server show them."""
    return {"Path": attributes.get("path", ""), "Verb": attributes.get("verb", "")}


def _selector_causes(selector: Body, path: str) -> Iterator[Cause]:
    raw, requirements = selector.get("rawSelector"), selector.get("requirements")
    if raw and requirements:
        why = "may not specified at the same time as requirements"
        yield invalid(f"{path}.rawSelector", raw, why)
    if not raw and not requirements:
        why = f"when {path} is specified, requirements or rawSelector is required"
        yield required(f"{path}.requirements", why)


def _metadata_causes(body: Body, *, namespaced: bool = False) -> Iterator[Cause]:
    allowed = {"managedFields", "namespace"} if namespaced else {"managedFields"}
    metadata = body.get("metadata") or {}
    if any(value for name, value in metadata.items() if name not in allowed):
        why = "must be empty except for namespace" if namespaced else "must be empty"
        yield invalid("metadata", metadata, why)


def _check(causes: list[Cause]) -> None:
    """Raise Invalid; the API server names no kind here."""
    if causes:
        refusal = Invalid("", "", causes, _AUTHORIZATION)
        refusal.details.pop("kind")
        raise refusal
