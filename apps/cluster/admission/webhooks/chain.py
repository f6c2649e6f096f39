"""The admission webhooks of a cluster, in their order, and how a request passes them."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from apps.cluster.admission.draft import forbidden
from apps.cluster.admission.policies.evaluating import EvaluationError, RequestBudget, meets
from apps.cluster.admission.policies.matching import matched_version, may_match
from apps.cluster.admission.policies.requests import CREATE, EXEMPT, Review
from apps.cluster.admission.reinvoking import Normalize, Reinvocations
from apps.cluster.admission.webhooks.answers import Answer, Denied, WrongAnswer, read_answer
from apps.cluster.context import add_audit_annotation, add_warning
from apps.cluster.errors import ApiError, InternalError
from apps.cluster.json_patch import PatchProblem, PatchStep, apply
from apps.cluster.kind import Kind
from apps.cluster.lookups import Lookups
from apps.cluster.random_ids import random_uuid_text
from apps.cluster.validation.policy_programs import conditions_of
from apps.cluster.webhook_client import CallFailed
from apps.cluster.webhook_reviews import version_of

Body = Mapping[str, Any]

_LONGEST_ANNOTATION: Final = 10 * 1024


class CallWebhook(Protocol):
    """Calls webhooks for one write, within the time and the number that it has."""

    def all(self, calls: Sequence[tuple[Body, Body, int]]) -> list[Any]:
        """The answers to reviews that are sent at the same time; CallFailed in place of one."""

    def convert(self, kind: Kind, body: Body, version: str) -> Body:
        """An object of a kind, in another version."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """One webhook of a configuration."""

    configuration: str
    index: int
    body: Body

    @property
    def name(self) -> str:
        name: str = self.body["name"]
        return name

    @property
    def key(self) -> tuple[str, int]:
        return self.configuration, self.index

    @property
    def matcher(self) -> Body:
        """Its rules, as policies write them."""
        return {**self.body, "resourceRules": self.body.get("rules") or _NO_RULES}

    @property
    def ignores_failures(self) -> bool:
        return self.body.get("failurePolicy") == "Ignore"

    @property
    def is_reinvoked(self) -> bool:
        return self.body.get("reinvocationPolicy") == "IfNeeded"

    @property
    def version(self) -> str:
        """The version of the AdmissionReviews that it is sent."""
        return version_of(self.body.get("admissionReviewVersions") or ()) or "v1"


#: A webhook without rules is about nothing.
_NO_RULES: Final = ({"operations": ()},)


@dataclass(frozen=True, slots=True)
class _Invocation:
    webhook: Webhook
    #: the version of the objects that it is sent
    version: str
    uid: str = field(default_factory=random_uuid_text)

    def call(self, review: Review, convert: CallWebhook) -> tuple[Body, Body, int]:
        """What `CallWebhook` is given."""
        asked = {"uid": self.uid, **review.request(self.version)}
        if not asked["name"]:
            del asked["name"]
        for name, body in (("object", review.object), ("oldObject", review.old)):
            asked[name] = body
            if body is not None and not review.shape[0]:
                asked[name] = convert.convert(review.kind, body, self.version)
        envelope = {
            "kind": "AdmissionReview",
            "apiVersion": f"admission.k8s.io/{self.webhook.version}",
            "request": asked,
        }
        body = self.webhook.body
        return body["clientConfig"], envelope, body.get("timeoutSeconds", 10)


class Webhooks:
    """The webhooks of a cluster; false without any."""

    def __init__(self, mutating: Sequence[Body], validating: Sequence[Body]) -> None:
        self._mutating = tuple(_webhooks(mutating))
        self._validating = tuple(_webhooks(validating))

    def __bool__(self) -> bool:
        return bool(self._mutating or self._validating)

    @property
    def has_mutating(self) -> bool:
        return bool(self._mutating)

    def may_concern(self, kind: Kind) -> bool:
        """Whether one may be about the creation of an object of this kind."""
        return any(
            may_match(each.matcher, kind.group, kind.plural, CREATE)
            for each in (*self._mutating, *self._validating)
        )

    def mutate(
        self,
        review: Review,
        lookups: Lookups,
        call: CallWebhook,
        normalize: Normalize,
        reinvocations: Reinvocations,
    ) -> Review:
        """The request after the mutating webhooks of one round; raises what denies it."""
        reinvocations.begin(review.object)
        budget = RequestBudget()
        for webhook in self._mutating:
            if not reinvocations.includes(webhook.key):
                continue
            version = _match(webhook, review, lookups, budget)
            if version is None:
                continue
            invocation = _Invocation(webhook, version)
            (raw,) = call.all([invocation.call(review, call)])
            answer = _answer(invocation, raw, review, mutates=True)
            if answer is None:
                continue
            if answer.patch:
                before = review.object
                review = _patch(invocation, review, answer.patch, call, normalize)
                if review.object != before:
                    reinvocations.note_change()
            if webhook.is_reinvoked:
                reinvocations.note_call(webhook.key)
        reinvocations.end(review.object)
        return review

    def validate(self, review: Review, lookups: Lookups, call: CallWebhook) -> None:
        """Raise the error of the first validating webhook that denies the request."""
        budget = RequestBudget()
        invocations = [
            _Invocation(webhook, version)
            for webhook in self._validating
            if (version := _match(webhook, review, lookups, budget)) is not None
        ]
        if not invocations:
            return
        raws = call.all([each.call(review, call) for each in invocations])
        denials = []
        for invocation, raw in zip(invocations, raws, strict=True):
            try:
                _answer(invocation, raw, review, mutates=False)
            except ApiError as denial:
                denials.append(denial)
        if denials:
            raise denials[0]


def _webhooks(configurations: Sequence[Body]) -> Iterator[Webhook]:
    for configuration in configurations:
        name = configuration["metadata"]["name"]
        for index, body in enumerate(configuration.get("webhooks") or ()):
            yield Webhook(name, index, body)


def _match(webhook: Webhook, review: Review, lookups: Lookups, budget: RequestBudget) -> str | None:
    """The version in which a webhook is sent the objects; None if it is not asked."""
    if review.kind.group == EXEMPT:
        return None
    version = matched_version(webhook.matcher, review, lookups)
    if version is not None and not review.kind.definition_name:
        # built-in objects are sent as they are stored
        version = review.kind.version
    conditions = conditions_of(webhook.body) if version is not None else ()
    if not conditions:
        return version
    in_namespace = review.namespace and not review.of_namespace
    namespace = lookups.namespace(review.namespace) if in_namespace else None
    try:
        return version if meets(conditions, review.variables(namespace, None), budget) else None
    except EvaluationError as error:
        if webhook.ignores_failures:
            return None
        kind = review.kind
        raise forbidden(review.plural, review.shown_name, str(error), kind.group) from None


def _answer(invocation: _Invocation, raw: Any, review: Review, *, mutates: bool) -> Answer | None:
    """The answer of a webhook; None for a failure that it ignores."""
    webhook = invocation.webhook
    try:
        if isinstance(raw, CallFailed):
            raise WrongAnswer(f"failed to call webhook: {raw}")
        answer = read_answer(raw, version=webhook.version, uid=invocation.uid, mutates=mutates)
    except WrongAnswer as failure:
        if webhook.ignores_failures:
            kind = "mutating" if mutates else "validating"
            key = f"failed-open.{kind}.webhook.admission.k8s.io/round_0_index_{webhook.index}"
            add_audit_annotation(key, webhook.name)
            return None
        raise InternalError(f'failed calling webhook "{webhook.name}": {failure}') from failure
    for text in answer.warnings:
        if text.isprintable():
            add_warning(text)
    for key, value in answer.annotations.items():
        add_audit_annotation(f"{webhook.name}/{key}", value[:_LONGEST_ANNOTATION])
    if not answer.allowed:
        raise Denied(webhook.name, answer.status)
    return answer


def _patch(
    invocation: _Invocation,
    review: Review,
    patch: list[PatchStep],
    call: CallWebhook,
    normalize: Normalize,
) -> Review:
    if review.object is None:
        raise InternalError(
            f'admission webhook "{invocation.webhook.name}" attempted to modify the object, which '
            "is not supported for this operation"
        )
    is_whole = not review.shape[0]
    body = dict(review.object)
    if is_whole:
        body = dict(call.convert(review.kind, body, invocation.version))
    try:
        patched = apply(copy.deepcopy(body), patch)
    except PatchProblem as problem:
        raise InternalError(str(problem)) from problem
    if is_whole:
        patched = dict(call.convert(review.kind, patched, review.kind.version))
    return replace(review, object=normalize(patched))


NO_WEBHOOKS: Final = Webhooks((), ())
