"""What a cluster adds to its admission: policies and webhooks, in the order of the API server.

Mutating policies, mutating webhooks, and both again if one of them has changed the object after
another that asks for it; after the validation, validating policies and validating webhooks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apps.cluster.admission.policies.mutating import NO_MUTATING_POLICIES, MutatingPolicies
from apps.cluster.admission.policies.requests import Review
from apps.cluster.admission.policies.reviewing import NO_POLICIES, FindParams, Policies
from apps.cluster.admission.reinvoking import Normalize, Reinvocations
from apps.cluster.admission.webhooks.chain import NO_WEBHOOKS, CallWebhook, Webhooks
from apps.cluster.kind import Kind
from apps.cluster.lookups import Lookups

Body = Mapping[str, Any]
#: The kinds that it consists of.
SOURCES: Final = (
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
)


@dataclass(frozen=True, slots=True)
class World:
    """What policies and webhooks reach of the cluster."""

    lookups: Lookups
    params: FindParams
    #: None where webhooks are not called
    call: CallWebhook | None


@dataclass(frozen=True, slots=True)
class DynamicAdmission:
    """The policies and webhooks of a cluster; false without any."""

    policies: Policies = NO_POLICIES
    mutating: MutatingPolicies = NO_MUTATING_POLICIES
    webhooks: Webhooks = NO_WEBHOOKS

    def __bool__(self) -> bool:
        return bool(self.policies or self.mutating or self.webhooks)

    @property
    def mutates(self) -> bool:
        """Whether anything may change objects."""
        return bool(self.mutating) or self.webhooks.has_mutating

    def may_concern(self, kind: Kind) -> bool:
        """Whether the creation of an object of this kind may concern any of it."""
        parts = (self.policies, self.mutating, self.webhooks)
        return any(each.may_concern(kind) for each in parts)

    def mutate(self, review: Review, world: World, normalize: Normalize) -> Body | None:
        """The object of the request after all that changes it; raises what denies the request.

        `normalize` makes an object of the kind of what it has become.
        """
        if not self.mutates:
            return review.object
        of_policies, of_webhooks = Reinvocations(), Reinvocations()

        def run(review: Review) -> Review:
            review = self.mutating.mutate(
                review, world.lookups, world.params, normalize, of_policies
            )
            if world.call is None:
                return review
            return self.webhooks.mutate(review, world.lookups, world.call, normalize, of_webhooks)

        review = run(review)
        if of_policies.is_needed or of_webhooks.is_needed:
            of_policies.start_second()
            of_webhooks.start_second()
            review = run(review)
        return review.object

    def validate(self, review: Review, world: World) -> None:
        """Raise the error with which a policy or a webhook denies the request."""
        if self.policies:
            convert = None if world.call is None else world.call.convert
            self.policies.review(review, world.lookups, world.params, convert)
        if world.call is not None and self.webhooks:
            self.webhooks.validate(review, world.lookups, world.call)


NO_ADMISSION: Final = DynamicAdmission()


def assemble(objects: Mapping[str, Sequence[Body]]) -> DynamicAdmission:
    """What the objects of the kinds in `SOURCES` say, which are sorted by name."""

    def of(kind: str) -> Sequence[Body]:
        return objects.get(kind, ())

    return DynamicAdmission(
        Policies(of("ValidatingAdmissionPolicy"), of("ValidatingAdmissionPolicyBinding")),
        MutatingPolicies(of("MutatingAdmissionPolicy"), of("MutatingAdmissionPolicyBinding")),
        Webhooks(of("MutatingWebhookConfiguration"), of("ValidatingWebhookConfiguration")),
    )
