"""The claim that stands for the extended resources of a pod that DeviceClasses back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from apps import quantity
from apps.scheduler.framework.types import PodInfo
from apps.scheduler.objects import (
    Container,
    ContainerExtendedResourceRequest,
    DeviceRequest,
    ExactDeviceRequest,
    ObjectMeta,
    OwnerReference,
    ResourceClaim,
)
from apps.scheduler.objects.devices import DeviceClaim, ResourceClaimSpec
from apps.scheduler.plugins.dynamicresources.pod_resource_claims import EXTENDED_CLAIM
from apps.scheduler.plugins.helper.device_classes import ClassResolver, may_be_backed

#: the name of the claim until it is created
IN_MEMORY: Final = "<extended-resources>"
Mappings = tuple[ContainerExtendedResourceRequest, ...]


def backed_resources(pod: PodInfo, classes: ClassResolver) -> dict[str, int]:
    """The extended resources the pod requests, if a class backs any of them; else {}."""
    requests = {
        name: amount for name, amount in pod.spec_requests.items() if amount and may_be_backed(name)
    }
    return requests if any(classes.backing(name) is not None for name in requests) else {}


def find_claim(pod: PodInfo, claims: Iterable[ResourceClaim]) -> ResourceClaim | None:
    """The claim of an earlier attempt."""
    for claim in claims:
        if claim.metadata.annotations.get(EXTENDED_CLAIM) == "true" and any(
            owner.controller and owner.uid == pod.uid and owner.name == pod.name
            for owner in claim.metadata.owner_references
        ):
            return claim
    return None


def new_claim(pod: PodInfo) -> ResourceClaim:
    owner = OwnerReference(
        api_version="v1", kind="Pod", name=pod.name, uid=pod.uid, controller=True
    )
    return ResourceClaim(
        metadata=ObjectMeta(
            name=IN_MEMORY,
            namespace=pod.namespace,
            uid=f"{IN_MEMORY}/{pod.uid}",
            generate_name=f"{pod.name}-extended-resources-",
            annotations={EXTENDED_CLAIM: "true"},
            owner_references=(owner,),
        )
    )


def is_in_memory(claim: ResourceClaim) -> bool:
    return claim.metadata.name == IN_MEMORY


def with_requests(claim: ResourceClaim, requests: tuple[DeviceRequest, ...]) -> ResourceClaim:
    spec = ResourceClaimSpec(devices=DeviceClaim(requests=requests))
    return msgspec.structs.replace(claim, spec=spec)


def requests_and_mappings(
    pod: PodInfo, resources: Iterable[str], classes: ClassResolver
) -> tuple[tuple[DeviceRequest, ...], Mappings]:
    """The requests of the claim, and which container uses which of them.

    Init containers that end use the devices of containers that start later; if they need more, one
    further request has room for the greatest of them.
    """
    spec = pod.pod.spec
    containers = (*spec.init_containers, *spec.containers)
    requests: list[_Request] = []
    mappings: list[ContainerExtendedResourceRequest] = []
    for resource in sorted(resources):
        device_class = classes.backing(resource)
        if device_class is not None:
            builder = _Builder(resource, containers, len(spec.init_containers))
            requests += builder.requests()
            mappings += builder.mappings
            builder.set_class(device_class.metadata.name)
    ordered = sorted(requests, key=lambda request: request.name)
    return tuple(request.build() for request in ordered), tuple(mappings)


class _Request:
    def __init__(self, name: str, count: int) -> None:
        self.name, self.count, self.device_class = name, count, ""

    def build(self) -> DeviceRequest:
        exactly = ExactDeviceRequest(device_class_name=self.device_class, count=self.count)
        return DeviceRequest(name=self.name, exactly=exactly)


class _Builder:
    """The requests for one resource."""

    def __init__(self, resource: str, containers: Sequence[Container], init: int) -> None:
        self._resource, self._containers = resource, containers
        short = [i for i in range(init) if containers[i].restart_policy != "Always"]
        self._long_lived: dict[int, _Request] = {}
        self.mappings: list[ContainerExtendedResourceRequest] = []
        for index in range(len(containers)):
            if index not in short:
                self._request(index, (), self.mappings, self._long_lived)
        self._extra = self._request_more(short)

    def _request_more(self, short: Sequence[int]) -> _Request | None:
        """The request that the greatest of the init containers needs beside the others."""
        further: dict[int, _Request] = {}
        mappings: list[ContainerExtendedResourceRequest] = []
        for index in short:
            later = [request for i, request in self._long_lived.items() if i >= index]
            self._request(index, later, mappings, further)
        greatest = max(further.values(), key=lambda request: request.count, default=None)
        replaced = {request.name for request in further.values()}
        for mapping in mappings:
            if greatest is not None and mapping.request_name in replaced:
                mapping = msgspec.structs.replace(mapping, request_name=greatest.name)
            self.mappings.append(mapping)
        return greatest

    def requests(self) -> list[_Request]:
        extra = [] if self._extra is None else [self._extra]
        return [*extra, *self._long_lived.values()]

    def set_class(self, name: str) -> None:
        for request in self.requests():
            request.device_class = name

    def _request(
        self,
        index: int,
        reusable: Iterable[_Request],
        mappings: list[ContainerExtendedResourceRequest],
        requests: dict[int, _Request],
    ) -> None:
        """Enter what a container needs, first from requests that it can reuse."""
        container = self._containers[index]
        needed = _count(container.resources.requests, self._resource)
        if not needed:
            return
        covered = 0
        for request in reusable:
            covered += request.count
            mappings.append(self._mapping(container, request.name))
            if covered >= needed:
                return
        place = sorted(container.resources.requests).index(self._resource)
        created = _Request(f"container-{index}-request-{place}", needed - covered)
        requests[index] = created
        mappings.append(self._mapping(container, created.name))

    def _mapping(self, container: Container, request: str) -> ContainerExtendedResourceRequest:
        return ContainerExtendedResourceRequest(
            container_name=container.name, resource_name=self._resource, request_name=request
        )


def _count(requests: Mapping[str, str | int | float], resource: str) -> int:
    amount = requests.get(resource)
    return 0 if amount is None or not quantity.is_integer(amount) else quantity.value(amount)
