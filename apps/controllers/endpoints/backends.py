"""The pods behind a Service, with their addresses and the ports on which they serve."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final

from apps.cluster import kinds
from apps.controllers.cache import ControllerCache, Ref, ref_of
from apps.controllers.writes import is_ready
from apps.scheduler.objects import Container, Pod, Service, ServicePort

Body = dict[str, Any]
KIND: Final = "Service"
HEADLESS_LABEL: Final = "service.kubernetes.io/headless"

_ENDED: Final = ("Succeeded", "Failed")
_ADDRESSES: Final = (
    "name",
    "body__status__podIPs",
    "body__status__podIP",
    "body__spec__hostname",
    "body__spec__subdomain",
)


@dataclass(frozen=True, slots=True)
class Port:
    """A port of a Service, and where a pod serves it."""

    name: str
    port: int
    protocol: str
    app_protocol: str | None

    def body(self) -> Body:
        """The port in an EndpointSlice."""
        body = {"name": self.name, "port": self.port, "protocol": self.protocol}
        return body | ({"appProtocol": self.app_protocol} if self.app_protocol else {})


@dataclass(frozen=True, slots=True)
class Backend:
    """A pod that a Service selects, and that has an address."""

    pod: Pod
    #: "IPv4" or "IPv6" -> its addresses
    addresses: dict[str, list[str]]
    #: the name of the pod in the Service's domain; "" if it has none
    hostname: str
    #: named target ports that no container of the pod has are left out
    ports: tuple[Port, ...]

    @property
    def serves(self) -> bool:
        return is_ready(self.pod)

    @property
    def terminates(self) -> bool:
        return self.pod.metadata.deletion_timestamp is not None

    @property
    def reference(self) -> Body:
        """The reference to the pod in an endpoint."""
        meta = self.pod.metadata
        return {"kind": "Pod", "namespace": meta.namespace, "name": meta.name, "uid": meta.uid}


def refs_for_service(_: ControllerCache, old: Service | None, new: Service | None) -> Iterable[Ref]:
    service = new or old
    return () if service is None else [ref_of(KIND, service)]


def refs_for_pod(cache: ControllerCache, old: Pod | None, new: Pod | None) -> Iterable[Ref]:
    """The Services that select the pod, or did so before the change."""
    pods = [pod for pod in (old, new) if pod is not None]
    services = cache.selecting_services(pods[0].metadata.namespace)
    # most namespaces have none: then a pod costs next to nothing
    if not services:
        return ()
    return [
        ref_of(KIND, service)
        for service in services
        if any(service.spec.selector.items() <= pod.metadata.labels.items() for pod in pods)
    ]


def manages(service: Body) -> bool:
    """Whether the addresses of a Service are those of pods; users write those of others."""
    spec = service["spec"]
    return bool(spec.get("selector")) and spec.get("type") != "ExternalName"


def is_headless(service: Body) -> bool:
    return service["spec"].get("clusterIP", "") in ("", "None")


def find_backends(cache: ControllerCache, service: Service, body: Body) -> list[Backend]:
    """The pods that a Service selects, those without an address and ended ones left out."""
    selector = service.spec.selector.items()
    namespace = service.metadata.namespace
    pods = {
        pod.metadata.name: pod
        for pod in cache.list_all("Pod", Pod, namespace)
        if selector <= pod.metadata.labels.items() and pod.status.phase not in _ENDED
    }
    if not pods:
        return []
    # addresses are not cached, as nothing else asks for them
    rows = kinds.POD.objects(cache.cluster).filter(namespace=namespace, name__in=list(pods))
    rest_by_name = {name: rest for name, *rest in rows.values_list(*_ADDRESSES)}
    backends = []
    for name, pod in pods.items():
        several, one, hostname, subdomain = rest_by_name.get(name, ([], "", "", ""))
        addresses = _by_family([each.get("ip") for each in several or []] or [one])
        if addresses:
            shown = hostname if subdomain == service.metadata.name else ""
            ports = tuple(_ports(service, body, pod))
            backends.append(Backend(pod, addresses, shown or "", ports))
    return backends


def _by_family(addresses: list[str | None]) -> dict[str, list[str]]:
    families: dict[str, list[str]] = {}
    for each in filter(None, addresses):
        parsed = ip_address(each)
        families.setdefault(f"IPv{parsed.version}", []).append(str(parsed))
    return families


def _ports(service: Service, body: Body, pod: Pod) -> Iterator[Port]:
    for port, whole in zip(service.spec.ports, body["spec"].get("ports") or (), strict=True):
        number = _find_port(port, pod)
        if number is not None:
            yield Port(port.name, number, port.protocol, whole.get("appProtocol"))


def _find_port(port: ServicePort, pod: Pod) -> int | None:
    """The number of a Service's target port in a pod; None if no container names it."""
    if isinstance(port.target_port, int):
        return port.target_port
    if port.target_port is None:
        return port.port
    for container in _serving_containers(pod):
        for each in container.ports:
            if each.name == port.target_port and each.protocol == port.protocol:
                return each.container_port
    return None


def _serving_containers(pod: Pod) -> Iterator[Container]:
    yield from pod.spec.containers
    yield from (each for each in pod.spec.init_containers if each.restart_policy == "Always")
