"""What an API server asks a node's kubelet for: logs, exec, attach, port-forward, proxies.

Logs are the mock kubelet's. No process runs in a mock cluster, so everything that would connect to
one is refused, as an API server does when it does not reach the node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from apps.api.kubernetes import params
from apps.api.kubernetes.calls import Answer, Call
from apps.cluster import kinds, queries
from apps.cluster.errors import ApiError, BadRequest, Cause, Invalid
from apps.cluster.queries import Selection
from apps.controllers.usage.sampling import is_measured

Body = dict[str, Any]

_PORT: Final = 10250
#: In the order in which an API server prefers them.
_ADDRESS_TYPES: Final = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
_CONTAINER_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")
#: Option of a log -> its smallest value, and what a smaller one is told.
_LEAST: Final[Mapping[str, tuple[int, str]]] = {
    "limitBytes": (1, "must be greater than 0"),
    "sinceSeconds": (1, "must be greater than 0"),
    "tailLines": (0, "must be greater than or equal to 0"),
}


class Unreachable(ApiError):
    """The kubelet of a node does not answer; the API server gives no reason."""

    def status(self) -> Body:
        status = super().status()
        del status["reason"]
        return status


class ServiceUnavailable(ApiError):
    code, reason = 503, "ServiceUnavailable"


def log(call: Call) -> Answer:
    """GET of a container's log; 204 for a pod without a node."""
    pod = call.stored()
    options = _log_options(call)
    container = _container(call, pod)
    if not pod["spec"].get("nodeName"):
        return Answer({}, 204)
    if params.flag(call.query, "previous"):
        raise BadRequest(
            f'previous terminated container "{container}" in pod "{call.target.name}" not found'
        )
    lines = list(_lines(pod, container))
    if not lines:
        raise _not_started(call, pod, container)
    shown = _selected(lines, call, options)
    return Answer({}, text=shown.encode()[: options.get("limitBytes")])


def connect(call: Call) -> Answer:
    """exec, attach, port-forward."""
    pod = call.stored()
    if call.target.subresource != "portforward":
        _container(call, pod)
    if not pod["spec"].get("nodeName"):
        raise BadRequest(f"pod {call.target.name} does not have a host assigned")
    address = _kubelet_address(call, pod["spec"]["nodeName"])
    raise Unreachable(f"error dialing backend: dial tcp {address}: connect: connection refused")


def proxy(call: Call) -> Answer:
    """A request to a pod, a service or a node; the name may be `scheme:name:port`."""
    parts = call.target.name.split(":")
    name, port = (parts[0], "") if len(parts) == 1 else (parts[-2], parts[-1])
    body = queries.get(call.cluster, call.resource.kind, call.namespace, name)
    match call.resource.kind.name:
        case "Node":
            address = _kubelet_address(call, name)
        case "Service":
            address = f"{_endpoint(call, body)}:{port or _service_port(body)}"
        case _:
            address = f"{_pod_address(body)}:{port or 80}"
    raise ServiceUnavailable(
        f"error trying to reach service: dial tcp {address}: connect: connection refused"
    )


def _container(call: Call, pod: Body) -> str:
    """The container that a request names, or the only one; BadRequest for any other."""
    spec, name = pod["spec"], pod["metadata"]["name"]
    listed = {each: [c["name"] for c in spec.get(each) or ()] for each in _CONTAINER_LISTS}
    asked = call.query.get("container", "")
    if asked:
        if not any(asked in names for names in listed.values()):
            raise BadRequest(f"container {asked} is not valid for pod {name}")
        return asked
    if len(listed["containers"]) == 1:
        return str(listed["containers"][0])
    message = (
        f"a container name must be specified for pod {name}, "
        f"choose one of: [{' '.join(listed['containers'])}]"
    )
    if listed["initContainers"]:
        message += f" or one of the init containers: [{' '.join(listed['initContainers'])}]"
    raise BadRequest(message)


def _log_options(call: Call) -> dict[str, int]:
    """The numbers among the options of a log; Invalid names each one that is too small."""
    given = {name: params.number(call.query, name) for name in _LEAST}
    options = {name: value for name, value in given.items() if value is not None}
    causes = [
        Cause("FieldValueInvalid", f"Invalid value: {value}: {_LEAST[name][1]}", name)
        for name, value in options.items()
        if value < _LEAST[name][0]
    ]
    if "sinceSeconds" in options and call.query.get("sinceTime"):
        why = "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"
        causes.append(Cause("FieldValueForbidden", why, ""))
    if causes:
        raise Invalid("PodLogOptions", call.target.name, causes)
    return options


def _lines(pod: Body, container: str) -> Iterator[tuple[str, str]]:
    """Time and text of each line that the mock kubelet has written for a container."""
    status = pod.get("status") or {}
    for listed in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for each in status.get(listed) or ():
            if each["name"] == container:
                yield from _lines_of(each)


def _lines_of(status: Body) -> Iterator[tuple[str, str]]:
    state = status.get("state") or {}
    ended = state.get("terminated") or {}
    started = ended.get("startedAt") or (state.get("running") or {}).get("startedAt")
    if started:
        image = status.get("image", "")
        yield started, f"mock kubelet: started container {status['name']} with image {image}"
        yield started, "mock kubelet: no process runs in a mock cluster; these lines are its log"
    if ended:
        code, reason = ended.get("exitCode", 0), ended.get("reason", "Completed")
        time = ended.get("finishedAt") or started or ""
        yield time, f"mock kubelet: container {status['name']} ended with code {code} ({reason})"


def _selected(lines: list[tuple[str, str]], call: Call, options: Mapping[str, int]) -> str:
    """The lines that the options select, as text."""
    since = call.query.get("sinceTime", "")
    if "sinceSeconds" in options:
        earliest = call.cluster.now() - timedelta(seconds=min(options["sinceSeconds"], 10**9))
        lines = [line for line in lines if _parsed(line[0]) >= earliest]
    elif since:
        try:
            lines = [line for line in lines if _parsed(line[0]) >= _parsed(since)]
        except (ValueError, TypeError) as error:
            raise BadRequest(f"sinceTime: {since!r} is not a time in RFC 3339") from error
    tail = options.get("tailLines", len(lines))
    lines = lines[len(lines) - min(tail, len(lines)) :]
    timestamps = params.flag(call.query, "timestamps")
    return "".join(f"{time} {text}\n" if timestamps else f"{text}\n" for time, text in lines)


def _parsed(time: str) -> datetime:
    return datetime.fromisoformat(time)


def _not_started(call: Call, pod: Body, container: str) -> ApiError:
    if is_measured(call.cluster):
        return BadRequest(
            f'container "{container}" in pod "{call.target.name}" is waiting to start: '
            "ContainerCreating"
        )
    address = _kubelet_address(call, pod["spec"]["nodeName"])
    url = f"https://{address}/containerLogs/{call.namespace}/{call.target.name}/{container}"
    return Unreachable(f'Get "{url}": dial tcp {address}: connect: connection refused')


def _kubelet_address(call: Call, node_name: str) -> str:
    """Host and port of a node's kubelet; Unreachable if the node has no address."""
    node = queries.get(call.cluster, kinds.NODE, "", node_name)
    status = node.get("status") or {}
    known = {each["type"]: each["address"] for each in status.get("addresses") or ()}
    address = next((known[each] for each in _ADDRESS_TYPES if each in known), None)
    if address is None:
        listed = " ".join(f"{{{kind} {each}}}" for kind, each in known.items())
        raise Unreachable(f"no preferred addresses found; known addresses: [{listed}]")
    endpoint = (status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}
    return f"{address}:{endpoint.get('Port') or _PORT}"


def _endpoint(call: Call, service: Body) -> str:
    """The address of a running pod of a service."""
    selector = (service.get("spec") or {}).get("selector") or {}
    labels = ",".join(f"{key}={value}" for key, value in selector.items())
    wanted = Selection(
        namespace=call.namespace, labels=labels, fields="status.phase=Running", limit=1
    )
    pods = queries.list_objects(call.cluster, kinds.POD, wanted).items if selector else []
    if not pods:
        name = service["metadata"]["name"]
        raise ServiceUnavailable(f'no endpoints available for service "{name}"')
    return _pod_address(pods[0])


def _pod_address(pod: Body) -> str:
    address = (pod.get("status") or {}).get("podIP")
    if not address:
        raise BadRequest("address not allowed")
    return str(address)


def _service_port(service: Body) -> int:
    ports = (service.get("spec") or {}).get("ports") or [{}]
    return int(ports[0].get("port", 80))
